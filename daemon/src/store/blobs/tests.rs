use std::path::Path;

use super::*;
use crate::store::memory::{MemoryFiles, Operation};

fn places() -> Places {
    Places::within(Path::new("/"))
}

fn id() -> SessionId {
    SessionId::from_u128(5)
}

fn keep_in(files: &MemoryFiles, event: &Bytes) -> Bytes {
    keep(files, &places(), id(), event, 100).expect("kept")
}

fn path(event: &Bytes) -> PathBuf {
    folder_of(&places(), id()).join(Reference::of(event).name())
}

#[test]
fn a_small_event_is_itself_and_a_large_one_a_file_that_lasts() {
    let files = MemoryFiles::new();
    let (small, large) = (Bytes::from(vec![7; 100]), Bytes::from(vec![7; 101]));
    assert_eq!(keep_in(&files, &small), small);
    assert_eq!(files.list(&folder_of(&places(), id())).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
    let stored = keep_in(&files, &large);
    assert_eq!((stored.len(), len_of(&stored), len_of(&small)), (LEN, 101, 100));
    for files in [files.after_kill(), files.after_power_loss(&mut |_| 0)] {
        assert_eq!(fetch(&files, &places(), id(), &stored).expect("found"), large);
    }
    assert_eq!(keep_in(&files, &large), stored, "the same again");
}

#[test]
fn what_looks_like_a_reference_is_never_taken_for_one() {
    let files = MemoryFiles::new();
    let sly = Reference::of(b"x").encode();
    let stored = keep_in(&files, &sly);
    assert_ne!(stored, sly);
    assert_eq!(fetch(&files, &places(), id(), &stored).expect("found"), sly);
}

#[test]
fn a_damaged_or_lost_file_is_found_out() {
    let files = MemoryFiles::new();
    let large = Bytes::from(vec![7; 500]);
    let stored = keep_in(&files, &large);
    for bad in [vec![7; 499], vec![8; 500], vec![]] {
        files.damage(&path(&large), bad);
        assert!(matches!(fetch(&files, &places(), id(), &stored), Err(BlobError::Damaged { .. })));
    }
    assert_eq!(keep_in(&files, &large), stored);
    assert_eq!(fetch(&files, &places(), id(), &stored).expect("written again"), large);
    files.remove(&path(&large)).expect("removed");
    assert!(matches!(fetch(&files, &places(), id(), &stored), Err(BlobError::Damaged { what: "gone", .. })));
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let files = MemoryFiles::new();
    files.fail(Operation::Write { taken: 50 }, ErrorKind::StorageFull);
    let large = Bytes::from(vec![7; 500]);
    let failed = keep(&files, &places(), id(), &large, 100).expect_err("full").to_string();
    assert!(failed.contains("free some space"), "{failed}");
    assert_eq!(files.list(&folder_of(&places(), id())).expect("a list"), Vec::<String>::new());
}

#[test]
fn removing_a_session_removes_its_folder() {
    let files = MemoryFiles::new();
    keep_in(&files, &Bytes::from(vec![7; 500]));
    keep_in(&files, &Bytes::from(vec![8; 500]));
    remove_all(&files, &places(), id()).expect("removed");
    remove_all(&files, &places(), id()).expect("nothing left to do");
    assert_eq!(files.used(), 0);
    assert_eq!(files.after_power_loss(&mut |_| 0).used(), 0);
}
