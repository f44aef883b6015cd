//! Files in memory that can tear, lose and refuse writes as a disk does. They never touch a real disk.
//!
//! For tests and the simulation: what was not synced is lost in part when the power goes, a failed sync forgets what it
//! did not write, a full disk takes a prefix.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use agentd_types::Timestamp;

use super::file::{File, FileSystem};
use super::{BootId, Limits, Places, Setup};
use crate::clock::Clock;

mod plain;
mod shelf;

pub use plain::Plain;

/// What the power's going leaves of a write is decided in pieces of this many bytes.
const SECTOR: usize = 512;

/// An operation that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A write; `taken` of its bytes arrive nevertheless.
    Write {
        taken: usize,
    },
    SyncFile,
    SyncDir,
    Create,
    Rename,
    Read,
    /// A batch of the database.
    Apply,
    /// The database's flush.
    Flush,
    /// A read of the database. With `InvalidData` a database's operation finds damage.
    Look,
}

/// A file system in memory. A clone is the same file system.
#[derive(Clone, Default)]
pub struct MemoryFiles {
    world: Arc<World>,
}

#[derive(Default)]
struct World {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Default)]
struct State {
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
    /// Since the last sync of their folder, in order.
    renamings: Vec<Naming>,
    folders: BTreeSet<PathBuf>,
    nodes: Vec<Node>,
    space: Space,
    faults: VecDeque<(Operation, ErrorKind)>,
    syncs: u64,
    held: Held,
    /// Whether batches of databases go through.
    batches: Held,
    databases: BTreeMap<PathBuf, shelf::Database>,
    steps: Steps,
}

/// The world as it was before each of its changes, once somebody wants to know.
#[derive(Clone, Default)]
enum Steps {
    #[default]
    Off,
    Kept(Vec<State>),
}

#[derive(Clone, Copy, Default)]
enum Space {
    #[default]
    Endless,
    Bytes(usize),
}

/// Whether syncs go through.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Held {
    #[default]
    Free,
    Hold,
    /// And one is waiting.
    Waiting,
}

#[derive(Clone)]
enum Naming {
    Set(PathBuf, usize),
    Gone(PathBuf),
}

impl Naming {
    fn is_in(&self, dir: &Path) -> bool {
        match self {
            Naming::Set(path, _) | Naming::Gone(path) => path.parent() == Some(dir),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Naming::Set(path, node) => names.insert(path.clone(), *node),
            Naming::Gone(path) => names.remove(path),
        };
    }
}

#[derive(Clone, Default)]
struct Node {
    /// What a reader sees.
    live: Vec<u8>,
    /// What is on the disk for sure.
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Resize(usize),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Change::Write(offset, bytes) => {
                if to.len() < offset + bytes.len() {
                    to.resize(offset + bytes.len(), 0);
                }
                to[*offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            Change::Resize(len) => to.resize(*len, 0),
        }
    }
}

/// A clock that stands.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000)
    }
}

impl MemoryFiles {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a store of plain events in this world is opened with; its data folder is `/`.
    #[must_use]
    pub fn setup(&self, boot: BootId, limits: Limits) -> Setup {
        let (files, shelves) = (Arc::new(self.clone()), Arc::new(self.clone()));
        Setup { places: Places::within(Path::new("/")), files, shelves, projector: Arc::new(Plain), clock: Arc::new(Still), boot, limits }
    }

    /// All files together may hold `bytes` bytes; what does not fit fails with `StorageFull`.
    pub fn limit_space(&self, bytes: usize) {
        self.state().space = Space::Bytes(bytes);
    }

    /// The disk has room again.
    pub fn free_space(&self) {
        self.state().space = Space::Endless;
    }

    /// Bytes all files hold together.
    #[must_use]
    pub fn used(&self) -> usize {
        self.state().used()
    }

    /// The next such operation fails with `kind`; several wait for their turns in order.
    pub fn fail(&self, operation: Operation, kind: ErrorKind) {
        self.state().faults.push_back((operation, kind));
    }

    /// File syncs wait from now on, until released.
    pub fn hold_syncs(&self) {
        self.state().held = Held::Hold;
    }

    /// Waits until a file sync is being held.
    pub fn wait_for_held_sync(&self) {
        let mut state = self.state();
        while state.held != Held::Waiting {
            state = self.world.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Held syncs go on.
    pub fn release_syncs(&self) {
        self.state().held = Held::Free;
        self.world.changed.notify_all();
    }

    /// File syncs that succeeded so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// What the next process finds after this one was killed: all that was written to files, and what the databases had
    /// flushed.
    #[must_use]
    pub fn after_kill(&self) -> MemoryFiles {
        self.after_kill_keeping(&mut |_| 0)
    }

    /// The same; `pick(n)` says how many of a database's n unflushed batches are there nevertheless.
    #[must_use]
    pub fn after_kill_keeping(&self, pick: &mut dyn FnMut(u64) -> u64) -> MemoryFiles {
        let state = self.state().whole();
        Self::killed(state, pick)
    }

    fn killed(mut state: State, pick: &mut dyn FnMut(u64) -> u64) -> MemoryFiles {
        state.faults.clear();
        (state.held, state.batches) = (Held::Free, Held::Free);
        state.crash_databases(pick);
        Self::with(state)
    }

    /// From now on the world is remembered before each of its changes.
    pub fn remember_steps(&self) {
        self.state().steps = Steps::Kept(Vec::new());
    }

    /// Ends the remembering: what the next process would find, had this one been killed before each of the changes.
    #[must_use]
    pub fn remembered_kills(&self) -> Vec<MemoryFiles> {
        match std::mem::take(&mut self.state().steps) {
            Steps::Off => Vec::new(),
            Steps::Kept(states) => states.into_iter().map(|state| Self::killed(state, &mut |_| 0)).collect(),
        }
    }

    /// What is found after the power went: all that was synced, and of the rest what `pick` leaves. `pick(n)` answers a
    /// number in `0..=n`; always 0 loses everything that was not synced.
    #[must_use]
    pub fn after_power_loss(&self, pick: &mut dyn FnMut(u64) -> u64) -> MemoryFiles {
        let mut state = self.state().whole();
        state.faults.clear();
        (state.held, state.batches) = (Held::Free, Held::Free);
        for node in &mut state.nodes {
            for change in std::mem::take(&mut node.unsynced) {
                survive(&change, &mut node.durable, pick);
            }
            node.live.clone_from(&node.durable);
        }
        // A file system keeps the order of changes to names.
        let kept = usize::try_from(pick(state.renamings.len() as u64)).unwrap_or(usize::MAX);
        for naming in state.renamings.drain(..).take(kept) {
            naming.apply(&mut state.synced_names);
        }
        state.names = state.synced_names.clone();
        state.crash_databases(pick);
        Self::with(state)
    }

    /// A file's content as a reader sees it; nothing if there is no such file.
    #[must_use]
    pub fn content(&self, path: &Path) -> Vec<u8> {
        let state = self.state();
        state.names.get(path).map(|node| state.nodes[*node].live.clone()).unwrap_or_default()
    }

    /// Replaces a file's content on the disk itself, as a fault of the medium would.
    pub fn damage(&self, path: &Path, content: Vec<u8>) {
        let mut state = self.state();
        if let Some(node) = state.names.get(path).copied() {
            state.nodes[node] = Node { live: content.clone(), durable: content, unsynced: Vec::new() };
        }
    }

    fn with(state: State) -> MemoryFiles {
        MemoryFiles { world: Arc::new(World { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.world.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies to `disk` what `pick` lets through of a change that was never synced.
fn survive(change: &Change, disk: &mut Vec<u8>, pick: &mut dyn FnMut(u64) -> u64) {
    match (pick(2), change) {
        (0, _) => {}
        (1, _) | (_, Change::Resize(_)) => change.apply(disk),
        (_, Change::Write(offset, bytes)) => {
            for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                if pick(1) == 1 {
                    Change::Write(offset + index * SECTOR, sector.to_vec()).apply(disk);
                }
            }
        }
    }
}

impl State {
    /// A copy, but for what was remembered.
    fn whole(&self) -> State {
        let steps = Steps::Off;
        State {
            names: self.names.clone(),
            synced_names: self.synced_names.clone(),
            renamings: self.renamings.clone(),
            folders: self.folders.clone(),
            nodes: self.nodes.clone(),
            space: self.space,
            faults: self.faults.clone(),
            syncs: self.syncs,
            held: self.held,
            batches: self.batches,
            databases: self.databases.clone(),
            steps,
        }
    }

    /// About to change.
    fn step(&mut self) {
        if matches!(self.steps, Steps::Kept(_)) {
            let now = self.whole();
            if let Steps::Kept(states) = &mut self.steps {
                states.push(now);
            }
        }
    }

    fn crash_databases(&mut self, pick: &mut dyn FnMut(u64) -> u64) {
        for database in self.databases.values_mut() {
            let kept = pick(database.unflushed() as u64);
            database.crash(usize::try_from(kept).unwrap_or(usize::MAX));
        }
    }

    fn used(&self) -> usize {
        self.names.values().map(|node| self.nodes[*node].live.len()).sum()
    }

    /// The planned fault, if it is this operation's turn.
    fn fault(&mut self, wanted: impl Fn(Operation) -> bool) -> Result<(), (Operation, io::Error)> {
        match self.faults.front().copied() {
            Some((operation, kind)) if wanted(operation) => {
                self.faults.pop_front();
                Err((operation, io::Error::from(kind)))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn name(&mut self, naming: Naming) {
        self.step();
        naming.apply(&mut self.names);
        self.renamings.push(naming);
    }

    fn node(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl FileSystem for MemoryFiles {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.state().folders.insert(path.to_owned());
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        if !state.folders.contains(dir) {
            return Err(ErrorKind::NotFound.into());
        }
        let here = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(here.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut state = self.state();
        state.fault(|operation| operation == Operation::Create).map_err(|(_, error)| error)?;
        let node = state.nodes.len();
        state.nodes.push(Node::default());
        state.name(Naming::Set(path.to_owned(), node));
        Ok(Arc::new(MemoryFile { world: Arc::clone(&self.world), node }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let node = self.state().node(path)?;
        Ok(Arc::new(MemoryFile { world: Arc::clone(&self.world), node }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.fault(|operation| operation == Operation::Rename).map_err(|(_, error)| error)?;
        let node = state.node(from)?;
        state.name(Naming::Gone(from.to_owned()));
        state.name(Naming::Set(to.to_owned(), node));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.node(path)?;
        state.name(Naming::Gone(path.to_owned()));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step();
        if state.names.keys().any(|name| name.parent() == Some(path)) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        if state.folders.remove(path) { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step();
        state.fault(|operation| operation == Operation::SyncDir).map_err(|(_, error)| error)?;
        let (here, elsewhere) = std::mem::take(&mut state.renamings).into_iter().partition::<Vec<_>, _>(|naming| naming.is_in(dir));
        for naming in here {
            naming.apply(&mut state.synced_names);
        }
        state.renamings = elsewhere;
        Ok(())
    }
}

struct MemoryFile {
    world: Arc<World>,
    node: usize,
}

impl MemoryFile {
    fn state(&self) -> MutexGuard<'_, State> {
        self.world.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File for MemoryFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.state().nodes[self.node].live.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        state.fault(|operation| operation == Operation::Read).map_err(|(_, error)| error)?;
        let live = &state.nodes[self.node].live;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = live.get(from..from.saturating_add(buffer.len())).ok_or(ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        let offset = usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge)?;
        let planned = state.fault(|operation| matches!(operation, Operation::Write { .. }));
        let (mut taken, mut outcome) = (bytes.len(), Ok(()));
        if let Err((Operation::Write { taken: some }, error)) = planned {
            (taken, outcome) = (some.min(bytes.len()), Err(error));
        }
        if let Space::Bytes(space) = state.space {
            let free = space.saturating_sub(state.used());
            let fits = (state.nodes[self.node].live.len() + free).saturating_sub(offset);
            if taken > fits {
                (taken, outcome) = (fits, Err(ErrorKind::StorageFull.into()));
            }
        }
        state.step();
        if taken > 0 {
            let change = Change::Write(offset, bytes[..taken].to_vec());
            let node = &mut state.nodes[self.node];
            change.apply(&mut node.live);
            node.unsynced.push(change);
        }
        outcome
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        let change = Change::Resize(usize::try_from(len).map_err(|_| ErrorKind::FileTooLarge)?);
        state.step();
        let node = &mut state.nodes[self.node];
        change.apply(&mut node.live);
        node.unsynced.push(change);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        while state.held != Held::Free {
            state.held = Held::Waiting;
            self.world.changed.notify_all();
            state = self.world.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.step();
        let planned = state.fault(|operation| operation == Operation::SyncFile);
        let node = &mut state.nodes[self.node];
        let unsynced = std::mem::take(&mut node.unsynced);
        // A failed sync leaves the pages clean and the disk without them: a second one would succeed and mean nothing.
        planned.map_err(|(_, error)| error)?;
        for change in unsynced {
            change.apply(&mut node.durable);
        }
        state.syncs += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
