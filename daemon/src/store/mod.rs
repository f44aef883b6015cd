//! What was acknowledged, kept: the journal, the database behind it, cold copies. It never knows what an event means.
//!
//! One thread writes and syncs (`committer`), into segments of CRC'd records (`journal`, `segment`, `record`); what is synced
//! can be read at once (`tail`). A second one moves it into the database (`apply`, `group`, `keys`), a third makes that
//! durable, writes cold copies and frees segments (`checkpoint`, `cold`). Opening replays what is left of the journal
//! (`open`, `scan`) over the database, which is built anew when it is lost (`opening`, `rebuild`). Files and database lie
//! behind small traits (`file`, `shelf`), so that tests and the simulation can put bad ones below (`memory`).

pub mod commit;
mod committer;
mod reader;
mod tail;

mod journal;
mod segment;

mod record;

mod apply;
mod blobs;
mod checkpoint;
mod cold;
mod group;
mod index;
mod keys;

mod open;
mod opening;
mod rebuild;
mod scan;

mod db;
pub mod file;
pub mod limits;
pub mod memory;
mod places;
pub mod shelf;
pub mod status;

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex as StdMutex, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};

pub use commit::{Batch, Commit, Level, Stepped, Waiter};
pub use db::Sled;
pub use file::{Disk, FileSystem};
pub use index::{Folded, Projector, Row, Standing};
pub use keys::Label;
pub use limits::Limits;
pub use memory::MemoryFiles;
pub use open::{Cut, Damage, OpenError, Opened, Rebuilt};
pub use places::Places;
pub use reader::ReadError;
pub use segment::BootId;
pub use shelf::{Order, Shelves};
pub use status::{Happened, Status, Weight};

use crate::clock::Clock;
use apply::Behind;
use checkpoint::CheckpointError;
use commit::{Request, Told};
use committer::{Committer, Deleted};
use reader::{Most, Reader};
use tail::{Rebuild, Start, Tail};

/// What a store is opened with.
#[derive(Clone)]
pub struct Setup {
    pub places: Places,
    pub files: Arc<dyn FileSystem>,
    pub shelves: Arc<dyn Shelves>,
    pub projector: Arc<dyn Projector>,
    pub clock: Arc<dyn Clock>,
    pub boot: BootId,
    pub limits: Limits,
}

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
    behind: Arc<Behind>,
    reader: Reader,
    trouble: Arc<OnceLock<String>>,
    /// Taken by the one that shuts down; another one waits for it. Nothing else is ever locked meanwhile.
    threads: Mutex<Option<Threads>>,
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

struct Threads {
    commit: JoinHandle<()>,
    apply: JoinHandle<()>,
    checkpoint: JoinHandle<()>,
}

/// The store did not end cleanly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShutdownError {
    #[error("the store did not end cleanly: {0}")]
    Unclean(String),
    #[error("a thread of the store panicked; what was acknowledged is on the disk, the log says what happened")]
    Panicked,
}

impl Store {
    /// Opens what is below the data folder: `prepare` and then `Prepared::open`. Blocks.
    ///
    /// # Errors
    /// Theirs.
    pub fn open(setup: Setup) -> Result<(Store, Opened), OpenError> {
        Store::prepare(setup)?.open()
    }

    /// A store that commits nothing but by the stepper, and makes no checkpoint by itself: for the simulation, which decides
    /// when. It is ended by being dropped.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_stepped(setup: Setup) -> Result<(Store, Opened, Stepper), OpenError> {
        let (store, opened, stepper) = Store::prepare(setup)?.assemble()?;
        let behind = Arc::clone(&store.shared.behind);
        let applying = std::thread::Builder::new().name("apply".to_owned()).spawn(move || apply::run(&behind));
        applying.map_err(|source| OpenError::Thread { source })?;
        Ok((store, opened, stepper))
    }

    /// Replays the journal, making folders (0700) that are missing. Blocks, but not for long: the journal is bounded. The
    /// caller holds the lock that keeps a second process out.
    ///
    /// # Errors
    /// The folder cannot be used, a newer agentd wrote it, or what is there cannot be made durable. A torn tail and damaged
    /// records are no errors: `Opened` names them.
    pub fn prepare(setup: Setup) -> Result<Prepared, OpenError> {
        let Setup { places, files, boot, limits, .. } = &setup;
        let replayed = open::replay(files.as_ref(), &places.journal, *boot, limits)?;
        let archive = |source| OpenError::Folder { path: places.archive.clone(), source };
        files.create_dir(&places.archive).map_err(archive)?;
        if let Some(parent) = places.archive.parent() {
            files.sync_dir(parent).map_err(archive)?;
        }
        Ok(Prepared { setup, replayed })
    }

    /// Hands a batch to the commit thread, waiting while its queue is full. Everything else is told to `waiter`, whose last
    /// word is `Synced` or `Failed`. Batches of one caller that awaits each call are written in that order. Dropped in
    /// mid-await, nothing was handed in and `waiter` is told `Failed`.
    ///
    /// A batch must go on where its session ends. After a failed one all later ones of that session fail too, until one
    /// comes with the number after the last that was kept.
    pub async fn append(&self, batch: Batch, waiter: Waiter) {
        let told = Told::new(waiter);
        let batch = match self.with_large_kept(batch).await {
            Ok(batch) => batch,
            Err(reason) => return told.end(Commit::Failed(reason)),
        };
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
    /// disk unless the events are recent. What is damaged is restored first.
    ///
    /// # Errors
    /// No such session, a quarantined one, or the disk.
    pub fn read_after(&self, session: SessionId, after: Seq, max_events: usize, max_bytes: usize) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        self.shared.reader.after(session, after, Most { events: max_events, bytes: max_bytes })
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
        self.shared.reader.before(session, before, Most { events: max_events, bytes: max_bytes })
    }

    /// The last committed event of a session; nothing if there is no such session. Blocks.
    ///
    /// # Errors
    /// A quarantined session, or the disk.
    pub fn last_seq(&self, session: SessionId) -> Result<Option<Seq>, ReadError> {
        self.shared.reader.last_seq(session)
    }

    /// Whether the session is set apart because it is damaged.
    #[must_use]
    pub fn is_quarantined(&self, session: SessionId) -> bool {
        self.shared.behind.tail.quarantine_of(session).is_some()
    }

    /// A session's row in the index, with everything that was acknowledged before. Blocks.
    ///
    /// # Errors
    /// The disk.
    pub fn row(&self, session: SessionId) -> Result<Option<Row>, ReadError> {
        self.shared.reader.row(session)
    }

    /// The rows of the sessions `among` these ids, in `order` of their ids, at most `most`; with everything that was
    /// acknowledged before. Quarantined ones have theirs, too. Blocks.
    ///
    /// # Errors
    /// The disk.
    pub fn rows(&self, among: RangeInclusive<SessionId>, order: Order, most: usize) -> Result<Vec<Row>, ReadError> {
        self.shared.reader.rows(among, order, most)
    }

    /// Sessions that have something to do, ascending. Blocks.
    ///
    /// # Errors
    /// The disk.
    pub fn unsettled(&self) -> Result<Vec<SessionId>, ReadError> {
        self.shared.reader.unsettled()
    }

    /// Sessions that bear a label, ascending. Blocks.
    ///
    /// # Errors
    /// The disk.
    pub fn labelled(&self, label: Label) -> Result<Vec<SessionId>, ReadError> {
        self.shared.reader.labelled(label)
    }

    /// How many sessions there are. Blocks.
    ///
    /// # Errors
    /// The disk.
    pub fn count(&self) -> Result<u64, ReadError> {
        self.shared.reader.count()
    }

    /// Builds the database anew from cold copies and journal, which gives its unused room back. Blocks until it is done;
    /// appends and reads go on meanwhile.
    ///
    /// # Errors
    /// Why it was not; the old one is in use then.
    pub fn rebuild(&self) -> Result<(), String> {
        checkpoint::complete(&self.shared.behind, &self.shared.reader).map_err(|error| error.to_string())?;
        self.shared.reader.rebuild(Rebuild::Asked)
    }

    /// Brings everything committed before behind the journal, now. Blocks.
    ///
    /// # Errors
    /// What stood in the way.
    pub fn checkpoint(&self) -> Result<(), String> {
        checkpoint::checkpoint(&self.shared.behind, &self.shared.reader).map_err(|error| error.to_string())
    }

    /// How the store is. Blocks.
    #[must_use]
    pub fn status(&self) -> Status {
        let behind = &self.shared.behind;
        Status {
            trouble: self.trouble().map(str::to_owned).or_else(|| behind.tail.trouble().map(|stuck| stuck.0)),
            happened: behind.told.all(),
            quarantined: behind.tail.quarantined(),
            aside: behind.shelves.aside(&behind.places.db),
            sessions: self.count().unwrap_or(0),
            segments: behind.tail.segments() as u64,
            database_bytes: behind.shelves.size(&behind.places.db),
        }
    }

    /// Why nothing is acknowledged any more, if that is so. It does not end before the store is opened again.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.shared.trouble.get().map(String::as_str)
    }

    /// Writes and syncs all that was handed in, brings it behind the journal, closes the database and ends the threads;
    /// later appends fail. A second call waits for the first.
    ///
    /// # Errors
    /// Something handed in could not be kept; its waiter knows. Or what is kept could not be brought behind the journal,
    /// which the next opening does.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        let mut threads = self.shared.threads.lock().await;
        let Some(running) = threads.take() else { return Ok(()) };
        self.shared.room.close();
        let mut outcome = Ok(());
        if !running.commit.is_finished() {
            let (done, told) = oneshot::channel();
            self.request(Request::Stop { done });
            // Without an answer the thread has panicked, which joining it says.
            if let Ok(Err(reason)) = told.await {
                outcome = Err(ShutdownError::Unclean(reason));
            }
        }
        let (shared, (done, closed)) = (Arc::clone(&self.shared), oneshot::channel());
        let closing = std::thread::Builder::new().name("closing".to_owned()).spawn(move || {
            let _ = done.send(close(&shared, running));
        });
        let closed = match closing {
            Ok(_) => closed.await.unwrap_or(Err(ShutdownError::Panicked)),
            Err(error) => Err(ShutdownError::Unclean(format!("no thread to close the database: {error}"))),
        };
        outcome.and(closed)
    }

    /// Large events are in files of their own, durably, before anything names them; the commit thread never waits for one.
    async fn with_large_kept(&self, batch: Batch) -> Result<Batch, String> {
        let behind = Arc::clone(&self.shared.behind);
        if !batch.events.iter().any(|event| blobs::is_large(event, behind.limits.blob)) {
            return Ok(batch);
        }
        let keep = move || {
            let Batch { session, events, .. } = &batch;
            let kept = events.iter().map(|event| blobs::keep(behind.files.as_ref(), &behind.places, *session, event, behind.limits.blob));
            let events = kept.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
            Ok(Batch { events, ..batch })
        };
        tokio::task::spawn_blocking(keep).await.unwrap_or_else(|error| Err(format!("keeping a large value ended unexpectedly: {error}")))
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

/// A store whose journal is replayed.
pub struct Prepared {
    setup: Setup,
    replayed: open::Replayed,
}

impl Prepared {
    /// Opens the database behind the journal, or builds it anew, which may take a while, and starts the threads. Blocks.
    ///
    /// # Errors
    /// The database can neither be opened nor built. That it was lost is no error: `Opened` says so.
    pub fn open(self) -> Result<(Store, Opened), OpenError> {
        let (store, opened, Stepper { committer, queue }) = self.assemble()?;
        let shared = &store.shared;
        let threads = start_threads(&shared.behind, &shared.reader, committer, queue).map_err(|source| OpenError::Thread { source })?;
        // Nobody else has the handle yet.
        if let Ok(mut slot) = shared.threads.try_lock() {
            *slot = Some(threads);
        }
        Ok((store, opened))
    }

    /// Everything but the threads.
    fn assemble(self) -> Result<(Store, Opened, Stepper), OpenError> {
        let Prepared { setup, replayed } = self;
        let Setup { places, files, shelves, projector, clock, boot, limits } = setup;
        let sources = rebuild::Sources {
            files: files.as_ref(),
            places: &places,
            projector: projector.as_ref(),
            batch: limits.apply_bytes,
            blob: limits.blob,
        };
        let ready = opening::open(shelves.as_ref(), sources, &replayed, clock.now())?;
        let database = |error: shelf::ShelfError| OpenError::Database { path: places.db.clone(), why: error.to_string() };
        let mut judged = replayed.judge(ready.applied, |session| opening::end_of(ready.shelf.as_ref(), session)).map_err(database)?;
        for rebuild::Doubtful { session, why, known } in ready.doubtful {
            let end = match judged.ends.get(&session) {
                Some(end) => *end,
                None => match opening::end_of(ready.shelf.as_ref(), session).map_err(database)? {
                    open::End::At(end) => end,
                    open::End::Unknown => Seq::ZERO,
                },
            };
            if end < known && !judged.deleted.contains(&session) {
                judged.set_apart(session, why);
            }
        }
        let (number, segment) = (replayed.number(), replayed.position.segment.number);
        let mut quarantined = ready.quarantined;
        for (session, why) in judged.damaged {
            group::mark_quarantined(ready.shelf.as_ref(), session, &why).map_err(database)?;
            quarantined.entry(session).or_insert(why);
        }
        quarantined.retain(|session, _| !judged.deleted.contains(session));
        let opened = Opened {
            rebuilt: ready.rebuilt,
            cut: replayed.cut,
            quarantined: quarantined.iter().map(|(session, why)| (*session, why.clone())).collect(),
            damage: replayed.damage,
        };
        let mut deleted = Deleted::default();
        judged.deleted.into_iter().for_each(|session| deleted.add(session));
        let quarantined = quarantined.into_iter().collect();
        let start = Start { records: judged.records, quarantined, touched: judged.touched, full: replayed.full, segment, number };
        let tail = Arc::new(Tail::new(Arc::clone(&files), places.journal.clone(), &limits, start));
        let journal = journal::Journal::new(Arc::clone(&files), places.journal.clone(), boot, limits, replayed.position);
        let behind = Arc::new(Behind {
            files,
            shelves,
            projector,
            clock,
            places,
            limits,
            tail: Arc::clone(&tail),
            slot: shelf::Slot::new(ready.shelf),
            told: status::Told::default(),
            damaged: replayed.damaged,
            turn: StdMutex::new(()),
            checkpoints: StdMutex::new(()),
        });
        behind.tell(&opened);
        let reader = Reader::new(Arc::clone(&behind));
        let trouble = Arc::new(OnceLock::new());
        let committer = Committer::new(journal, tail, reader.clone(), limits, deleted, Arc::clone(&trouble));
        // Bounded by `room`, whose permits travel with the requests.
        let (sender, queue) = mpsc::channel();
        let room = Arc::new(Semaphore::new(limits.queue_units as usize));
        let shared = Shared { queue: sender, room, queue_units: limits.queue_units, behind, reader, trouble, threads: Mutex::new(None) };
        Ok((Store { shared: Arc::new(shared) }, opened, Stepper { committer, queue }))
    }
}

fn start_threads(
    behind: &Arc<Behind>,
    reader: &Reader,
    committer: Committer,
    requests: mpsc::Receiver<Request>,
) -> std::io::Result<Threads> {
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let (applying, checkpointing, reader) = (Arc::clone(behind), Arc::clone(behind), reader.clone());
    Ok(Threads {
        commit: thread("commit").spawn(move || committer.run(requests))?,
        apply: thread("apply").spawn(move || apply::run(&applying))?,
        checkpoint: thread("checkpoint").spawn(move || checkpoint::run(&checkpointing, &reader))?,
    })
}

/// The commit thread has said its last word; everything else follows it.
fn close(shared: &Shared, threads: Threads) -> Result<(), ShutdownError> {
    let committed = threads.commit.join();
    let behind = &shared.behind;
    let brought = match behind.tail.is_behind() {
        true => {
            let patience = checkpoint::Patience::Until(Instant::now() + limits::LAST_CHECKPOINT);
            match checkpoint::checkpoint_within(behind, &shared.reader, patience) {
                Ok(()) => Ok(()),
                Err(error @ CheckpointError::Cut) => {
                    tracing::info!(%error, "the last checkpoint");
                    Ok(())
                }
                Err(error) => Err(ShutdownError::Unclean(error.to_string())),
            }
        }
        false => Ok(()),
    };
    behind.tail.end();
    let ended = [committed, threads.apply.join(), threads.checkpoint.join()];
    behind.slot.close(limits::EXCHANGE_PATIENCE);
    match ended.into_iter().find(Result::is_err) {
        Some(_) => Err(ShutdownError::Panicked),
        None => brought,
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.behind.tail.end();
        if self.threads.get_mut().is_some() {
            tracing::warn!("the store was dropped without a shutdown; its thread syncs what was handed in, then ends by itself");
        }
    }
}

#[cfg(test)]
mod tests;
