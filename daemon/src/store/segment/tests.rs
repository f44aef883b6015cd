//! Headers, names, and writes that fail.

use std::io::ErrorKind;

use super::*;
use crate::store::memory::{MemoryFiles, Operation};

const SIZES: Sizes = Sizes { limit: 4096, chunk: 1024 };

fn header() -> SegmentHeader {
    SegmentHeader {
        format: FORMAT,
        segment: 3,
        first_record: 77,
        previous: Some(SessionId::from_u128(5)),
        boot: BootId::new("8f6a9c1e-0000-4000-8000-000000000001\n"),
    }
}

fn created(files: &MemoryFiles) -> Segment {
    Segment::create(files, Path::new("/j"), &header(), SIZES).ok().expect("created")
}

#[test]
fn a_header_is_read_back_and_damage_is_seen() {
    let bytes = header().encode();
    assert_eq!(SegmentHeader::decode(&bytes), Some(header()));
    let fresh = SegmentHeader { previous: None, boot: BootId::unknown(), ..header() };
    assert_eq!(SegmentHeader::decode(&fresh.encode()), Some(fresh));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(SegmentHeader::decode(&flipped), None, "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert_eq!(SegmentHeader::decode(&bytes[..len]), None, "cut to {len}");
    }
}

#[test]
fn an_unknown_boot_is_never_the_same() {
    let one = BootId::new("one");
    assert!(one.is_same_as(&BootId::new(" one\n")));
    assert!(!one.is_same_as(&BootId::new("two")));
    assert!(!BootId::unknown().is_same_as(&BootId::new("")));
    let long = "x".repeat(100);
    assert!(BootId::new(&long).is_same_as(&BootId::new(&long[..64])));
}

#[test]
fn names_tell_what_a_file_is() {
    assert_eq!(path_of(Path::new("/j"), 12), Path::new("/j/0000000012.journal"));
    assert_eq!(named("0000000012.journal"), Named::Segment(12));
    assert_eq!(named("4294967295.journal"), Named::Segment(u32::MAX));
    assert_eq!(named("0000000012.journal.new"), Named::Unfinished);
    for foreign in ["", "12.journal", "9999999999.journal", "000000001x.journal", "0000000012.journal~", "README"] {
        assert_eq!(named(foreign), Named::Foreign, "{foreign}");
    }
}

#[test]
fn a_new_one_is_durable_before_it_is_used() {
    let files = MemoryFiles::new();
    let segment = created(&files);
    let after = files.after_power_loss(&mut |_| 0);
    let content = after.content(&segment.path);
    assert_eq!((content.len(), SegmentHeader::decode(&content)), (1024, Some(header())));
    assert!(segment.is_empty() && segment.fits(4096 - 128) && !segment.fits(4096 - 127));
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let files = MemoryFiles::new();
    let mut segment = created(&files);
    files.fail(Operation::Write { taken: 50 }, ErrorKind::Other);
    assert!(segment.write(&[1; 100], SIZES.chunk).is_err());
    assert!(files.content(&segment.path)[128..].iter().all(|byte| *byte == 0));
    // Cleaning fails as well, once at once and once before the next write.
    for _ in 0..3 {
        files.fail(Operation::Write { taken: 50 }, ErrorKind::Other);
    }
    assert!(segment.write(&[1; 100], SIZES.chunk).is_err());
    assert!(segment.write(&[2; 10], SIZES.chunk).is_err());
    segment.write(&[3; 10], SIZES.chunk).expect("written");
    let content = files.content(&segment.path);
    assert_eq!(content[128..138], [3; 10]);
    assert!(content[138..].iter().all(|byte| *byte == 0));
    assert_eq!((segment.end(), segment.synced()), (138, 128));
}

#[test]
fn a_full_disk_shows_before_a_record_is_begun() {
    let files = MemoryFiles::new();
    let mut segment = created(&files);
    files.limit_space(1024 + 500);
    assert_eq!(segment.write(&[1; 2000], SIZES.chunk).map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
    assert!(files.content(&segment.path)[128..].iter().all(|byte| *byte == 0));
    segment.write(&[2; 1300], SIZES.chunk).expect("there is room for this one, though not for a chunk");
    assert_eq!(segment.end(), 128 + 1300);
}

#[test]
fn one_sync_is_enough_and_unused_room_is_given_back() {
    let files = MemoryFiles::new();
    let mut segment = created(&files);
    segment.write(&[1; 10], SIZES.chunk).expect("written");
    let before = files.syncs();
    segment.sync().expect("synced");
    segment.sync().expect("nothing to do");
    assert_eq!((files.syncs(), segment.synced()), (before + 1, 138));
    segment.trim().expect("trimmed");
    assert_eq!(files.content(&segment.path).len(), 138);
}

#[test]
fn an_empty_one_takes_a_batch_of_any_size() {
    let files = MemoryFiles::new();
    let mut segment = created(&files);
    segment.widen(10_000);
    assert!(segment.fits(10_000) && !segment.fits(10_001));
    segment.write(&[1; 10_000], SIZES.chunk).expect("written");
    assert!(!segment.is_empty());
}
