//! What lies behind the journal: rows, labels, cold copies, freed segments, deletion, restoring.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use super::*;
use crate::store::memory::{Operation, Plain};

fn segments(files: &MemoryFiles) -> Vec<String> {
    let mut names = files.list(dir()).expect("a list");
    names.sort();
    names
}

fn lines(files: &MemoryFiles, id: SessionId) -> usize {
    files.content(&cold::path_of(archive(), id)).iter().filter(|byte| **byte == b'\n').count()
}

/// Appends `count` events of `size` bytes, one a record.
fn fill(store: &Store, id: SessionId, from: u64, count: u64, size: usize) {
    for seq in from..from + count {
        assert_eq!(put(store, id, seq, &[&format!("{seq} {}", "x".repeat(size))]), Commit::Synced);
    }
}

#[test]
fn rows_labels_and_what_is_unsettled_follow_the_events() {
    let (store, _) = open(&MemoryFiles::new());
    put(&store, session(2), 1, &["two begins", "+ works"]);
    put(&store, session(1), 1, &["one begins"]);
    put(&store, session(3), 1, &["one again"]);
    let row = store.row(session(2)).expect("read").expect("a row");
    assert_eq!((row.last, row.row.as_slice()), (Seq(2), b"two|+ works".as_slice()));
    assert_eq!(store.labelled(Plain::label("one")).expect("read"), [session(1), session(3)]);
    assert_eq!(store.labelled(Plain::label("three")).expect("read"), []);
    assert_eq!((store.unsettled().expect("read"), store.count().expect("read")), (vec![session(2)], 3));
    put(&store, session(2), 3, &["rests"]);
    assert_eq!(store.unsettled().expect("read"), []);
    let ids = |rows: Vec<Row>| rows.into_iter().map(|row| row.session).collect::<Vec<_>>();
    let all = || session(0)..=session(u128::MAX);
    assert_eq!(ids(store.rows(all(), Order::Descending, 2).expect("read")), [session(3), session(2)]);
    assert_eq!(ids(store.rows(session(2)..=session(2), Order::Ascending, 9).expect("read")), [session(2)]);
    assert_eq!(forget(&store, session(1)), Commit::Synced);
    assert_eq!(store.labelled(Plain::label("one")).expect("read"), [session(3)]);
    assert_eq!((store.row(session(1)).expect("read"), store.count().expect("read")), (None, 2));
}

#[test]
fn a_checkpoint_makes_cold_copies_and_frees_full_segments() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    fill(&store, session(1), 1, 10, 900);
    put(&store, session(2), 1, &["b"]);
    assert!(segments(&files).len() > 2, "{:?}", segments(&files));
    store.checkpoint().expect("a checkpoint");
    assert_eq!(segments(&files).len(), 1);
    assert_eq!((lines(&files, session(1)), lines(&files, session(2))), (10, 1));
    // Again there is nothing to add.
    fill(&store, session(1), 11, 1, 10);
    store.checkpoint().expect("a checkpoint");
    assert_eq!((lines(&files, session(1)), lines(&files, session(2))), (11, 1));
    for files in [files.after_kill(), files.after_power_loss(&mut |_| 0)] {
        let (again, opened) = open_on(&files, BootId::new("another"));
        assert_eq!((opened.sessions, opened.rebuilt), (vec![(session(1), Seq(11)), (session(2), Seq(1))], None));
        assert_eq!(all(&again, session(1)).len(), 11);
        assert_eq!(put(&again, session(1), 12, &["goes on"]), Commit::Synced);
    }
}

#[test]
fn the_journal_stays_bounded_whatever_is_appended() {
    let files = MemoryFiles::new();
    let (store, _) = open_within(&files, boot(), busy());
    for round in 0..60 {
        fill(&store, session(1 + round % 3), 1 + 4 * (u64::try_from(round / 3).unwrap()), 4, 700);
        assert!(segments(&files).len() <= 5, "{:?}", segments(&files));
    }
    assert_eq!(all(&store, session(2)).len(), 80);
    assert_eq!(all(&open(&files.after_kill()).0, session(2)).len(), 80);
}

#[test]
fn a_journal_that_cannot_be_emptied_refuses_what_does_not_fit_and_goes_on_when_it_can() {
    let files = MemoryFiles::new();
    let (store, _) = open_within(&files, boot(), Limits { retry: Duration::from_secs(3600), ..busy() });
    for _ in 0..20 {
        files.fail(Operation::Flush, ErrorKind::StorageFull);
    }
    let mut seq = 1;
    let failed = loop {
        match put(&store, session(1), seq, &[&"x".repeat(1500)]) {
            Commit::Failed(reason) => break reason,
            _ => seq += 1,
        }
        assert!(seq < 100, "it never fills up");
    };
    assert!(failed.contains("cannot be emptied"), "{failed}");
    assert!(store.status().trouble.is_some_and(|trouble| trouble.contains("database")));
    assert_eq!(store.trouble(), None, "it is not final");
    assert!((0..100).any(|_| store.checkpoint().is_ok()), "the disk has room again");
    assert_eq!(store.status().trouble, None);
    assert_eq!(put(&store, session(1), seq, &["goes on"]), Commit::Synced);
    assert_eq!(all(&store, session(1)).len() as u64, seq);
}

#[test]
fn a_database_that_takes_nothing_holds_up_no_acknowledgement_and_no_read() {
    let files = MemoryFiles::new();
    let (store, _) = open_within(&files, boot(), Limits { retry: Duration::from_millis(1), ..small() });
    for _ in 0..3 {
        files.fail(Operation::Apply, ErrorKind::StorageFull);
    }
    fill(&store, session(1), 1, 5, 100);
    assert_eq!(all(&store, session(1)).len(), 5);
    assert_eq!(all(&open(&files.after_kill()).0, session(1)).len(), 5);
    assert!((0..100_000).any(|_| store.checkpoint().is_ok()), "it never got on");
    assert_eq!(sessions(&store), [(session(1), Seq(5))]);
}

#[test]
fn a_deleted_session_leaves_nothing_behind_after_a_checkpoint() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a"]);
    fill(&store, session(2), 1, 6, 900);
    store.checkpoint().expect("a checkpoint");
    assert_eq!(lines(&files, session(2)), 6);
    assert_eq!(forget(&store, session(2)), Commit::Synced);
    fill(&store, session(1), 2, 6, 900);
    store.checkpoint().expect("a checkpoint");
    let copies: BTreeSet<String> = files.list(archive()).expect("a list").into_iter().collect();
    assert_eq!(copies, BTreeSet::from([format!("{}.jsonl", session(1))]));
    let theirs = |key: &Vec<u8>| key.windows(16).any(|part| part == session(2).as_bytes());
    assert!(!files.database_keys(db()).iter().any(theirs), "no key of it is left");
    store.rebuild().expect("rebuilt");
    assert_eq!(sessions(&store), [(session(1), Seq(7))]);
    for files in [files.after_kill(), files.after_power_loss(&mut |_| 0)] {
        files.lose_database(db());
        assert_eq!(open(&files).1.sessions, [(session(1), Seq(7))]);
    }
}

#[test]
fn a_kill_between_any_two_steps_of_a_checkpoint_loses_nothing_and_brings_nothing_back() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    fill(&store, session(1), 1, 3, 900);
    put(&store, session(2), 1, &["b", "bb"]);
    put(&store, session(3), 1, &["c"]);
    store.checkpoint().expect("a checkpoint");
    fill(&store, session(1), 4, 6, 900);
    put(&store, session(4), 1, &["d"]);
    forget(&store, session(3));
    fill(&store, session(1), 10, 6, 900);
    // Everything is in the database before the first step.
    let expected = [(session(1), Seq(15)), (session(2), Seq(2)), (session(4), Seq(1))];
    assert_eq!(sessions(&store), expected);
    files.remember_steps();
    store.checkpoint().expect("a checkpoint");
    let worlds = files.remembered_kills();
    assert!(worlds.len() > 15, "{} steps", worlds.len());
    for (step, world) in worlds.iter().enumerate() {
        for lost in [false, true] {
            let files = world.after_kill();
            if lost {
                files.lose_database(db());
            }
            let (again, opened) = open(&files);
            assert_eq!((opened.sessions, opened.quarantined), (expected.to_vec(), vec![]), "step {step}, database lost: {lost}");
            assert_eq!((all(&again, session(1)).len(), all(&again, session(2))), (15, vec!["b".to_owned(), "bb".to_owned()]));
            again.checkpoint().expect("the next one goes through");
            assert_eq!(lines(&files, session(1)), 15, "step {step}: nothing twice");
        }
    }
}

#[test]
fn damaged_entries_are_restored_from_cold_copy_and_journal() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    fill(&store, session(1), 1, 8, 900);
    put(&store, session(2), 1, &["b"]);
    store.checkpoint().expect("a checkpoint");
    fill(&store, session(1), 9, 2, 10);
    assert_eq!(sessions(&store).len(), 2);
    for key in [keys::event(session(1), Seq(1)), keys::event(session(1), Seq(5)), keys::row(session(1))] {
        files.damage_value(db(), &key);
        let before = store.status().happened.len();
        assert_eq!(all(&store, session(1)).len(), 10);
        assert_eq!(sessions(&store), [(session(1), Seq(10)), (session(2), Seq(1))]);
        let happened = store.status().happened;
        assert_eq!(happened.len(), before + 1);
        assert!(happened[before].text.contains("restored"), "{}", happened[before].text);
    }
    assert_eq!(store.status().sessions, 2);
    assert_eq!(put(&store, session(1), 11, &["goes on"]), Commit::Synced);
}

#[test]
fn a_session_whose_cold_copy_is_damaged_too_is_set_apart_alone_and_for_good() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    fill(&store, session(1), 1, 8, 900);
    put(&store, session(2), 1, &["b"]);
    store.checkpoint().expect("a checkpoint");
    let path = cold::path_of(archive(), session(1));
    let mut content = files.content(&path);
    content[2000] ^= 1;
    files.damage(&path, content);
    let files = files.after_kill();
    let store = open(&files).0;
    files.damage_value(db(), &keys::event(session(1), Seq(3)));
    let refused = store.read_after(session(1), Seq::ZERO, 10, 100_000).expect_err("damaged").to_string();
    assert!(refused.contains("quarantined"), "{refused}");
    assert_eq!(all(&store, session(2)), ["b"]);
    assert!(matches!(put(&store, session(1), 9, &["late"]), Commit::Failed(reason) if reason.contains("quarantined")));
    let quarantined = |store: &Store| store.status().quarantined.iter().map(|(id, _)| *id).collect::<Vec<_>>();
    assert_eq!(quarantined(&store), [session(1)]);
    store.checkpoint().expect("a checkpoint");
    // It stays so, also when the database is built anew; deleting it ends it.
    store.rebuild().expect("rebuilt");
    assert_eq!(quarantined(&store), [session(1)]);
    let files = files.after_kill();
    files.lose_database(db());
    let (store, opened) = open(&files);
    assert_eq!((opened.sessions, opened.quarantined.len()), (vec![(session(2), Seq(1))], 1));
    assert_eq!(forget(&store, session(1)), Commit::Synced);
    store.checkpoint().expect("a checkpoint");
    assert_eq!((quarantined(&store), sessions(&store)), (vec![], vec![(session(2), Seq(1))]));
}

#[test]
fn a_session_set_apart_keeps_its_segments() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["aaaa"]);
    put(&store, session(2), 1, &["bbbb"]);
    fill(&store, session(1), 2, 8, 900);
    let files = files.after_kill();
    let mut content = files.content(&first_segment());
    let at = content.windows(4).position(|four| four == b"bbbb").expect("the event");
    content[at] = b'x';
    files.damage(&first_segment(), content);
    let (store, opened) = open(&files);
    assert_eq!(opened.quarantined.len(), 1);
    store.checkpoint().expect("a checkpoint");
    let names = segments(&files);
    assert!(names.contains(&"0000000001.journal.damaged".to_owned()) && names.len() == 2, "{names:?}");
    let (_, opened) = open(&files.after_kill());
    assert_eq!(opened.quarantined.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [session(2)]);
}

#[test]
fn memory_keeps_nothing_of_sessions_at_rest() {
    let files = MemoryFiles::new();
    let (store, _) = open_within(&files, boot(), Limits { cache: 4096, ..busy() });
    for id in 1..=200 {
        put(&store, session(id), 1, &["begins"]);
    }
    assert_eq!(sessions(&store).len(), 200);
    store.checkpoint().expect("a checkpoint");
    assert!(store.shared.behind.tail.index().sessions.len() < 30);
    let again = open(&files.after_kill()).0;
    assert_eq!(again.shared.behind.tail.index().sessions.len(), 0);
    assert_eq!(again.count().expect("read"), 200);
}

fn blob_folder(id: SessionId) -> PathBuf {
    Path::new("/blobs").join(id.to_string())
}

#[test]
fn large_events_are_files_until_their_session_is_deleted() {
    let files = MemoryFiles::new();
    let (store, _) = open_within(&files, boot(), Limits { blob: 500, ..small() });
    let large = ["l".repeat(501), "m".repeat(9000)];
    put(&store, session(1), 1, &["begins", &large[0]]);
    put(&store, session(1), 3, &[&large[1], "ends"]);
    let expected = ["begins", &large[0], &large[1], "ends"];
    assert_eq!(all(&store, session(1)), expected);
    assert_eq!(store.read_after(session(1), Seq::ZERO, 10, 1000).expect("a page").len(), 2, "pages count what is read");
    assert_eq!(files.list(&blob_folder(session(1))).expect("a list").len(), 2);
    assert!(files.content(&first_segment()).len() < 3000, "the journal has references");
    assert_eq!(sessions(&store), [(session(1), Seq(4))]);
    for lost in [false, true] {
        let files = files.after_power_loss(&mut |_| 0);
        if lost {
            files.lose_database(db());
        }
        assert_eq!(all(&open(&files).0, session(1)), expected);
    }
    store.checkpoint().expect("a checkpoint");
    // The cold copy has them whole: a lost file comes back from there.
    for name in files.list(&blob_folder(session(1))).expect("a list") {
        files.damage(&blob_folder(session(1)).join(name), vec![0; 501]);
    }
    assert_eq!(all(&store, session(1)), expected);
    let lost = files.after_kill();
    lost.lose_database(db());
    for name in lost.list(&blob_folder(session(1))).expect("a list") {
        FileSystem::remove(&lost, &blob_folder(session(1)).join(name)).expect("removed");
    }
    assert_eq!(all(&open(&lost).0, session(1)), expected);
    forget(&store, session(1));
    store.checkpoint().expect("a checkpoint");
    assert_eq!(files.list(&blob_folder(session(1))).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
}

#[test]
fn a_large_event_that_is_lost_before_its_cold_copy_sets_its_session_apart_alone() {
    let files = MemoryFiles::new();
    let (store, _) = open_within(&files, boot(), Limits { blob: 500, ..small() });
    put(&store, session(1), 1, &["begins", &"l".repeat(501)]);
    put(&store, session(2), 1, &["b"]);
    let files = files.after_kill();
    for name in files.list(&blob_folder(session(1))).expect("a list") {
        FileSystem::remove(&files, &blob_folder(session(1)).join(name)).expect("removed");
    }
    let (store, opened) = open(&files);
    assert_eq!(opened.sessions, [(session(2), Seq(1))]);
    let refused = store.read_after(session(1), Seq::ZERO, 10, 1000).expect_err("lost").to_string();
    assert!(refused.contains("quarantined") && refused.contains("large value"), "{refused}");
    store.checkpoint().expect("a checkpoint");
    assert_eq!(all(&store, session(2)), ["b"]);
}
