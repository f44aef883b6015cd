//! Full disks, failing disks and lost power below a running store.

use std::io::ErrorKind;

use super::*;
use crate::store::memory::Operation;

#[test]
fn a_full_disk_fails_what_does_not_fit_and_goes_on_when_there_is_room() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a"]);
    put(&store, session(2), 1, &["x"]);
    files.limit_space(files.used());
    let large = "l".repeat(2000);
    let failed = send(&store, batch(session(1), 2, &[&large], Level::Synced)).failure();
    assert!(failed.contains(DIR) && failed.contains("free some space"), "{failed}");
    // Numbers behind the failed one are refused, another session's are not.
    let behind = send(&store, batch(session(1), 3, &["c"], Level::Synced)).failure();
    assert!(behind.contains("does not follow event 1"), "{behind}");
    assert_eq!(put(&store, session(2), 2, &["y"]), Commit::Synced);
    // The number is used again.
    assert_eq!(put(&store, session(1), 2, &["b"]), Commit::Synced);
    let other = send(&store, batch(session(2), 3, &[&large], Level::Written)).failure();
    assert!(other.contains("free some space"), "{other}");
    files.free_space();
    assert_eq!(put(&store, session(2), 3, &[&large]), Commit::Synced);
    assert_eq!(store.trouble(), None);
    for store in [store, open(&files.after_kill()).0, open(&files.after_power_loss(&mut |_| 0)).0] {
        assert_eq!(all(&store, session(1)), ["a", "b"]);
        assert_eq!(all(&store, session(2)), ["x", "y", &large]);
    }
}

#[test]
fn a_full_disk_that_has_no_room_for_a_new_segment_recovers() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let block_of = "b".repeat(900);
    let mut first = 1;
    while put(&store, session(1), first, &[&block_of]) == Commit::Synced {
        first += 1;
        // The fifth does not fit into the first segment.
        if first == 5 {
            files.limit_space(files.used());
        }
    }
    assert_eq!(first, 5);
    files.free_space();
    assert_eq!(put(&store, session(1), 5, &["e"]), Commit::Synced);
    let (again, opened) = open(&files.after_power_loss(&mut |_| 0));
    assert_eq!((opened.sessions, opened.damage), (vec![(session(1), Seq(5))], vec![]));
    assert_eq!(all(&again, session(1)).len(), 5);
}

#[test]
fn in_a_group_only_what_fails_fails() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a"]);
    files.hold_syncs();
    let held = send(&store, batch(session(1), 2, &["b"], Level::Synced));
    files.wait_for_held_sync();
    // These three make one group: its write fails, then the first of them alone fails again.
    files.fail(Operation::Write { taken: 100 }, ErrorKind::Other);
    files.fail(Operation::Write { taken: 50 }, ErrorKind::Other);
    files.fail(Operation::Write { taken: 50 }, ErrorKind::Other);
    let first = send(&store, batch(session(1), 3, &["c"], Level::Synced));
    let behind = send(&store, batch(session(1), 4, &["d"], Level::Synced));
    let other = send(&store, batch(session(2), 1, &["x"], Level::Synced));
    files.release_syncs();
    assert_eq!(held.end(), Commit::Synced);
    assert!(first.failure().contains("cannot write to the journal"));
    assert!(behind.failure().contains("does not follow event 2"));
    assert_eq!(other.end(), Commit::Synced);
    for store in [store, open(&files.after_kill()).0] {
        assert_eq!(all(&store, session(1)), ["a", "b"]);
        assert_eq!(all(&store, session(2)), ["x"]);
    }
}

#[test]
fn a_failed_sync_is_final() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a"]);
    let written = send(&store, batch(session(1), 2, &["b"], Level::Written));
    assert_eq!(written.next(), Commit::Written);
    let syncs = files.syncs();
    files.fail(Operation::SyncFile, ErrorKind::Other);
    let failed = send(&store, batch(session(2), 1, &["x"], Level::Synced)).failure();
    assert!(failed.contains("did not keep") && failed.contains("restart agentd"), "{failed}");
    assert_eq!(written.end(), Commit::Failed(failed.clone()));
    // Nothing is synced again, nothing is taken, nothing unsure is shown; what was kept is read.
    assert!(matches!(put(&store, session(1), 3, &["c"]), Commit::Failed(reason) if reason == failed));
    assert!(matches!(barrier(&store), Commit::Failed(reason) if reason == failed));
    assert!(matches!(forget(&store, session(1)), Commit::Failed(reason) if reason == failed));
    assert_eq!(store.trouble(), Some(failed.as_str()));
    assert_eq!(all(&store, session(1)), ["a"]);
    assert_eq!(files.syncs(), syncs);
    assert_eq!(block(store.shutdown()), Err(ShutdownError::Unclean(failed)));
}

#[test]
fn what_a_failed_sync_left_in_memory_reaches_the_disk_before_it_is_served() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a"]);
    files.fail(Operation::SyncFile, ErrorKind::Other);
    send(&store, batch(session(1), 2, &["b"], Level::Synced)).failure();
    let files = files.after_kill();
    let (again, opened) = open(&files);
    assert_eq!(opened.sessions, [(session(1), Seq(2))]);
    assert_eq!(all(&again, session(1)), ["a", "b"]);
    // The page cache had it and believed it clean: only having been written again can save it.
    assert_eq!(open(&files.after_power_loss(&mut |_| 0)).1.sessions, [(session(1), Seq(2))]);
}

#[test]
fn a_failure_to_make_the_new_segments_name_durable_is_final() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let long = "x".repeat(3000);
    put(&store, session(1), 1, &[&long]);
    files.fail(Operation::SyncDir, ErrorKind::Other);
    let failed = send(&store, batch(session(1), 2, &[&long], Level::Synced)).failure();
    assert!(failed.contains(DIR) && failed.contains("nothing more"), "{failed}");
    assert_eq!(store.trouble(), Some(failed.as_str()));
    let (again, opened) = open(&files.after_kill());
    assert_eq!((opened.sessions, opened.damage), (vec![(session(1), Seq(1))], vec![]));
    assert_eq!(put(&again, session(1), 2, &[&long]), Commit::Synced);
}

#[test]
fn a_failed_creation_leaves_the_old_segment_in_use() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let long = "x".repeat(3000);
    put(&store, session(1), 1, &[&long]);
    for operation in [Operation::Create, Operation::Write { taken: 7 }, Operation::SyncFile, Operation::Rename] {
        files.fail(operation, ErrorKind::PermissionDenied);
        let failed = send(&store, batch(session(1), 2, &[&long], Level::Synced)).failure();
        assert!(failed.contains("cannot start the journal segment") && failed.contains("writable"), "{failed}");
    }
    assert_eq!(put(&store, session(1), 2, &["b"]), Commit::Synced);
    assert_eq!(put(&store, session(1), 3, &[&long]), Commit::Synced);
    let (again, opened) = open(&files.after_power_loss(&mut |_| 0));
    assert_eq!((opened.cut, opened.damage), (None, vec![]));
    assert_eq!(all(&again, session(1)), [&long, "b", &long]);
}

#[test]
fn an_unsynced_record_that_power_loss_left_a_hole_before_is_cut() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a"]);
    let long = "x".repeat(1000);
    assert_eq!(send(&store, batch(session(1), 2, &[&long], Level::Written)).next(), Commit::Written);
    assert_eq!(send(&store, batch(session(2), 1, &["y"], Level::Written)).next(), Commit::Written);
    // Of the unsynced writes (room, record, record) all but the first record arrive.
    let mut answers = [1, 0, 1].into_iter();
    let after = files.after_power_loss(&mut |_| answers.next().unwrap_or(0));
    let (again, opened) = open_on(&after, BootId::new("the next boot"));
    assert_eq!((opened.sessions, opened.quarantined), (vec![(session(1), Seq(1))], vec![]));
    let cut = opened.cut.expect("a cut");
    assert_eq!((cut.segment, cut.offset), (first_segment(), 128 + record_len(&["a"])));
    assert!(cut.bytes > 1000);
    // What was cut never comes back, though a record of the same length now lies before it.
    assert_eq!(put(&again, session(1), 2, &[&"z".repeat(1000)]), Commit::Synced);
    assert_eq!(open(&after.after_kill()).1.sessions, [(session(1), Seq(2))]);
}
