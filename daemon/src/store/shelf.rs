//! What the store needs of a database: atomic batches, a flush that is durable, ordered reads. Nothing here names one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::keys::Range;

/// Why a database did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// It says or shows that what it holds is damaged; it is of no more use.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The disk or the system would not.
    #[error("the database cannot be used: {0}")]
    Io(String),
    /// It is being replaced by a rebuilt one, or the store has ended.
    #[error("the database is closed or being exchanged; repeat the call")]
    Away,
}

/// One change of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Set(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
}

/// Which end of a range comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

/// Whether a scan goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    More,
    Enough,
}

/// Takes what a scan finds: key and value.
pub type Each<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Scan;

/// An open database. Every call blocks; one thread writes, any number reads.
pub trait Shelf: Send + Sync + 'static {
    /// All of the changes or none, also after a crash; in the order of the calls. Durable after `flush`.
    fn apply(&self, changes: Vec<Change>) -> Result<(), ShelfError>;

    /// Makes everything applied before durable.
    fn flush(&self) -> Result<(), ShelfError>;

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ShelfError>;

    fn scan(&self, range: &Range, order: Order, each: Each<'_>) -> Result<(), ShelfError>;
}

/// Whether there is a database at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    There,
    Missing,
}

/// Opens databases and moves their folders. Every call blocks.
pub trait Shelves: Send + Sync + 'static {
    fn presence(&self, dir: &Path) -> Presence;

    /// Opens the database in `dir`, making an empty one if there is none.
    fn open(&self, dir: &Path) -> Result<Arc<dyn Shelf>, ShelfError>;

    /// Gives a closed database another folder, durably.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a closed database for ever.
    fn remove(&self, dir: &Path) -> io::Result<()>;

    /// Folders beside it to which damaged ones were moved, ascending.
    fn aside(&self, dir: &Path) -> Vec<PathBuf>;

    /// Bytes it takes on the disk.
    fn size(&self, dir: &Path) -> u64;
}

/// Whether a folder's name says that a damaged database of `dir` was moved there.
#[must_use]
pub fn is_aside(dir: &Path, other: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name(other).strip_prefix(&name(dir)).is_some_and(|rest| rest.starts_with(ASIDE))
}

/// What is added to a damaged database's name, before the time.
pub const ASIDE: &str = ".damaged-";

/// The database in use, which can be replaced while others read. The lock is held to hand out a pointer only, never over a
/// read: the state behind it is no more than who has one.
pub struct Slot {
    state: Mutex<Lent>,
    returned: Condvar,
}

struct Lent {
    shelf: Option<Arc<dyn Shelf>>,
    readers: usize,
    closed: Closed,
}

/// Whether another database may still come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    No,
    ForGood,
}

/// How long a reader waits for a database that is being exchanged.
const EXCHANGE: Duration = Duration::from_secs(10);

impl Slot {
    #[must_use]
    pub fn new(shelf: Arc<dyn Shelf>) -> Slot {
        Slot { state: Mutex::new(Lent { shelf: Some(shelf), readers: 0, closed: Closed::No }), returned: Condvar::new() }
    }

    /// Does something with the database, waiting a moment if it is just being exchanged.
    ///
    /// # Errors
    /// Of `with`, or `Away`.
    pub fn with<T, E: From<ShelfError>>(&self, with: impl FnOnce(&dyn Shelf) -> Result<T, E>) -> Result<T, E> {
        let waits = |lent: &mut Lent| lent.shelf.is_none() && lent.closed == Closed::No;
        let (lent, _) = self.returned.wait_timeout_while(self.lock(), EXCHANGE, waits).unwrap_or_else(PoisonError::into_inner);
        let shelf = self.lend(lent)?;
        let _back = Back(self);
        with(shelf.as_ref())
    }

    fn lend(&self, mut lent: MutexGuard<'_, Lent>) -> Result<Arc<dyn Shelf>, ShelfError> {
        let shelf = lent.shelf.clone().ok_or(ShelfError::Away)?;
        lent.readers += 1;
        Ok(shelf)
    }

    /// Takes the database out, once nobody reads it any more, or after `patience`.
    #[must_use]
    pub fn take(&self, patience: Duration) -> Option<Arc<dyn Shelf>> {
        let mut lent = self.lock();
        let shelf = lent.shelf.take();
        let until = Instant::now() + patience;
        while lent.readers > 0 && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            lent = self.returned.wait_timeout(lent, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        shelf
    }

    /// Closes it for good; whoever asks later is told at once.
    pub fn close(&self, patience: Duration) {
        self.lock().closed = Closed::ForGood;
        drop(self.take(patience));
        self.returned.notify_all();
    }

    pub fn put(&self, shelf: Arc<dyn Shelf>) {
        let mut lent = self.lock();
        if lent.closed == Closed::No {
            lent.shelf = Some(shelf);
        }
        drop(lent);
        self.returned.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Lent> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings a lent database back, also when its reader panics.
struct Back<'a>(&'a Slot);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.lock().readers -= 1;
        self.0.returned.notify_all();
    }
}
