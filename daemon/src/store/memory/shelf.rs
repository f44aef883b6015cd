//! A database in memory, in the same world as the files: one snapshot takes both as a crash would. It never touches a disk.
//!
//! What was applied and not flushed is lost by a crash from some batch on: a log-structured database writes in order.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};

use super::{Held, MemoryFiles, Operation, State, World};
use crate::store::keys::Range;
use crate::store::shelf::{Change, Each, Order, Presence, Scan, Shelf, ShelfError, Shelves, is_aside};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// One database.
#[derive(Clone, Default)]
pub(super) struct Database {
    live: Entries,
    flushed: Entries,
    unflushed: Vec<Vec<Change>>,
    health: Health,
}

/// Whether it opens.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Health {
    #[default]
    Well,
    Damaged,
}

impl Database {
    /// What the next process finds, `kept` of the unflushed batches included.
    pub(super) fn crash(&mut self, kept: usize) {
        for batch in self.unflushed.drain(..).take(kept) {
            apply(&mut self.flushed, batch);
        }
        self.live.clone_from(&self.flushed);
    }

    pub(super) fn unflushed(&self) -> usize {
        self.unflushed.len()
    }
}

fn apply(entries: &mut Entries, batch: Vec<Change>) {
    for change in batch {
        match change {
            Change::Set(key, value) => entries.insert(key, value),
            Change::Remove(key) => entries.remove(&key),
        };
    }
}

impl MemoryFiles {
    /// The database in `dir` does not open any more.
    pub fn damage_database(&self, dir: &Path) {
        if let Some(database) = self.state().databases.get_mut(dir) {
            database.health = Health::Damaged;
        }
    }

    /// The database in `dir` is gone.
    pub fn lose_database(&self, dir: &Path) {
        self.state().databases.remove(dir);
    }

    /// Changes a byte of the value under `key`, as a database that returns wrong bytes would.
    pub fn damage_value(&self, dir: &Path, key: &[u8]) {
        let mut state = self.state();
        let Some(database) = state.databases.get_mut(dir) else { return };
        for entries in [&mut database.live, &mut database.flushed] {
            if let Some(last) = entries.get_mut(key).and_then(|value| value.last_mut()) {
                *last ^= 0xFF;
            }
        }
    }

    /// Batches wait from now on, until released.
    pub fn hold_batches(&self) {
        self.state().batches = Held::Hold;
    }

    /// Waits until a batch is being held.
    pub fn wait_for_held_batch(&self) {
        let mut state = self.state();
        while state.batches != Held::Waiting {
            state = self.world.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Held batches go on.
    pub fn release_batches(&self) {
        self.state().batches = Held::Free;
        self.world.changed.notify_all();
    }

    /// The keys a reader of the database in `dir` finds.
    #[must_use]
    pub fn database_keys(&self, dir: &Path) -> Vec<Vec<u8>> {
        self.state().databases.get(dir).map(|database| database.live.keys().cloned().collect()).unwrap_or_default()
    }

    /// The folders of all databases.
    #[must_use]
    pub fn databases(&self) -> Vec<PathBuf> {
        self.state().databases.keys().cloned().collect()
    }
}

impl Shelves for MemoryFiles {
    fn presence(&self, dir: &Path) -> Presence {
        if self.state().databases.contains_key(dir) { Presence::There } else { Presence::Missing }
    }

    fn open(&self, dir: &Path) -> Result<Arc<dyn Shelf>, ShelfError> {
        let mut state = self.state();
        state.step();
        if state.databases.entry(dir.to_owned()).or_default().health == Health::Damaged {
            return Err(ShelfError::Corrupt("it was damaged".to_owned()));
        }
        Ok(Arc::new(MemoryShelf { world: Arc::clone(&self.world), dir: dir.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step();
        let database = state.databases.remove(from).ok_or(ErrorKind::NotFound)?;
        state.databases.insert(to.to_owned(), database);
        Ok(())
    }

    fn remove(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step();
        state.databases.remove(dir);
        Ok(())
    }

    fn aside(&self, dir: &Path) -> Vec<PathBuf> {
        self.databases().into_iter().filter(|path| is_aside(dir, path)).collect()
    }

    fn size(&self, dir: &Path) -> u64 {
        let weigh = |entries: &Entries| entries.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        self.state().databases.get(dir).map_or(0, |database| weigh(&database.live) as u64)
    }
}

struct MemoryShelf {
    world: Arc<World>,
    dir: PathBuf,
}

impl MemoryShelf {
    fn state(&self) -> MutexGuard<'_, State> {
        self.world.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reach<'a>(&self, state: &'a mut State, operation: Operation) -> Result<&'a mut Database, ShelfError> {
        if let Err((_, error)) = state.fault(|wanted| wanted == operation) {
            return Err(match error.kind() {
                ErrorKind::InvalidData => ShelfError::Corrupt("a checksum is wrong".to_owned()),
                _ => ShelfError::Io(error.to_string()),
            });
        }
        state.databases.get_mut(&self.dir).ok_or_else(|| ShelfError::Corrupt("its folder is gone".to_owned()))
    }
}

impl Shelf for MemoryShelf {
    fn apply(&self, changes: Vec<Change>) -> Result<(), ShelfError> {
        let mut state = self.state();
        while state.batches != Held::Free {
            state.batches = Held::Waiting;
            self.world.changed.notify_all();
            state = self.world.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.step();
        let database = self.reach(&mut state, Operation::Apply)?;
        apply(&mut database.live, changes.clone());
        database.unflushed.push(changes);
        Ok(())
    }

    fn flush(&self) -> Result<(), ShelfError> {
        let mut state = self.state();
        state.step();
        let database = self.reach(&mut state, Operation::Flush)?;
        database.flushed.clone_from(&database.live);
        database.unflushed.clear();
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ShelfError> {
        let mut state = self.state();
        Ok(self.reach(&mut state, Operation::Look)?.live.get(key).cloned())
    }

    fn scan(&self, range: &Range, order: Order, each: Each<'_>) -> Result<(), ShelfError> {
        let found: Vec<(Vec<u8>, Vec<u8>)> = {
            let mut state = self.state();
            let live = &self.reach(&mut state, Operation::Look)?.live;
            live.range(range.from.clone()..range.to.clone()).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let mut ascending = found.iter();
        let mut descending = found.iter().rev();
        let next: &mut dyn Iterator<Item = &(Vec<u8>, Vec<u8>)> = match order {
            Order::Ascending => &mut ascending,
            Order::Descending => &mut descending,
        };
        for (key, value) in next {
            if each(key, value) == Scan::Enough {
                break;
            }
        }
        Ok(())
    }
}
