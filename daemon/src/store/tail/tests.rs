//! Pages forwards and backwards, from memory and from disk.

use super::*;
use crate::store::memory::Operation;
use crate::store::tests::{all, batch, boot, first_segment, open, put, send, session, sessions, small};
use crate::store::{Level, MemoryFiles, ReadError, Store};

/// 40 events of one session in records of 1, 2, 3, 1, 2, 3 …, with another session's between them.
fn filled(files: &MemoryFiles) -> (Store, Vec<String>) {
    let (store, _) = open(files);
    let events: Vec<String> = (1..=40).map(|seq| format!("{seq}:{}", "x".repeat(seq % 7 * 10))).collect();
    let (mut at, mut count, mut other) = (0, 1, 1);
    while at < events.len() {
        let part: Vec<&str> = events[at..(at + count).min(events.len())].iter().map(String::as_str).collect();
        put(&store, session(1), at as u64 + 1, &part);
        put(&store, session(2), other, &["other"]);
        (at, count, other) = (at + part.len(), count % 3 + 1, other + 1);
    }
    (store, events)
}

fn texts(page: &[(Seq, Bytes)]) -> Vec<String> {
    page.iter().map(|(_, event)| String::from_utf8_lossy(event).into_owned()).collect()
}

#[test]
fn pages_of_any_size_cover_everything_once() {
    let files = MemoryFiles::new();
    let (store, events) = filled(&files);
    let reopened = open(&files.after_kill()).0;
    for (store, max_events, max_bytes) in
        [(&store, 1, 1000), (&store, 7, 1000), (&reopened, 3, 1000), (&reopened, 100, 150), (&store, 100, 0), (&reopened, 100, 100_000)]
    {
        let (mut forwards, mut after) = (Vec::new(), Seq::ZERO);
        loop {
            let page = store.read_after(session(1), after, max_events, max_bytes).expect("a page");
            let Some((last, _)) = page.last() else { break };
            check(&page, max_events, max_bytes);
            assert_eq!(page[0].0, after.next());
            after = *last;
            forwards.extend(texts(&page));
        }
        assert_eq!(forwards, events);

        let (mut backwards, mut before) = (Vec::new(), None);
        loop {
            let page = store.read_before(session(1), before, max_events, max_bytes).expect("a page");
            let (Some((first, _)), Some((last, _))) = (page.first(), page.last()) else { break };
            check(&page, max_events, max_bytes);
            assert_eq!(last.next(), before.unwrap_or(Seq(41)));
            before = Some(*first);
            backwards.splice(0..0, texts(&page));
        }
        assert_eq!(backwards, events);
    }
}

fn check(page: &[(Seq, Bytes)], max_events: usize, max_bytes: usize) {
    assert!(page.len() <= max_events);
    assert!(page.len() == 1 || page.iter().map(|(_, event)| event.len()).sum::<usize>() <= max_bytes);
    assert!(page.windows(2).all(|pair| pair[0].0.next() == pair[1].0));
}

#[test]
fn pages_are_as_long_as_asked() {
    let (store, events) = filled(&MemoryFiles::new());
    for after in [0, 1, 2, 17, 30] {
        let page = store.read_after(session(1), Seq(after), 10, 100_000).expect("a page");
        assert_eq!(texts(&page), events[after as usize..after as usize + 10]);
        let page = store.read_before(session(1), Some(Seq(after + 11)), 10, 100_000).expect("a page");
        assert_eq!(texts(&page), events[after as usize..after as usize + 10]);
    }
    assert_eq!(texts(&store.read_before(session(1), None, 2, 100_000).expect("a page")), events[38..]);
    assert_eq!(texts(&store.read_before(session(1), Some(Seq(1000)), 2, 100_000).expect("a page")), events[38..]);
    for empty in [
        store.read_after(session(1), Seq(40), 10, 10),
        store.read_after(session(1), Seq(u64::MAX), 10, 10),
        store.read_after(session(1), Seq::ZERO, 0, 10),
        store.read_before(session(1), Some(Seq(1)), 10, 10),
        store.read_before(session(1), Some(Seq::ZERO), 10, 10),
        store.read_before(session(1), None, 0, 10),
    ] {
        assert_eq!(empty.expect("a page"), []);
    }
}

#[test]
fn fresh_events_are_read_without_the_disk_and_old_ones_leave_memory() {
    let files = MemoryFiles::new();
    files.hold_batches();
    let (store, events) = filled(&files);
    files.fail(Operation::Read, io::ErrorKind::Other);
    let page = store.read_before(session(1), None, 3, 1000).expect("from memory");
    assert_eq!(texts(&page), events[37..]);
    assert!(store.shared.behind.tail.index().cached <= 2048);
    let failed = store.read_after(session(1), Seq::ZERO, 1, 1000).expect_err("the first ones are on disk only");
    assert!(failed.to_string().contains("0000000001.journal"), "{failed}");
    assert_eq!(all(&store, session(1)), events);
    // One that is larger than the whole cache displaces everything, itself too.
    put(&store, session(3), 1, &[&"x".repeat(3000)]);
    assert_eq!(store.shared.behind.tail.index().cached, 0);
    assert_eq!(store.shared.behind.tail.index().oldest.len(), 0);
    assert_eq!(all(&store, session(3)), ["x".repeat(3000)]);
    assert_eq!(all(&store, session(1)), events);
    // What the database has and memory has let go of, the tail forgets; it is read as before.
    files.release_batches();
    assert_eq!(sessions(&store).len(), 3);
    assert_eq!(store.shared.behind.tail.index().sessions.len(), 0);
    assert_eq!(all(&store, session(1)), events);
    assert_eq!(all(&store, session(3)), ["x".repeat(3000)]);
}

#[test]
fn a_forgotten_session_leaves_memory() {
    let (store, _) = open(&MemoryFiles::new());
    put(&store, session(1), 1, &["a"]);
    let one = store.shared.behind.tail.index().cached;
    put(&store, session(2), 1, &["b"]);
    put(&store, session(2), 2, &["b"]);
    crate::store::tests::forget(&store, session(2));
    let index = store.shared.behind.tail.index();
    assert_eq!((index.cached, index.oldest.len(), index.sessions.len()), (one, 1, 1));
}

#[test]
fn neighbours_are_read_with_one_call() {
    let files = MemoryFiles::new();
    let _first = filled(&files);
    let files = files.after_kill();
    files.hold_batches();
    let store = Store::open(files.setup(boot(), small())).expect("it opens").0;
    // The applier reads the journal, too: it has done so when its batch is held.
    files.wait_for_held_batch();
    let page = store.read_after(session(1), Seq::ZERO, 6, 1000).expect("a page");
    assert_eq!(page.len(), 6);
    files.fail(Operation::Read, io::ErrorKind::Other);
    store.read_after(session(1), Seq::ZERO, 6, 1000).expect_err("its only call fails");
    store.read_after(session(1), Seq::ZERO, 6, 1000).expect("a page");
    files.release_batches();
}

#[test]
fn damage_under_a_running_store_is_seen_when_it_is_read() {
    let files = MemoryFiles::new();
    files.hold_batches();
    let (store, _) = open(&files);
    // The applier has this one in hand when the others come.
    put(&store, session(4), 1, &["first"]);
    files.wait_for_held_batch();
    put(&store, session(1), 1, &["aaaa"]);
    put(&store, session(2), 1, &["bbbb"]);
    put(&store, session(3), 1, &[&"x".repeat(3000)]);
    let mut content = files.content(&first_segment());
    let at = content.windows(4).position(|four| four == b"aaaa").expect("the event");
    content[at] = b'b';
    files.damage(&first_segment(), content);
    let failed = store.read_after(session(1), Seq::ZERO, 1, 1000).expect_err("damaged");
    let damage = |failed: &ReadError| matches!(failed, ReadError::Journal(TailError::Damaged { why: BadRecord::PayloadSum, .. }));
    assert!(damage(&failed), "{failed}");
    assert_eq!(all(&store, session(2)), ["bbbb"]);
    // The applier finds it too: the session is set apart, the others go on.
    files.release_batches();
    assert_eq!(sessions(&store), [(session(2), Seq(1)), (session(3), Seq(1)), (session(4), Seq(1))]);
    assert!(store.is_quarantined(session(1)));
}

#[test]
fn nothing_unsynced_is_shown() {
    let (store, _) = open(&MemoryFiles::new());
    put(&store, session(1), 1, &["a"]);
    let written = send(&store, batch(session(1), 2, &["b"], Level::Written));
    written.next();
    assert_eq!(all(&store, session(1)), ["a"]);
    assert_eq!(sessions(&store), [(session(1), Seq(1))]);
}
