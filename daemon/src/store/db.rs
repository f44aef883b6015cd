//! sled as a shelf: the only file that names it. Everything it does wrong stays in here; it never runs on a runtime thread.
//!
//! What it does wrong, each measured: `flush_async` hangs for ever with seven waiters (never called); `flush` is no fsync (its
//! file is synced by us behind it); a zeroed or cut end makes it unopenable, flipped bytes come back as data or as errors
//! in mid-scan (values carry CRCs, damage is told apart, the caller rebuilds); it panics on some damage (every call is
//! caught, opening has a thread of its own and a deadline); `cache_capacity` must be set or it takes a gigabyte; its file
//! never shrinks (rebuilding is how room comes back).

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::keys::Range;
use super::shelf::{Change, Each, Order, Presence, Scan, Shelf, ShelfError, Shelves, is_aside};

/// Bytes of pages sled may keep; it keeps more.
const CACHE: u64 = 4 * 1024 * 1024;
/// How long opening may take; on a damaged file it may never end.
const OPENING: Duration = Duration::from_secs(120);
/// How long closing may take: it writes what is left.
const CLOSING: Duration = Duration::from_secs(20);

/// Databases on the real disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sled;

impl Shelves for Sled {
    fn presence(&self, dir: &Path) -> Presence {
        if dir.join("db").exists() || dir.join("conf").exists() { Presence::There } else { Presence::Missing }
    }

    fn open(&self, dir: &Path) -> Result<Arc<dyn Shelf>, ShelfError> {
        let path = dir.to_owned();
        let opened = guarded("opening", OPENING, move || open(&path))??;
        Ok(Arc::new(opened))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)?;
        match to.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }

    fn remove(&self, dir: &Path) -> io::Result<()> {
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn aside(&self, dir: &Path) -> Vec<PathBuf> {
        let beside = dir.parent().and_then(|parent| std::fs::read_dir(parent).ok()).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = beside.map(|entry| entry.path()).filter(|path| is_aside(dir, path)).collect();
        found.sort_unstable();
        found
    }

    fn size(&self, dir: &Path) -> u64 {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
    }
}

fn open(dir: &Path) -> Result<SledShelf, ShelfError> {
    make_folder(dir).map_err(|error| ShelfError::Io(format!("{}: {error}", dir.display())))?;
    let config = sled::Config::new().path(dir).cache_capacity(CACHE).flush_every_ms(None).print_profile_on_drop(false);
    let db = config.open().map_err(told)?;
    let file = File::open(dir.join("db")).map_err(|error| ShelfError::Io(error.to_string()))?;
    // A new file's name must last, too; what it held before the last crash may never have been synced.
    file.sync_all().and_then(|()| File::open(dir)?.sync_all()).map_err(|error| ShelfError::Io(error.to_string()))?;
    Ok(SledShelf { db: Some(db), file, dir: dir.to_owned() })
}

fn make_folder(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// An open sled with one tree.
struct SledShelf {
    /// Taken when it is closed.
    db: Option<sled::Db>,
    /// The same file, to sync it: any descriptor does.
    file: File,
    dir: PathBuf,
}

impl SledShelf {
    fn run<T>(&self, run: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T, ShelfError> {
        let Some(db) = &self.db else { return Err(ShelfError::Away) };
        match catch_unwind(AssertUnwindSafe(|| run(db))) {
            Ok(done) => done.map_err(told),
            Err(panic) => Err(ShelfError::Corrupt(format!("sled panicked: {}", words(panic.as_ref())))),
        }
    }
}

impl Shelf for SledShelf {
    fn apply(&self, changes: Vec<Change>) -> Result<(), ShelfError> {
        self.run(|db| {
            let mut batch = sled::Batch::default();
            for change in changes {
                match change {
                    Change::Set(key, value) => batch.insert(key, value),
                    Change::Remove(key) => batch.remove(key),
                }
            }
            db.apply_batch(batch)
        })
    }

    fn flush(&self) -> Result<(), ShelfError> {
        self.run(|db| db.flush())?;
        self.file.sync_data().map_err(|error| ShelfError::Io(format!("syncing {}: {error}", self.dir.display())))
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ShelfError> {
        self.run(|db| Ok(db.get(key)?.map(|value| value.to_vec())))
    }

    fn scan(&self, range: &Range, order: Order, each: Each<'_>) -> Result<(), ShelfError> {
        self.run(|db| {
            let mut found = db.range(range.from.as_slice()..range.to.as_slice());
            loop {
                let next = match order {
                    Order::Ascending => found.next(),
                    Order::Descending => found.next_back(),
                };
                let Some(next) = next else { return Ok(()) };
                let (key, value) = next?;
                if each(&key, &value) == Scan::Enough {
                    return Ok(());
                }
            }
        })
    }
}

impl Drop for SledShelf {
    fn drop(&mut self) {
        if let Some(db) = self.db.take()
            && let Err(error) = guarded("closing", CLOSING, move || drop(db))
        {
            tracing::warn!(%error, folder = %self.dir.display(), "the database did not close well");
        }
    }
}

/// Runs something of sled's that may panic or never end, on a thread of its own.
fn guarded<T: Send + 'static>(what: &'static str, bound: Duration, run: impl FnOnce() -> T + Send + 'static) -> Result<T, ShelfError> {
    let (done, outcome) = mpsc::channel();
    let thread = std::thread::Builder::new().name(format!("sled {what}")).spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(run)).map_err(|panic| words(panic.as_ref()));
        // Nobody may wait any more.
        let _ = done.send(outcome);
    });
    thread.map_err(|error| ShelfError::Io(format!("no thread for {what} it: {error}")))?;
    match outcome.recv_timeout(bound) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(panic)) => Err(ShelfError::Corrupt(format!("sled panicked while {what}: {panic}"))),
        Err(_) => Err(ShelfError::Corrupt(format!("{what} it did not end within {} s", bound.as_secs()))),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a word".to_owned())
}

/// Damage and trouble told apart: damage calls for a rebuild, trouble for room or rights.
fn told(error: sled::Error) -> ShelfError {
    match error {
        sled::Error::Corruption { at, .. } => ShelfError::Corrupt(match at {
            Some(at) => format!("a checksum is wrong at {at:?}"),
            None => "a checksum is wrong".to_owned(),
        }),
        sled::Error::ReportableBug(text) | sled::Error::Unsupported(text) => ShelfError::Corrupt(text),
        sled::Error::CollectionNotFound(name) => ShelfError::Corrupt(format!("its tree {name:?} is gone")),
        sled::Error::Io(error) => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::NotFound => {
                ShelfError::Corrupt(error.to_string())
            }
            _ => ShelfError::Io(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests;
