//! The store as its callers see it, on files in memory and on real ones.

mod behind;
mod lost;
mod property;
mod trouble;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::store::record::Body;

/// The folder of every test in memory.
pub(super) const DIR: &str = "/journal";

pub(super) fn dir() -> &'static Path {
    Path::new(DIR)
}

/// The database of every test in memory.
pub(super) fn db() -> &'static Path {
    Path::new("/db")
}

/// The cold copies of every test in memory.
pub(super) fn archive() -> &'static Path {
    Path::new("/archive")
}

pub(super) fn first_segment() -> PathBuf {
    segment::path_of(dir(), 1)
}

pub(super) fn session(number: u128) -> SessionId {
    SessionId::from_u128(number)
}

pub(super) fn boot() -> BootId {
    BootId::new("one boot")
}

/// Small enough to meet every bound; nothing happens by itself before an hour is over.
pub(super) fn small() -> Limits {
    Limits {
        segment: 4096,
        chunk: 1024,
        batch: 64 * 1024,
        cache: 2048,
        written: Duration::from_secs(3600),
        idle: Duration::from_secs(3600),
        full_segments: usize::MAX,
        segments: usize::MAX,
        settle: Duration::from_secs(3600),
        gather: Duration::ZERO,
        ..Limits::default()
    }
}

/// The same, with checkpoints as often as they go.
pub(super) fn busy() -> Limits {
    Limits { blob: 2000, full_segments: 1, segments: 4, settle: Duration::from_millis(1), retry: Duration::from_millis(1), ..small() }
}

/// Drives the few futures of the store.
pub(super) fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// A store of plain events on the real disk.
pub(super) fn on_disk(data: &Path) -> Setup {
    let setup = MemoryFiles::new().setup(boot(), Limits { settle: Duration::from_secs(3600), ..Limits::default() });
    Setup { places: Places::within(data), files: Arc::new(Disk), shelves: Arc::new(Sled), ..setup }
}

/// What a waiter was told.
pub(super) struct Heard(Receiver<Commit>);

impl Heard {
    pub(super) fn waiter() -> (Waiter, Heard) {
        let (said, heard) = channel();
        let waiter = Box::new(move |commit| {
            let _ = said.send(commit);
        });
        (waiter, Heard(heard))
    }

    /// The next word.
    pub(super) fn next(&self) -> Commit {
        self.0.recv().expect("a word")
    }

    /// All words to the last.
    pub(super) fn all(&self) -> Vec<Commit> {
        self.0.iter().collect()
    }

    /// The last word.
    pub(super) fn end(&self) -> Commit {
        self.all().pop().expect("a last word")
    }

    /// Why it failed.
    pub(super) fn failure(&self) -> String {
        match self.end() {
            Commit::Failed(reason) => reason,
            other => panic!("told {other:?}"),
        }
    }
}

pub(super) fn batch(session: SessionId, first: u64, events: &[&str], level: Level) -> Batch {
    Batch { session, first: Seq(first), events: events.iter().map(|event| Bytes::copy_from_slice(event.as_bytes())).collect(), level }
}

/// Appends without waiting for what becomes of it.
pub(super) fn send(store: &Store, batch: Batch) -> Heard {
    let (waiter, heard) = Heard::waiter();
    block(store.append(batch, waiter));
    heard
}

/// Appends one synced batch and waits.
pub(super) fn put(store: &Store, id: SessionId, first: u64, events: &[&str]) -> Commit {
    send(store, batch(id, first, events, Level::Synced)).end()
}

pub(super) fn forget(store: &Store, id: SessionId) -> Commit {
    let (waiter, heard) = Heard::waiter();
    block(store.forget(id, waiter));
    heard.end()
}

pub(super) fn barrier(store: &Store) -> Commit {
    let (waiter, heard) = Heard::waiter();
    block(store.barrier(waiter));
    heard.end()
}

/// What opening found, and which sessions can be read then.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub sessions: Vec<(SessionId, Seq)>,
    pub cut: Option<Cut>,
    pub quarantined: Vec<(SessionId, String)>,
    pub damage: Vec<Damage>,
    pub rebuilt: Option<Rebuilt>,
}

pub(super) fn open(files: &MemoryFiles) -> (Store, Opened) {
    open_on(files, boot())
}

pub(super) fn open_on(files: &MemoryFiles, boot: BootId) -> (Store, Opened) {
    open_within(files, boot, small())
}

pub(super) fn open_within(files: &MemoryFiles, boot: BootId, limits: Limits) -> (Store, Opened) {
    found(Store::open(files.setup(boot, limits)).expect("it opens"))
}

pub(super) fn found((store, opened): (Store, super::Opened)) -> (Store, Opened) {
    let super::Opened { rebuilt, cut, quarantined, damage } = opened;
    let sessions = sessions(&store);
    (store, Opened { sessions, cut, quarantined, damage, rebuilt })
}

/// Every readable session and its last event, ascending by id.
pub(super) fn sessions(store: &Store) -> Vec<(SessionId, Seq)> {
    let all = SessionId::from_u128(0)..=SessionId::from_u128(u128::MAX);
    let rows = store.rows(all, Order::Ascending, usize::MAX).expect("rows");
    rows.into_iter().filter(|row| !store.is_quarantined(row.session)).map(|row| (row.session, row.last)).collect()
}

pub(super) fn last(store: &Store, session: SessionId) -> Option<Seq> {
    store.last_seq(session).unwrap_or(None)
}

/// A session's whole content, read in pages, as text.
pub(super) fn all(store: &Store, id: SessionId) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), Seq::ZERO);
    loop {
        let page = store.read_after(id, after, 100, 10_000).expect("a page");
        let Some((last, _)) = page.last() else { return found };
        assert!(page.iter().zip(after.0 + 1..).all(|((seq, _), due)| seq.0 == due), "dense from {after}");
        after = *last;
        found.extend(page.iter().map(|(_, event)| String::from_utf8_lossy(event).into_owned()));
    }
}

pub(super) fn record_len(events: &[&str]) -> u64 {
    let events: Vec<Bytes> = events.iter().map(|event| Bytes::copy_from_slice(event.as_bytes())).collect();
    record::size(&Body::Events { session: session(1), first: Seq(1), events: &events })
}

#[test]
fn what_is_acknowledged_is_read_at_once_and_after_reopening() {
    let files = MemoryFiles::new();
    let (store, opened) = open(&files);
    assert_eq!(opened, Opened { sessions: vec![], cut: None, quarantined: vec![], damage: vec![], rebuilt: None });
    assert_eq!(put(&store, session(2), 1, &["a", "b"]), Commit::Synced);
    assert_eq!(put(&store, session(1), 1, &["x"]), Commit::Synced);
    assert_eq!(put(&store, session(2), 3, &["", "d"]), Commit::Synced);
    assert_eq!(sessions(&store), [(session(1), Seq(1)), (session(2), Seq(4))]);
    assert_eq!((last(&store, session(2)), last(&store, session(3))), (Some(Seq(4)), None));
    assert_eq!(all(&store, session(2)), ["a", "b", "", "d"]);
    block(store.shutdown()).expect("a clean end");

    let (again, opened) = open(&files.after_kill());
    assert_eq!(opened.sessions, [(session(1), Seq(1)), (session(2), Seq(4))]);
    assert_eq!((opened.cut, opened.damage), (None, vec![]));
    assert_eq!(all(&again, session(2)), ["a", "b", "", "d"]);
    assert_eq!(put(&again, session(2), 5, &["e"]), Commit::Synced);
    assert_eq!(all(&again, session(2)), ["a", "b", "", "d", "e"]);
    assert!(matches!(again.read_after(session(3), Seq::ZERO, 1, 1), Err(ReadError::NotFound { .. })));
}

#[test]
fn it_lives_on_a_real_disk_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().expect("a folder");
    let data = temp.path().join("deep");
    let path = data.join("journal");
    let open = || found(Store::open(on_disk(&data)).expect("it opens"));
    let (store, _) = open();
    let long = "long ".repeat(2_000_000);
    assert_eq!(put(&store, session(1), 1, &["first"]), Commit::Synced);
    assert_eq!(put(&store, session(1), 2, &[&long]), Commit::Synced);
    assert_eq!(put(&store, session(1), 3, &["third"]), Commit::Synced);
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&segment::path_of(&path, 1))), (0o700, 0o600));
    block(store.shutdown()).expect("a clean end");

    let (store, opened) = open();
    assert_eq!(opened, Opened { sessions: vec![(session(1), Seq(3))], cut: None, quarantined: vec![], damage: vec![], rebuilt: None });
    let page = store.read_after(session(1), Seq(1), 10, usize::MAX).expect("a page");
    assert_eq!(page.len(), 2);
    assert!(page[0].1 == long.as_bytes());
    block(store.shutdown()).expect("a clean end");
}

#[test]
fn an_unusable_folder_is_named() {
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("taken");
    std::fs::write(&file, "a file").expect("written");
    let failed = Store::open(on_disk(&file)).err().expect("it does not open").to_string();
    assert!(failed.contains("taken/journal") && failed.contains("choose another"), "{failed}");
}

#[test]
fn a_batch_larger_than_a_segment_has_one_of_its_own() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let large = "x".repeat(20_000);
    for first in [1, 4, 7] {
        assert_eq!(put(&store, session(1), first, &["before"]), Commit::Synced);
        assert_eq!(put(&store, session(1), first + 1, &[&large]), Commit::Synced);
        assert_eq!(put(&store, session(1), first + 2, &["behind"]), Commit::Synced);
    }
    let expected: Vec<&str> = ["before", large.as_str(), "behind"].into_iter().cycle().take(9).collect();
    assert_eq!(all(&store, session(1)), expected);
    let (again, opened) = open(&files.after_kill());
    assert_eq!((opened.cut, opened.damage), (None, vec![]));
    assert_eq!(all(&again, session(1)), expected);
}

#[test]
fn a_deleted_session_stays_deleted() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["kept"]);
    put(&store, session(2), 1, &["gone"]);
    assert_eq!(forget(&store, session(2)), Commit::Synced);
    assert!(matches!(store.read_after(session(2), Seq::ZERO, 1, 1), Err(ReadError::NotFound { .. })));
    assert!(matches!(put(&store, session(2), 2, &["late"]), Commit::Failed(reason) if reason.contains("deleted")));
    assert!(matches!(put(&store, session(2), 1, &["late"]), Commit::Failed(reason) if reason.contains("deleted")));
    assert!(matches!(forget(&store, session(2)), Commit::Failed(reason) if reason.contains("already")));
    assert!(matches!(forget(&store, session(3)), Commit::Failed(reason) if reason.contains("no session")));

    let (again, opened) = open(&files.after_kill());
    assert_eq!(opened.sessions, [(session(1), Seq(1))]);
    assert!(matches!(put(&again, session(2), 1, &["late"]), Commit::Failed(reason) if reason.contains("deleted")));
    assert_eq!(all(&again, session(1)), ["kept"]);
}

#[test]
fn after_the_end_everything_is_told_that_it_failed() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let written = send(&store, batch(session(1), 1, &["a"], Level::Written));
    block(store.shutdown()).expect("a clean end");
    assert_eq!(written.all(), [Commit::Written, Commit::Synced], "the end syncs");
    assert!(matches!(put(&store, session(1), 2, &["b"]), Commit::Failed(reason) if reason.contains("stopped")));
    assert!(matches!(barrier(&store), Commit::Failed(_)));
    block(store.shutdown()).expect("nothing left to do");
    assert_eq!(open(&files.after_power_loss(&mut |_| 0)).1.sessions, [(session(1), Seq(1))]);
}

#[test]
fn a_store_dropped_without_a_shutdown_still_keeps_what_was_handed_in() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    let written = send(&store, batch(session(1), 1, &["a"], Level::Written));
    drop(store);
    assert_eq!(written.all(), [Commit::Written, Commit::Synced]);
    assert_eq!(open(&files.after_power_loss(&mut |_| 0)).1.sessions, [(session(1), Seq(1))]);
}
