use super::*;
use crate::store::memory::{MemoryFiles, Plain};

const SESSION: u128 = 7;

fn dir() -> &'static Path {
    Path::new("/archive")
}

fn id() -> SessionId {
    SessionId::from_u128(SESSION)
}

fn event(seq: u64) -> Bytes {
    Bytes::from(format!("event {seq} {}", "x".repeat(usize::try_from(seq).unwrap() % 90)))
}

/// Appends everything up to `last`, in pages of three; what comes before `from` is there for sure.
fn append_from(files: &MemoryFiles, from: u64, last: u64) {
    let mut pages = |after: Seq| Ok::<_, ColdError>((after.0 + 1..=last.min(after.0 + 3)).map(|seq| (Seq(seq), event(seq))).collect());
    append(files, dir(), id(), &Plain, Seq(from), &mut pages).expect("appended");
}

fn read(files: &MemoryFiles) -> (Vec<u64>, Ending) {
    let mut found = Vec::new();
    let ending = each_event::<ColdError>(files, dir(), id(), &Plain, |seq, bytes| {
        assert_eq!(bytes, event(seq.0));
        found.push(seq.0);
        Ok(())
    });
    (found, ending.expect("read"))
}

#[test]
fn a_sealed_line_opens_and_any_change_shows() {
    let line = seal(b"{\"a\":1}".to_vec());
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(text.starts_with("{\"a\":1,\"crc\":\"") && text.ends_with("\"}\n"), "{text}");
    let line = &line[..line.len() - 1];
    assert_eq!(unseal(line).unwrap(), b"{\"a\":1}");
    for at in 0..line.len() {
        for flip in [1, 32, 128] {
            let mut bad = line.to_vec();
            bad[at] ^= flip;
            assert_eq!(unseal(&bad), None, "byte {at}");
        }
        assert_eq!(unseal(&line[..at]), None);
    }
}

#[test]
fn what_is_there_for_sure_is_not_written_again() {
    let files = MemoryFiles::new();
    append_from(&files, 1, 5);
    let (syncs, before) = (files.syncs(), files.content(&path_of(dir(), id())));
    append_from(&files, 6, 5);
    assert_eq!((files.syncs(), files.content(&path_of(dir(), id()))), (syncs, before));
    append_from(&files, 6, 9);
    assert_eq!(read(&files), ((1..=9).collect(), Ending::Whole));
    assert_eq!(read(&MemoryFiles::new()), (vec![], Ending::Whole));
}

#[test]
fn what_may_not_have_reached_the_disk_is_written_anew() {
    let files = MemoryFiles::new();
    append_from(&files, 1, 300);
    let path = path_of(dir(), id());
    let content = files.content(&path);
    let starts: Vec<usize> =
        std::iter::once(0).chain(content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1)).collect();
    for (unsure, hole) in [(1, 0..40), (200, 210..212), (200, 200..300), (299, 299..300)] {
        // A hole, and good lines behind it: the look of an append that was never synced.
        let mut holey = content.clone();
        holey[starts[hole.start]..starts[hole.end]].fill(0);
        let files = files.after_kill();
        files.damage(&path, holey);
        append_from(&files, unsure, 303);
        assert_eq!(read(&files.after_power_loss(&mut |_| 0)), (vec![], Ending::Whole), "the folder is the caller's");
        assert_eq!(read(&files), ((1..=303).collect(), Ending::Whole), "unsure from {unsure}");
    }
}

#[test]
fn a_last_line_torn_at_any_byte_is_cut_before_more_is_written() {
    let whole = MemoryFiles::new();
    append_from(&whole, 1, 5);
    let path = path_of(dir(), id());
    let content = whole.content(&path);
    let fourth = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(3).unwrap().0 + 1;
    for at in fourth..content.len() {
        for tail in [vec![], vec![0; 3000], b"garbage\n".to_vec(), vec![0xFF; 70]] {
            let torn = [&content[..at], &tail].concat();
            let files = whole.after_kill();
            files.damage(&path, torn);
            let (found, ending) = read(&files);
            assert_eq!(found, [1, 2, 3, 4]);
            assert!(ending == Ending::Whole || ending == Ending::Torn(fourth as u64));
            append_from(&files, 5, 6);
            assert_eq!(read(&files), ((1..=6).collect(), Ending::Whole), "torn at {at}");
        }
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_no_tear() {
    let files = MemoryFiles::new();
    append_from(&files, 1, 5);
    let path = path_of(dir(), id());
    let mut content = files.content(&path);
    let second = content.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    content[second + 12] ^= 1;
    files.damage(&path, content);
    assert_eq!(read(&files), (vec![1], Ending::Damaged { at: second as u64, known: Seq(5) }));
}

#[test]
fn names_tell_whose_they_are() {
    assert_eq!(named(path_of(dir(), id()).file_name().unwrap().to_str().unwrap()), Some(id()));
    for other in ["x.jsonl", "00000000-0000-0000-0000-000000000007", "00000000000000000000000000000007.jsonl", "notes.txt"] {
        assert_eq!(named(other), None);
    }
}
