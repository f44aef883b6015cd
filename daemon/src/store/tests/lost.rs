//! A real sled whose folder is damaged in every way that was seen: everything comes back, and it is said.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::*;

const SESSIONS: u128 = 12;
const EVENTS: u64 = 40;

fn event(id: u128, seq: u64) -> String {
    format!("{id}/{seq} {}", "x".repeat(300))
}

/// A store that was used and stopped cleanly.
fn used(data: &Path) {
    let (store, _) = Store::open(on_disk(data)).expect("it opens");
    for seq in 1..=EVENTS {
        for id in 1..=SESSIONS {
            assert_eq!(put(&store, session(id), seq, &[&event(id, seq)]), Commit::Synced);
        }
    }
    forget(&store, session(SESSIONS));
    block(store.shutdown()).expect("a clean end");
}

/// Opens, and everything is there.
fn whole(data: &Path, what: &str) -> (Store, super::super::Opened) {
    let (store, opened) = Store::open(on_disk(data)).unwrap_or_else(|error| panic!("{what}: {error}"));
    let ids: Vec<_> = (1..SESSIONS).map(|id| (session(id), Seq(EVENTS))).collect();
    assert_eq!(sessions(&store), ids, "{what}");
    for id in 1..SESSIONS {
        let expected: Vec<String> = (1..=EVENTS).map(|seq| event(id, seq)).collect();
        assert_eq!(all(&store, session(id)), expected, "{what}");
    }
    assert_eq!(put(&store, session(1), EVENTS + 1, &["goes on"]), Commit::Synced, "{what}");
    (store, opened)
}

#[test]
fn a_lost_or_damaged_database_is_built_anew_and_the_old_one_kept() {
    type Damage = fn(&Path);
    fn file(db: &Path) -> (File, u64) {
        let file = File::options().read(true).write(true).open(db.join("db")).expect("its file");
        let len = file.metadata().expect("its length").len();
        (file, len)
    }
    let damages: [(&str, Damage); 6] = [
        ("zeroed end", |db| {
            let (file, len) = file(db);
            file.write_all_at(&[0; 64 * 1024], len - 64 * 1024).expect("written");
        }),
        ("cut in half", |db| {
            let (file, len) = file(db);
            file.set_len(len / 2).expect("cut");
        }),
        ("emptied", |db| file(db).0.set_len(0).expect("cut")),
        ("all zeros", |db| {
            let (file, len) = file(db);
            file.write_all_at(&vec![0; usize::try_from(len).expect("small")], 0).expect("written");
        }),
        ("flipped bytes", |db| {
            let (file, len) = file(db);
            for at in 1..=20 {
                let mut byte = [0];
                file.read_exact_at(&mut byte, len * at / 21).expect("read");
                file.write_all_at(&[byte[0] ^ 0xFF], len * at / 21).expect("written");
            }
        }),
        ("deleted", |db| std::fs::remove_dir_all(db).expect("removed")),
    ];
    for (what, damage) in damages {
        let temp = tempfile::tempdir().expect("a folder");
        used(temp.path());
        damage(&temp.path().join("db"));
        let (store, opened) = whole(temp.path(), what);
        let status = store.status();
        match opened.rebuilt {
            Some(rebuilt) => {
                assert!(!status.happened.is_empty(), "{what}");
                assert_eq!(rebuilt.aside.is_some(), what != "deleted", "{what}");
                assert_eq!(status.aside, rebuilt.aside.into_iter().collect::<Vec<_>>(), "{what}");
            }
            // Flipped bytes may show when they are read, or hit nothing that is read.
            None => assert!(matches!(what, "flipped bytes" | "zeroed end" | "cut in half"), "{what} went unnoticed"),
        }
        block(store.shutdown()).expect("a clean end");
    }
}

#[test]
fn a_rebuild_at_will_gives_room_back_and_keeps_everything() {
    let temp = tempfile::tempdir().expect("a folder");
    used(temp.path());
    let (store, opened) = whole(temp.path(), "untouched");
    assert_eq!(opened.rebuilt, None);
    store.rebuild().expect("rebuilt");
    assert_eq!(store.status().aside, Vec::<PathBuf>::new(), "nothing was wrong with the old one");
    assert_eq!(all(&store, session(1)).len() as u64, EVENTS + 1);
    assert_eq!(put(&store, session(1), EVENTS + 2, &["and on"]), Commit::Synced);
    block(store.shutdown()).expect("a clean end");
    let store = Store::open(on_disk(temp.path())).expect("it opens").0;
    assert_eq!(all(&store, session(1)).len() as u64, EVENTS + 2);
    block(store.shutdown()).expect("a clean end");
}

#[test]
fn an_older_database_than_the_journal_allows_is_not_believed() {
    let temp = tempfile::tempdir().expect("a folder");
    let data = temp.path();
    used(data);
    let copy = temp.path().join("older");
    copy_folder(&data.join("db"), &copy);
    let store = Store::open(Setup { limits: busy(), ..on_disk(data) }).expect("it opens").0;
    for seq in EVENTS + 1..EVENTS + 30 {
        put(&store, session(2), seq, &[&"y".repeat(1000)]);
    }
    block(store.shutdown()).expect("a clean end");
    std::fs::remove_dir_all(data.join("db")).expect("removed");
    std::fs::rename(&copy, data.join("db")).expect("back");
    let (store, opened) = found(Store::open(on_disk(data)).expect("it opens"));
    assert!(opened.rebuilt.is_some_and(|rebuilt| rebuilt.why.contains("the journal begins with record")));
    assert_eq!(all(&store, session(2)).len() as u64, EVENTS + 29);
    block(store.shutdown()).expect("a clean end");
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("its kind").is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
}
