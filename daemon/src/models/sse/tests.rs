//! The conformance table: sixteen cases, each cut into chunks of 1, 2, 3, 5 and 7 bytes and whole.

use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8], chunk: usize) -> Vec<(String, String)> {
    let mut decoder = Decoder::default();
    let mut events = VecDeque::new();
    for part in bytes.chunks(chunk) {
        decoder.feed(part, &mut events).expect("short lines");
    }
    events.into_iter().map(|event| (event.name, event.data)).collect()
}

/// Name, bytes, events.
type Case = (&'static str, &'static [u8], &'static [(&'static str, &'static str)]);

#[test]
fn the_conformance_table() {
    let cases: [Case; 16] = [
        ("plain", b"data: a\n\n", &[("", "a")]),
        ("named", b"event: ping\ndata: {}\n\n", &[("ping", "{}")]),
        ("byte order mark", b"\xEF\xBB\xBFdata: a\n\n", &[("", "a")]),
        ("CRLF", b"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", &[("x", "a"), ("", "b")]),
        ("CR alone", b"event: x\rdata: a\r\rdata: b\r\r", &[("x", "a"), ("", "b")]),
        ("mixed line ends", b"data: a\r\n\ndata: b\r\rdata: c\n\r\n", &[("", "a"), ("", "b"), ("", "c")]),
        ("several data lines", b"data: a\ndata:\ndata: b\n\n", &[("", "a\n\nb")]),
        ("comments", b": keep alive\n\n:\ndata: a\n: again\n\n", &[("", "a")]),
        ("no final blank line", b"data: a\n\ndata: b\n", &[("", "a")]),
        ("cut inside a line", b"data: a\n\ndata: b", &[("", "a")]),
        ("characters of two, three and four bytes", "data: äsch→😀\n\n".as_bytes(), &[("", "äsch→😀")]),
        ("invalid UTF-8", b"data: a\xFFb\xE2\x82\n\n", &[("", "a\u{FFFD}b\u{FFFD}")]),
        ("one space is stripped, one only", b"data:a\ndata:  b\n\n", &[("", "a\n b")]),
        ("a field without a colon", b"data\n\ndata\ndata\n\n", &[("", ""), ("", "\n")]),
        ("no data, no event; a name is used once", b"event: x\n\ndata: a\n\n", &[("", "a")]),
        ("unknown fields, id and retry", b"id: 7\nretry: 10\nfoo: bar\ndata: a:b\n\n", &[("", "a:b")]),
    ];
    for (name, bytes, expected) in cases {
        let expected: Vec<(String, String)> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        for chunk in [1, 2, 3, 5, 7, bytes.len()] {
            assert_eq!(decode(bytes, chunk), expected, "{name}, chunks of {chunk}");
        }
    }
}

#[test]
fn a_line_without_end_is_an_error_and_not_memory() {
    let mut decoder = Decoder::default();
    let mut events = VecDeque::new();
    let chunk = vec![b'x'; 1 << 20];
    let fed: Vec<Result<(), SseError>> = (0..17).map(|_| decoder.feed(&chunk, &mut events)).collect();
    assert_eq!(fed.last(), Some(&Err(SseError::LongLine)));
    assert!(fed[..16].iter().all(Result::is_ok));
}

#[test]
fn an_event_of_many_lines_is_bounded_too() {
    let mut decoder = Decoder::default();
    let mut events = VecDeque::new();
    let line = [b"data: ", "x".repeat(1 << 20).as_bytes(), b"\n"].concat();
    let error = (0..17).find_map(|_| decoder.feed(&line, &mut events).err());
    assert_eq!(error, Some(SseError::LongEvent));
}

proptest! {
    /// Wherever the bytes are cut, and whatever they are, the same events come.
    #[test]
    fn cuts_change_nothing(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            proptest::collection::vec(prop::sample::select(b"data: event:\r\n\n\xEF\xBB\xBF\xC3\xA4x".to_vec()), 0..200),
        ],
        cuts in proptest::collection::vec(1..9_usize, 1..40),
    ) {
        let whole = decode(&bytes, bytes.len().max(1));
        let mut decoder = Decoder::default();
        let mut events = VecDeque::new();
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (part, after) = rest.split_at((*cut).min(rest.len()));
            decoder.feed(part, &mut events).expect("short lines");
            rest = after;
        }
        let torn: Vec<(String, String)> = events.into_iter().map(|event| (event.name, event.data)).collect();
        prop_assert_eq!(torn, whole);
    }
}
