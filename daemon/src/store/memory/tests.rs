//! The disk in memory loses what a real one may lose, and nothing else.

use super::*;

fn dir() -> &'static Path {
    Path::new("/d")
}

fn path(name: &str) -> PathBuf {
    dir().join(name)
}

#[test]
fn a_kill_loses_nothing_and_lost_power_what_was_not_synced() {
    let files = MemoryFiles::new();
    files.create_dir(dir()).expect("made");
    let file = files.create(&path("a")).expect("made");
    file.write_at(b"synced", 0).expect("written");
    file.sync_data().expect("synced");
    files.sync_dir(dir()).expect("synced");
    file.write_at(b"SYNCED and more", 0).expect("written");
    file.set_len(10).expect("cut");
    assert_eq!(files.after_kill().content(&path("a")), b"SYNCED and");
    assert_eq!(files.after_power_loss(&mut |_| 0).content(&path("a")), b"synced");
    assert_eq!(files.after_power_loss(&mut |_| 1).content(&path("a")), b"SYNCED and");
    assert_eq!(files.content(&path("a")), b"SYNCED and", "a crash is another world");
}

#[test]
fn a_write_may_be_torn_by_sectors() {
    let files = MemoryFiles::new();
    files.create_dir(dir()).expect("made");
    let file = files.create(&path("a")).expect("made");
    files.sync_dir(dir()).expect("synced");
    file.write_at(&[1; 3 * SECTOR], 0).expect("written");
    let mut answers = [2, 0, 1, 0].into_iter();
    let torn = files.after_power_loss(&mut |_| answers.next().unwrap_or(0)).content(&path("a"));
    assert_eq!(torn, [vec![0; SECTOR], vec![1; SECTOR]].concat());
}

#[test]
fn names_are_durable_after_their_folders_sync() {
    let files = MemoryFiles::new();
    files.create_dir(dir()).expect("made");
    files.create(&path("a")).expect("made");
    files.sync_dir(dir()).expect("synced");
    files.rename(&path("a"), &path("b")).expect("renamed");
    files.create(&path("c")).expect("made");
    let names = |files: &MemoryFiles| files.list(dir()).expect("a list");
    assert_eq!(names(&files), ["b", "c"]);
    assert_eq!(names(&files.after_power_loss(&mut |_| 0)), ["a"]);
    files.sync_dir(dir()).expect("synced");
    files.remove(&path("c")).expect("removed");
    assert_eq!(names(&files.after_power_loss(&mut |_| 0)), ["b", "c"]);
    assert_eq!(names(&files.after_power_loss(&mut |bound| bound)), ["b"]);
    assert!(files.open(&path("c")).is_err() && files.list(Path::new("/e")).is_err());
}

#[test]
fn a_failed_sync_forgets_what_it_did_not_write() {
    let files = MemoryFiles::new();
    files.create_dir(dir()).expect("made");
    let file = files.create(&path("a")).expect("made");
    files.sync_dir(dir()).expect("synced");
    file.write_at(b"lost", 0).expect("written");
    files.fail(Operation::SyncFile, ErrorKind::Other);
    assert!(file.sync_data().is_err());
    assert!(file.sync_data().is_ok(), "and says so to nobody");
    assert_eq!(files.content(&path("a")), b"lost");
    assert_eq!(files.after_power_loss(&mut |bound| bound).content(&path("a")), b"");
}

#[test]
fn a_full_disk_takes_a_prefix_and_overwriting_needs_no_room() {
    let files = MemoryFiles::new();
    files.create_dir(dir()).expect("made");
    let file = files.create(&path("a")).expect("made");
    files.limit_space(4);
    assert_eq!(file.write_at(b"123456", 0).map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
    assert_eq!((files.content(&path("a")), files.used()), (b"1234".to_vec(), 4));
    file.write_at(b"4321", 0).expect("overwritten");
    files.free_space();
    file.write_at(b"56", 4).expect("written");
    assert_eq!(files.content(&path("a")), b"432156");
}

#[test]
fn planned_faults_wait_for_their_turn() {
    let files = MemoryFiles::new();
    files.create_dir(dir()).expect("made");
    files.fail(Operation::Write { taken: 2 }, ErrorKind::Other);
    files.fail(Operation::Read, ErrorKind::Other);
    let file = files.create(&path("a")).expect("not its turn");
    assert!(file.write_at(b"abc", 0).is_err());
    let mut buffer = [0; 2];
    assert!(file.read_at(&mut buffer, 0).is_err());
    file.read_at(&mut buffer, 0).expect("read");
    assert_eq!(&buffer, b"ab");
    assert_eq!(file.read_at(&mut buffer, 1).map_err(|error| error.kind()), Err(ErrorKind::UnexpectedEof));
}
