//! What was acknowledged, kept: the journal and what is read from it. It never knows what an event means.
//!
//! One thread writes and syncs (`committer`), into segments of CRC'd records (`journal`, `segment`, `record`); what is
//! synced can be read (`tail`); opening replays it all (`open`, `scan`). Everything goes through a small file trait (`file`),
//! so that tests and the simulation can put a bad disk below it (`memory`).

pub mod commit;
mod committer;
mod tail;

mod journal;
mod segment;

mod record;

mod open;
mod scan;

pub mod file;
pub mod limits;
pub mod memory;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};

pub use commit::{Batch, Commit, Level, Stepped, Waiter};
pub use file::{Disk, FileSystem};
pub use limits::Limits;
pub use memory::MemoryFiles;
pub use open::{Cut, Damage, OpenError, Opened};
pub use segment::BootId;
pub use tail::ReadError;

use commit::{Request, Told};
use committer::Committer;
use tail::Tail;

/// The store's handle: a cheap clone. Appending is async and bounded; reading blocks on the disk and belongs on a blocking
/// thread.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    queue: mpsc::Sender<Request>,
    /// Room of the queue, in `limits::QUEUE_UNIT`s. Closed when the store stops.
    room: Arc<Semaphore>,
    queue_units: u32,
    tail: Arc<Tail>,
    trouble: Arc<OnceLock<String>>,
    /// Taken by the one that shuts down; another one waits for it. Nothing else is ever locked meanwhile.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the commit thread does, a turn at a time.
pub struct Stepper {
    committer: Committer,
    queue: mpsc::Receiver<Request>,
}

impl Stepper {
    /// Commits what is queued, or does what is due when nothing is. Blocks on the disk.
    pub fn step(&mut self) -> Stepped {
        self.committer.step(&self.queue)
    }
}

/// The commit thread did not end cleanly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShutdownError {
    #[error("the store did not end cleanly: {0}")]
    Unclean(String),
    #[error("the commit thread panicked; what was acknowledged is on the disk, the log says what happened")]
    Panicked,
}

impl Store {
    /// Opens the journal in `dir`, making the folder (0700) if it is missing, and replays it. Blocks. The caller holds the
    /// lock that keeps a second process out.
    ///
    /// # Errors
    /// The folder cannot be used, a newer agentd wrote it, or what is there cannot be made durable. A torn tail and damaged
    /// records are no errors: `Opened` names them.
    pub fn open(dir: &Path, files: Arc<dyn FileSystem>, boot: BootId) -> Result<(Store, Opened), OpenError> {
        Store::open_with(dir, files, boot, Limits::default())
    }

    /// `open` with bounds of the caller's.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(dir: &Path, files: Arc<dyn FileSystem>, boot: BootId, limits: Limits) -> Result<(Store, Opened), OpenError> {
        let (store, opened, stepper) = Store::open_stepped(dir, files, boot, limits)?;
        let Stepper { committer, queue } = stepper;
        let thread = std::thread::Builder::new().name("commit".to_owned()).spawn(move || committer.run(queue));
        let thread = thread.map_err(|source| OpenError::Thread { source })?;
        // Nobody else has the handle yet.
        if let Ok(mut slot) = store.shared.thread.try_lock() {
            *slot = Some(thread);
        }
        Ok((store, opened))
    }

    /// A store without its thread: nothing is written but by the stepper. For the simulation, which decides when.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_stepped(
        dir: &Path,
        files: Arc<dyn FileSystem>,
        boot: BootId,
        limits: Limits,
    ) -> Result<(Store, Opened, Stepper), OpenError> {
        let replayed = open::replay(files.as_ref(), dir, boot, &limits)?;
        let last: HashMap<SessionId, Seq> = replayed.opened.sessions.iter().copied().collect();
        let quarantined = replayed.opened.quarantined.iter().cloned().collect();
        let tail = Arc::new(Tail::new(Arc::clone(&files), dir.to_owned(), limits.cache, replayed.sessions, quarantined));
        let trouble = Arc::new(OnceLock::new());
        let journal = journal::Journal::new(files, dir.to_owned(), boot, limits, replayed.position);
        let committer = Committer::new(journal, Arc::clone(&tail), limits, last, replayed.refused, Arc::clone(&trouble));
        // Bounded by `room`, whose permits travel with the requests.
        let (sender, queue) = mpsc::channel();
        let room = Arc::new(Semaphore::new(limits.queue_units as usize));
        let shared = Shared { queue: sender, room, queue_units: limits.queue_units, tail, trouble, thread: Mutex::new(None) };
        Ok((Store { shared: Arc::new(shared) }, replayed.opened, Stepper { committer, queue }))
    }

    /// Hands a batch to the commit thread, waiting while its queue is full. Everything else is told to `waiter`, whose last
    /// word is `Synced` or `Failed`. Batches of one caller that awaits each call are written in that order. Dropped in
    /// mid-await, nothing was handed in and `waiter` is told `Failed`.
    ///
    /// A batch must go on where its session ends. After a failed one all later ones of that session fail too, until one
    /// comes with the number after the last that was kept.
    pub async fn append(&self, batch: Batch, waiter: Waiter) {
        let told = Told::new(waiter);
        let bytes = batch.events.iter().map(Bytes::len).sum::<usize>();
        if let Some(room) = self.room(1 + bytes / limits::QUEUE_UNIT).await {
            self.request(Request::Append { batch, told, room });
        }
    }

    /// Drops a session and everything in it, for ever: nothing of it is read, replayed or accepted again. Belongs behind
    /// its last event. `waiter` is told `Synced` or `Failed`.
    pub async fn forget(&self, session: SessionId, waiter: Waiter) {
        let told = Told::new(waiter);
        if let Some(room) = self.room(1).await {
            self.request(Request::Forget { session, told, room });
        }
    }

    /// A round through the commit thread: `waiter` is told `Synced` when all that was appended before is.
    pub async fn barrier(&self, waiter: Waiter) {
        let told = Told::new(waiter);
        if let Some(room) = self.room(1).await {
            self.request(Request::Barrier { told, room });
        }
    }

    /// The committed events after `after`, ascending: at most `max_events` and `max_bytes` of them, but one at least if
    /// there is one and any is asked for. A page may be shorter than asked; only an empty one means the end. Blocks on the
    /// disk unless the events are recent. Events of a page share memory.
    ///
    /// # Errors
    /// No such session, a quarantined one, or the disk.
    pub fn read_after(&self, session: SessionId, after: Seq, max_events: usize, max_bytes: usize) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        self.shared.tail.read_after(session, after, max_events, max_bytes)
    }

    /// The committed events before `before` (absent: the newest), ascending. Otherwise as `read_after`.
    ///
    /// # Errors
    /// As `read_after`.
    pub fn read_before(
        &self,
        session: SessionId,
        before: Option<Seq>,
        max_events: usize,
        max_bytes: usize,
    ) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        self.shared.tail.read_before(session, before, max_events, max_bytes)
    }

    /// The last committed event of a session; nothing if there is no such session.
    #[must_use]
    pub fn last_seq(&self, session: SessionId) -> Option<Seq> {
        self.shared.tail.last_seq(session)
    }

    /// Every readable session and its last committed event, ascending by id.
    #[must_use]
    pub fn sessions(&self) -> Vec<(SessionId, Seq)> {
        self.shared.tail.sessions()
    }

    /// Why nothing is acknowledged any more, if that is so. It does not end before the store is opened again.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.shared.trouble.get().map(String::as_str)
    }

    /// Writes and syncs all that was handed in, then ends the commit thread; later appends fail. Reads go on. A second call
    /// waits for the first.
    ///
    /// # Errors
    /// Something handed in could not be kept; its waiter knows.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        let mut thread = self.shared.thread.lock().await;
        let Some(handle) = thread.as_ref() else { return Ok(()) };
        self.shared.room.close();
        if !handle.is_finished() {
            let (done, outcome) = oneshot::channel();
            self.request(Request::Stop { done });
            // Without an answer the thread has panicked, which joining it says.
            if let Ok(Err(reason)) = outcome.await {
                *thread = None;
                return Err(ShutdownError::Unclean(reason));
            }
        }
        // It has said its last word: joining takes no time.
        match thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(ShutdownError::Panicked),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// `None` when the store has stopped.
    async fn room(&self, units: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(units).unwrap_or(u32::MAX).min(self.shared.queue_units);
        Arc::clone(&self.shared.room).acquire_many_owned(units).await.ok()
    }

    /// A request that nobody takes any more tells its waiter by being dropped.
    fn request(&self, request: Request) {
        let _ = self.shared.queue.send(request);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.thread.get_mut().is_some() {
            tracing::warn!("the store was dropped without a shutdown; its thread syncs what was handed in, then ends by itself");
        }
    }
}

#[cfg(test)]
mod tests;
