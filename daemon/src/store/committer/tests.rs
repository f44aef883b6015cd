//! Levels, groups, density, marks: the commit thread from outside.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::*;
use crate::store::file::FileSystem;
use crate::store::tests::{Heard, all, barrier, batch, block, boot, first_segment, last, open, put, record_len, send, session, small};
use crate::store::{Limits, MemoryFiles, Store};

fn open_with(files: &MemoryFiles, limits: Limits) -> Store {
    Store::open(files.setup(boot(), limits)).expect("it opens").0
}

#[test]
fn a_written_one_is_freed_at_once_and_shown_with_the_next_sync() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let before = files.syncs();
    let written = send(&store, batch(session(1), 1, &["a"], Level::Written));
    assert_eq!(written.next(), Commit::Written);
    assert_eq!((last(&store, session(1)), files.syncs()), (None, before), "not shown, not synced");
    files.hold_syncs();
    let synced = send(&store, batch(session(2), 1, &["x"], Level::Synced));
    files.wait_for_held_sync();
    assert_eq!((last(&store, session(1)), last(&store, session(2))), (None, None), "nothing is shown before its sync");
    files.release_syncs();
    assert_eq!(synced.all(), [Commit::Synced]);
    assert_eq!(written.all(), [Commit::Synced]);
    assert_eq!(files.syncs(), before + 1, "one sync for both");
    assert_eq!(all(&store, session(1)), ["a"]);
}

#[test]
fn a_written_one_is_synced_without_anybody_asking() {
    let files = MemoryFiles::new();
    let store = open_with(&files, Limits { written: Duration::from_millis(1), ..small() });
    let written = send(&store, batch(session(1), 1, &["a"], Level::Written));
    assert_eq!(written.all(), [Commit::Written, Commit::Synced]);
    assert_eq!(all(&open(&files.after_power_loss(&mut |_| 0)).0, session(1)), ["a"]);
}

#[test]
fn what_queues_up_during_a_sync_shares_the_next_one() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    files.hold_syncs();
    let first = send(&store, batch(session(1), 1, &["a"], Level::Synced));
    files.wait_for_held_sync();
    let before = files.syncs();
    let waiting: Vec<Heard> = (2..12).map(|seq| send(&store, batch(session(1), seq, &["b"], Level::Synced))).collect();
    files.release_syncs();
    assert_eq!(first.end(), Commit::Synced);
    for heard in waiting {
        assert_eq!(heard.all(), [Commit::Synced]);
    }
    assert_eq!(files.syncs(), before + 2);
    assert_eq!(last(&store, session(1)), Some(Seq(11)));
}

#[test]
fn many_writers_keep_their_orders_through_a_small_queue() {
    const WRITERS: u128 = 16;
    const EACH: u64 = 60;
    let files = MemoryFiles::new();
    let store = open_with(&files, Limits { queue_units: 4, group_batches: 5, ..small() });
    std::thread::scope(|scope| {
        for writer in 1..=WRITERS {
            let store = &store;
            scope.spawn(move || {
                let mut heard = Vec::new();
                for seq in 1..=EACH {
                    let level = if seq % 3 == 0 { Level::Synced } else { Level::Written };
                    heard.push(send(store, batch(session(writer), seq, &[&format!("{writer}/{seq}")], level)));
                }
                let barrier = barrier(store);
                assert_eq!(barrier, Commit::Synced);
                for heard in heard {
                    assert_eq!(heard.end(), Commit::Synced);
                }
            });
        }
    });
    for store in [&store, &open(&files.after_power_loss(&mut |_| 0)).0] {
        for writer in 1..=WRITERS {
            let expected: Vec<String> = (1..=EACH).map(|seq| format!("{writer}/{seq}")).collect();
            assert_eq!(all(store, session(writer)), expected);
        }
    }
}

#[test]
fn numbers_that_do_not_go_on_are_refused() {
    let (store, _) = open(&MemoryFiles::new());
    let refused = |first| send(&store, batch(session(1), first, &["x"], Level::Synced)).failure();
    for first in [0, 2, u64::MAX] {
        assert!(refused(first).contains("does not follow event 0"), "{}", refused(first));
    }
    assert_eq!(put(&store, session(1), 1, &["a", "b"]), Commit::Synced);
    for first in [1, 2, 4, 0, u64::MAX] {
        assert!(refused(first).contains("does not follow event 2"));
    }
    assert!(send(&store, batch(session(1), 3, &[], Level::Synced)).failure().contains("without events"));
    let large = "x".repeat(small().batch as usize);
    assert!(send(&store, batch(session(1), 3, &[&large], Level::Synced)).failure().contains("at most 65536"));
    assert_eq!(put(&store, session(1), 3, &["c"]), Commit::Synced);
    assert_eq!(all(&store, session(1)), ["a", "b", "c"]);
}

#[test]
fn a_waiter_that_panics_takes_nobody_with_it() {
    let (store, _) = open(&MemoryFiles::new());
    block(store.append(batch(session(1), 1, &["a"], Level::Synced), Box::new(|_| panic!("a waiter's own fault"))));
    assert_eq!(put(&store, session(1), 2, &["b"]), Commit::Synced);
    assert_eq!(all(&store, session(1)), ["a", "b"]);
}

#[test]
fn a_waiter_is_told_once_when_its_append_is_dropped_half_way() {
    let files = MemoryFiles::new();
    let store = open_with(&files, Limits { queue_units: 1, ..small() });
    files.hold_syncs();
    let first = send(&store, batch(session(1), 1, &["a"], Level::Synced));
    files.wait_for_held_sync();
    // The queue's only place is taken until the group is done.
    let (waiter, second) = Heard::waiter();
    block(async {
        let append = store.append(batch(session(1), 2, &["b"], Level::Synced), waiter);
        tokio::select! {
            biased;
            () = append => panic!("there is no room"),
            () = async {} => {}
        }
    });
    assert_eq!(second.all().len(), 1);
    files.release_syncs();
    assert_eq!(first.all(), [Commit::Synced]);
    assert_eq!(put(&store, session(1), 2, &["again"]), Commit::Synced);
}

#[test]
fn an_idle_mark_follows_the_last_sync_once() {
    let files = MemoryFiles::new();
    let store = open_with(&files, Limits { idle: Duration::from_millis(1), ..small() });
    assert_eq!(put(&store, session(1), 1, &["a"]), Commit::Synced);
    // Three rounds through an idle thread: the mark is written before one of them at the latest at the end, and never twice.
    for _ in 0..3 {
        assert_eq!(barrier(&store), Commit::Synced);
    }
    block(store.shutdown()).expect("a clean end");
    let content = files.content(&first_segment());
    let events = record_len(&["a"]) as usize;
    let marks = content[128..].chunks(8).filter(|piece| piece.starts_with(&record::MAGIC)).count() - 1;
    assert!((1..=2).contains(&marks), "{marks} marks: one before the first event at most, one behind the last");
    let end = content.iter().rposition(|byte| *byte != 0).expect("not empty") + 1;
    assert_eq!(end, 128 + events + marks * record::HEADER_LEN);

    // The mark says that the event was synced: without it the event's loss would look like a tear.
    let mut damaged = content.clone();
    let at = damaged.windows(1).rposition(|byte| byte == b"a").expect("the event");
    damaged[at] = b'b';
    files.damage(&first_segment(), damaged);
    files.lose_database(Path::new("/db"));
    files.remove(&crate::store::cold::path_of(Path::new("/archive"), session(1))).expect("removed");
    let opened = open(&files).1;
    assert_eq!((opened.sessions, opened.cut), (vec![], None));
    assert_eq!(opened.quarantined.len(), 1);
}

#[test]
fn a_barrier_waits_for_everything_before_it() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    assert_eq!(barrier(&store), Commit::Synced);
    let written = send(&store, batch(session(1), 1, &["a"], Level::Written));
    assert_eq!(barrier(&store), Commit::Synced);
    assert_eq!(written.all(), [Commit::Written, Commit::Synced]);
    let before = files.syncs();
    assert_eq!(barrier(&store), Commit::Synced);
    assert_eq!(files.syncs(), before, "nothing to sync, no sync");
}

#[test]
fn a_waiter_nobody_tells_hears_of_it() {
    let (said, heard) = channel();
    let told = Told::new(Box::new(move |commit| said.send(commit).expect("heard")));
    drop(told);
    assert!(matches!(heard.recv(), Ok(Commit::Failed(reason)) if reason.contains("stopped")));
    assert!(heard.recv().is_err(), "once");
}
