//! Real sled files, whole and damaged.

use super::*;

fn set(number: u32) -> Change {
    let key = number.to_be_bytes().to_vec();
    Change::Set(key, vec![number as u8; 300])
}

fn all() -> Range {
    Range { from: vec![], to: vec![0xFF; 8] }
}

fn count(shelf: &dyn Shelf) -> Result<u32, ShelfError> {
    let mut found = 0;
    shelf.scan(&all(), Order::Ascending, &mut |_, _| {
        found += 1;
        Scan::More
    })?;
    Ok(found)
}

/// A closed database of `count` values.
fn filled(dir: &Path, count: u32) {
    let shelf = Sled.open(dir).unwrap();
    for first in (0..count).step_by(100) {
        shelf.apply((first..first + 100).map(set).collect()).unwrap();
    }
    shelf.flush().unwrap();
}

#[test]
fn what_is_applied_is_found_in_order_and_after_reopening() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("db");
    assert_eq!(Sled.presence(&dir), Presence::Missing);
    filled(&dir, 300);
    assert_eq!(Sled.presence(&dir), Presence::There);
    let shelf = Sled.open(&dir).unwrap();
    assert_eq!(count(shelf.as_ref()), Ok(300));
    shelf.apply(vec![Change::Remove(7u32.to_be_bytes().to_vec()), set(300)]).unwrap();
    assert_eq!(shelf.get(&7u32.to_be_bytes()), Ok(None));
    let mut newest = Vec::new();
    shelf
        .scan(&all(), Order::Descending, &mut |key, _| {
            newest.push(key.to_vec());
            if newest.len() < 2 { Scan::More } else { Scan::Enough }
        })
        .unwrap();
    assert_eq!(newest, [300u32.to_be_bytes(), 299u32.to_be_bytes()]);
    drop(shelf);
    let aside = temp.path().join("db.damaged-20260101T000000.000Z");
    Sled.rename(&dir, &aside).unwrap();
    assert_eq!(Sled.aside(&dir), std::slice::from_ref(&aside));
    assert!(Sled.size(&aside) > 0);
    Sled.remove(&aside).unwrap();
    Sled.remove(&aside).unwrap();
    assert_eq!(Sled.presence(&aside), Presence::Missing);
}

#[test]
fn a_second_opener_is_refused_and_that_is_no_damage() {
    let temp = tempfile::tempdir().unwrap();
    let _first = Sled.open(temp.path()).unwrap();
    assert!(matches!(Sled.open(temp.path()), Err(ShelfError::Io(why)) if why.contains("lock")));
}

#[test]
fn damage_of_its_file_is_told_as_damage_or_survived() {
    use std::os::unix::fs::FileExt;
    type Damage = fn(&File, u64);
    let damages: [(&str, Damage); 4] = [
        ("zeroed end", |file, len| file.write_all_at(&[0; 64 * 1024], len - 64 * 1024).unwrap()),
        ("cut by 1 MiB", |file, len| file.set_len(len.saturating_sub(1 << 20)).unwrap()),
        ("cut in half", |file, len| file.set_len(len / 2).unwrap()),
        ("flipped bytes", |file, len| {
            for at in 1..=20 {
                let mut byte = [0];
                file.read_exact_at(&mut byte, len * at / 21).unwrap();
                file.write_all_at(&[byte[0] ^ 0xFF], len * at / 21).unwrap();
            }
        }),
    ];
    for (what, damage) in damages {
        let temp = tempfile::tempdir().unwrap();
        filled(temp.path(), 5000);
        let file = File::options().read(true).write(true).open(temp.path().join("db")).unwrap();
        damage(&file, file.metadata().unwrap().len());
        let outcome = Sled.open(temp.path()).and_then(|shelf| count(shelf.as_ref()));
        match outcome {
            Ok(_) | Err(ShelfError::Corrupt(_)) => {}
            Err(other) => panic!("{what}: {other}"),
        }
    }
}
