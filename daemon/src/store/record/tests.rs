//! Round trips, and every kind of damage.

use proptest::prelude::*;

use super::*;

const SPOT: Spot = Spot { segment: 7, offset: 4096 };

fn session(bits: u128) -> SessionId {
    SessionId::from_u128(bits)
}

fn encoded(before: Before, body: &Body<'_>) -> Bytes {
    let mut out = Vec::new();
    encode(&mut out, SPOT, before, body);
    out.into()
}

fn sample() -> Bytes {
    let events = [Bytes::from_static(b"one"), Bytes::new(), Bytes::from_static(b"three")];
    let before = Before { number: 9, previous: Some(session(3)), synced: 2048 };
    encoded(before, &Body::Events { session: session(5), first: Seq(40), events: &events })
}

fn any_before() -> impl Strategy<Value = Before> {
    (0..u64::MAX, any::<u128>(), 0..=SPOT.offset).prop_map(|(number, previous, synced)| Before {
        number,
        previous: (previous % 3 != 0).then(|| session(previous)),
        synced,
    })
}

#[test]
fn the_bytes_are_these() {
    let record = sample();
    assert_eq!(record.len() % 8, 0);
    assert_eq!(record[..12], [0xA6, b'r', b'e', 0xC5, 1, 1, 0, 0, 20, 0, 0, 0]);
    assert_eq!(record[80..100], *b"\x03\0\0\0one\0\0\0\0\x05\0\0\0three");
    assert!(record[100..].iter().all(|byte| *byte == 0));
}

#[test]
fn deletions_and_marks_have_no_content() {
    let before = Before { number: 1, previous: None, synced: 0 };
    let (deleted, none) = decode(&encoded(before, &Body::Deleted { session: session(5) }), SPOT).expect("a record");
    assert_eq!((deleted.kind, deleted.before, none), (Kind::Deleted { session: session(5) }, before, vec![]));
    let (mark, none) = decode(&encoded(before, &Body::Mark), SPOT).expect("a record");
    assert_eq!((mark.kind, mark.kind.session(), none), (Kind::Mark, None, vec![]));
    assert_eq!(mark.record_len(), size(&Body::Mark));
}

#[test]
fn every_truncation_is_detected() {
    let record = sample();
    let content_end = record.iter().rposition(|byte| *byte != 0).expect("not empty") + 1;
    for len in 0..content_end {
        let cut = record.slice(..len);
        assert!(decode(&cut, SPOT).is_err(), "cut to {len}");
        let mut zeroed = cut.to_vec();
        zeroed.resize(record.len(), 0);
        assert!(decode(&zeroed.into(), SPOT).is_err(), "zeroed from {len}");
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    let record = sample();
    for bit in 0..100 * 8 {
        let mut flipped = record.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&flipped.into(), SPOT).is_err(), "bit {bit}");
    }
}

#[test]
fn a_copy_elsewhere_is_no_record() {
    let record = sample();
    for spot in [Spot { segment: 8, ..SPOT }, Spot { offset: SPOT.offset + 8, ..SPOT }] {
        assert_eq!(decode(&record, spot).map(|_| ()), Err(BadRecord::HeaderSum));
    }
}

#[test]
fn nothing_written_is_told_from_damage() {
    assert_eq!(decode_header(&[], SPOT), Err(BadRecord::Blank));
    assert_eq!(decode_header(&[0; 200], SPOT), Err(BadRecord::Blank));
    assert_eq!(decode_header(&[0; 10], SPOT), Err(BadRecord::Blank));
    assert_eq!(decode_header(&[1; 10], SPOT), Err(BadRecord::Cut));
    assert_eq!(decode_header(&[1; 200], SPOT), Err(BadRecord::Magic));
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        before in any_before(),
        bits in any::<u128>(),
        first in 1..u64::MAX - 10,
        events in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..9),
    ) {
        let events: Vec<Bytes> = events.into_iter().map(Bytes::from).collect();
        let body = Body::Events { session: session(bits), first: Seq(first), events: &events };
        let record = encoded(before, &body);
        prop_assert_eq!(record.len() as u64, size(&body));
        let (header, found) = decode(&record, SPOT).expect("a record");
        prop_assert_eq!(header.kind, Kind::Events { session: session(bits), first: Seq(first), count: events.len() as u32 });
        // A session of zero bits reads as none; nobody has one.
        prop_assert_eq!(header.before, before);
        prop_assert_eq!(header.record_len(), record.len() as u64);
        prop_assert_eq!(found, events);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), segment in any::<u32>(), offset in any::<u64>()) {
        let spot = Spot { segment, offset };
        prop_assert!(decode(&bytes.into(), spot).is_err());
    }

    #[test]
    fn no_header_with_a_right_sum_makes_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 80..300), kind in 0..5u8, right in any::<bool>()) {
        bytes[..6].copy_from_slice(&[MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], VERSION, kind]);
        if right {
            let payload = (bytes.len() - 80) as u32;
            bytes[8..12].copy_from_slice(&payload.to_le_bytes());
            let sum = crc32c::crc32c(&bytes[80..]);
            bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = header_sum(SPOT, &bytes[..76]);
        bytes[76..80].copy_from_slice(&sum.to_le_bytes());
        let _ = decode(&bytes.into(), SPOT);
    }
}
