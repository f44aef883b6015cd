//! The commit thread: it alone writes and syncs the journal, and tells each waiter how far its batch has come. It never
//! reads events and never waits for a waiter.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::commit::{Batch, Commit, Level, Request, Stepped, Told};
use super::journal::{Journal, Place};
use super::limits::{Limits, REMEMBERED_DELETIONS, REMEMBERED_ENDS, ROOM_PATIENCE};
use super::reader::Reader;
use super::record::{self, Body};
use super::tail::{Committed, Tail};

/// What was written and waits for the sync.
struct Unsynced {
    what: Kept,
    told: Told,
}

enum Kept {
    Events { batch: Batch, place: Place },
    Deleted { session: SessionId, place: Place },
    Nothing,
}

/// The commit thread's state. `run` is the thread; everything else is called by it.
pub(super) struct Committer {
    journal: Journal,
    tail: Arc<Tail>,
    reader: Reader,
    limits: Limits,
    /// The last event written of sessions written to lately; `Seq::ZERO` for none.
    last: HashMap<SessionId, Seq>,
    deleted: Deleted,
    /// Set once, when nothing is acknowledged any more.
    trouble: Arc<OnceLock<String>>,
    unsynced: Vec<Unsynced>,
    /// When the oldest of them was written, or when there was last anything to do.
    since: Instant,
    marked: Marked,
}

/// Whether an idle mark is the journal's last record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    Yes,
    No,
}

/// Sessions deleted lately: what comes late for them is told so.
#[derive(Default)]
pub(super) struct Deleted(VecDeque<SessionId>);

impl Deleted {
    pub(super) fn add(&mut self, session: SessionId) {
        if self.0.len() == REMEMBERED_DELETIONS {
            self.0.pop_front();
        }
        self.0.push_back(session);
    }

    fn has(&self, session: SessionId) -> bool {
        self.0.contains(&session)
    }
}

/// Batches that will share one write.
#[derive(Default)]
struct Run {
    size: u64,
    entries: Vec<(Batch, Told)>,
}

impl Committer {
    pub(super) fn new(
        journal: Journal,
        tail: Arc<Tail>,
        reader: Reader,
        limits: Limits,
        deleted: Deleted,
        trouble: Arc<OnceLock<String>>,
    ) -> Committer {
        let (unsynced, since, marked) = (Vec::new(), Instant::now(), Marked::No);
        Committer { journal, tail, reader, limits, last: HashMap::new(), deleted, trouble, unsynced, since, marked }
    }

    /// The thread: until it is told to stop, or nobody is left to ask.
    pub(super) fn run(mut self, queue: Receiver<Request>) {
        loop {
            match self.next(&queue) {
                Ok(first) => {
                    let (group, stop) = self.gather(first, &queue);
                    self.commit(group);
                    if let Some(done) = stop {
                        let outcome = self.finish();
                        // Later requests are told by being dropped.
                        drop((queue, self));
                        let _ = done.send(outcome);
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.rest(),
                Err(RecvTimeoutError::Disconnected) => {
                    if let Err(reason) = self.finish() {
                        tracing::error!(%reason, "the store did not end cleanly");
                    }
                    return;
                }
            }
        }
    }

    /// One turn of `run` without its waits: what is queued is committed; where nothing is, what would be due after a while.
    pub(super) fn step(&mut self, queue: &Receiver<Request>) -> Stepped {
        match queue.try_recv() {
            Ok(first) => {
                let (group, stop) = self.gather(first, queue);
                self.commit(group);
                if let Some(done) = stop {
                    let _ = done.send(self.finish());
                }
                Stepped::Committed
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                self.rest();
                Stepped::Rested
            }
        }
    }

    /// Waits for a request, at most until something is due.
    fn next(&self, queue: &Receiver<Request>) -> Result<Request, RecvTimeoutError> {
        let due = match (self.unsynced.is_empty(), self.marked) {
            (false, _) => self.since + self.limits.written,
            (true, Marked::No) if self.trouble.get().is_none() => self.since + self.limits.idle,
            (true, _) => return queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        queue.recv_timeout(due.saturating_duration_since(Instant::now()))
    }

    /// What has queued up meanwhile, without waiting, bounded in number and bytes.
    fn gather(&self, first: Request, queue: &Receiver<Request>) -> (Vec<Request>, Option<oneshot::Sender<Result<(), String>>>) {
        let (mut group, mut bytes, mut next) = (Vec::new(), 0, Some(first));
        while let Some(request) = next {
            match request {
                Request::Stop { done } => return (group, Some(done)),
                Request::Append { ref batch, .. } => bytes += batch.events.iter().map(Bytes::len).sum::<usize>(),
                Request::Forget { .. } | Request::Barrier { .. } => {}
            }
            group.push(request);
            let full = group.len() >= self.limits.group_batches || bytes >= self.limits.group_bytes;
            next = if full { None } else { queue.try_recv().ok() };
        }
        (group, None)
    }

    /// Writes a group, and syncs it if anything in it asks for that or something older is due.
    fn commit(&mut self, group: Vec<Request>) {
        let (mut run, mut sync, mut rooms) = (Run::default(), Sync::Later, Vec::with_capacity(group.len()));
        for request in group {
            match request {
                Request::Append { batch, told, room } => {
                    rooms.push(room);
                    if batch.level == Level::Synced {
                        sync = Sync::Now;
                    }
                    self.add(&mut run, batch, told);
                }
                Request::Forget { session, told, room } => {
                    rooms.push(room);
                    self.write(std::mem::take(&mut run));
                    self.delete(session, told);
                    sync = Sync::Now;
                }
                Request::Barrier { told, room } => {
                    rooms.push(room);
                    self.write(std::mem::take(&mut run));
                    self.wait_for_sync(Kept::Nothing, told);
                    sync = Sync::Now;
                }
                Request::Stop { .. } => unreachable!("gather takes it out"),
            }
        }
        self.write(run);
        if sync == Sync::Now || self.is_due() {
            self.sync();
        }
    }

    fn is_due(&self) -> bool {
        !self.unsynced.is_empty() && self.since.elapsed() >= self.limits.written
    }

    /// Puts a batch into the run; what is in the run is written first where both do not fit into the segment.
    fn add(&mut self, run: &mut Run, batch: Batch, told: Told) {
        let size = record::size(&body_of(&batch));
        if !run.entries.is_empty() && !self.journal.fits(run.size + size) {
            self.write(std::mem::take(run));
        }
        match self.admit(&batch, size) {
            Ok(()) => {
                run.size += size;
                run.entries.push((batch, told));
            }
            Err(reason) => told.end(Commit::Failed(reason)),
        }
    }

    /// Whether the batch goes on where its session ends; if so, the session ends with it.
    fn admit(&mut self, batch: &Batch, size: u64) -> Result<(), String> {
        self.open_for(batch.session)?;
        let count = batch.events.len() as u64;
        if count == 0 {
            return Err("a batch without events cannot be kept".to_owned());
        }
        if size > u64::from(self.limits.batch) {
            return Err(format!("the batch takes {size} bytes, at most {} are kept at once", self.limits.batch));
        }
        let last = self.end_of(batch.session)?;
        let due = last.0.checked_add(1).filter(|due| *due == batch.first.0);
        let Some(end) = due.and_then(|due| due.checked_add(count)) else {
            let reason = "something before it was not kept, or it was kept already";
            return Err(format!("event {} does not follow event {last} of session {}: {reason}", batch.first, batch.session));
        };
        self.last.insert(batch.session, Seq(end - 1));
        Ok(())
    }

    fn open_for(&self, session: SessionId) -> Result<(), String> {
        if let Some(trouble) = self.trouble.get() {
            return Err(trouble.clone());
        }
        if self.deleted.has(session) {
            return Err(format!("session {session} is deleted"));
        }
        match self.tail.quarantine_of(session) {
            None => Ok(()),
            Some(reason) => Err(format!("session {session} is quarantined: {reason}")),
        }
    }

    /// Where a session ends. Asked once in a while only, and never waited for.
    fn end_of(&self, session: SessionId) -> Result<Seq, String> {
        match self.last.get(&session) {
            Some(last) => Ok(*last),
            None => self.reader.last_seq_once(session).map(|last| last.unwrap_or(Seq::ZERO)).map_err(|error| error.to_string()),
        }
    }

    /// Where the next write needs a new segment and there are as many as may be, waits until a checkpoint has freed one.
    fn make_room(&mut self, size: u64) -> Result<(), String> {
        if !self.journal.needs_segment(size) || self.tail.segments() < self.limits.segments {
            return Ok(());
        }
        // What waits for its sync counts only once it is visible.
        self.sync();
        if let Some(trouble) = self.trouble.get() {
            return Err(trouble.clone());
        }
        let room = self.tail.wait_for_room(self.limits.segments, ROOM_PATIENCE);
        room.map_err(|stuck| format!("the journal is full and cannot be emptied: {}", stuck.0))
    }

    /// Writes a run at once; if that fails, each of its batches alone, so that one that does not fit hurts no other session.
    fn write(&mut self, run: Run) {
        if run.entries.is_empty() {
            return;
        }
        let bodies: Vec<Body<'_>> = run.entries.iter().map(|(batch, _)| body_of(batch)).collect();
        let size = bodies.iter().map(record::size).sum();
        if let Err(reason) = self.make_room(size) {
            self.fail(run, &reason);
            return;
        }
        match self.journal.write(&bodies) {
            Ok(places) => {
                for ((batch, told), place) in run.entries.into_iter().zip(places) {
                    self.wait_for_sync(Kept::Events { batch, place }, told);
                }
            }
            Err(error) => {
                self.take_back(&run);
                let reason = error.to_string();
                if error.is_final() {
                    self.give_up(&reason);
                }
                let alone = run.entries.len() == 1;
                for (batch, told) in run.entries {
                    let again = if alone { Err(reason.clone()) } else { self.admit(&batch, record::size(&body_of(&batch))) };
                    match again {
                        Ok(()) => self.write(Run { size: 0, entries: vec![(batch, told)] }),
                        Err(reason) => told.end(Commit::Failed(reason)),
                    }
                }
            }
        }
    }

    fn take_back(&mut self, run: &Run) {
        for (batch, _) in run.entries.iter().rev() {
            // It was admitted, so its first number is at least 1.
            self.last.insert(batch.session, Seq(batch.first.0.saturating_sub(1)));
        }
    }

    fn fail(&mut self, run: Run, reason: &str) {
        self.take_back(&run);
        for (_, told) in run.entries {
            told.end(Commit::Failed(reason.to_owned()));
        }
    }

    fn delete(&mut self, session: SessionId, told: Told) {
        match self.write_deletion(session) {
            Ok(place) => {
                self.last.remove(&session);
                self.deleted.add(session);
                self.wait_for_sync(Kept::Deleted { session, place }, told);
            }
            Err(reason) => told.end(Commit::Failed(reason)),
        }
    }

    fn write_deletion(&mut self, session: SessionId) -> Result<Place, String> {
        if let Some(trouble) = self.trouble.get() {
            return Err(trouble.clone());
        }
        if self.deleted.has(session) {
            return Err(format!("session {session} is deleted already"));
        }
        // What is set apart can always be deleted, readable or not.
        if self.tail.quarantine_of(session).is_none() && self.end_of(session)? == Seq::ZERO {
            return Err(format!("there is no session {session}"));
        }
        self.make_room(record::size(&Body::Deleted { session }))?;
        let written = self.journal.write(&[Body::Deleted { session }]);
        let places = written.map_err(|error| {
            if error.is_final() {
                self.give_up(&error.to_string());
            }
            error.to_string()
        })?;
        places.first().copied().ok_or_else(|| "nothing was written".to_owned())
    }

    fn wait_for_sync(&mut self, what: Kept, mut told: Told) {
        if self.unsynced.is_empty() {
            self.since = Instant::now();
        }
        match &what {
            Kept::Events { batch, .. } => {
                self.marked = Marked::No;
                if batch.level == Level::Written {
                    told.written();
                }
            }
            Kept::Deleted { .. } => self.marked = Marked::No,
            Kept::Nothing => {}
        }
        self.unsynced.push(Unsynced { what, told });
    }

    /// One sync for all that waits: then it is published, then everybody is told.
    fn sync(&mut self) {
        let outcome = match self.trouble.get() {
            Some(trouble) => Err(trouble.clone()),
            None => self.journal.sync().map_err(|error| error.to_string()),
        };
        let unsynced = std::mem::take(&mut self.unsynced);
        self.since = Instant::now();
        if let Err(reason) = outcome {
            self.give_up(&reason);
            for Unsynced { told, .. } in unsynced {
                told.end(Commit::Failed(reason.clone()));
            }
            return;
        }
        let (mut committed, mut tolds) = (Vec::with_capacity(unsynced.len()), Vec::with_capacity(unsynced.len()));
        for Unsynced { what, told } in unsynced {
            tolds.push(told);
            match what {
                Kept::Events { batch, place } => {
                    committed.push(Committed::Events { session: batch.session, first: batch.first, events: batch.events.into(), place });
                }
                Kept::Deleted { session, place } => committed.push(Committed::Deleted { session, place }),
                Kept::Nothing => {}
            }
        }
        self.tail.publish(committed);
        if self.last.len() > REMEMBERED_ENDS {
            // All of them are committed now: whoever asks finds them.
            self.last.clear();
        }
        for told in tolds {
            told.end(Commit::Synced);
        }
    }

    /// Nothing came for a while: what is due is synced; then a mark tells the next opening that everything was.
    fn rest(&mut self) {
        if self.unsynced.is_empty() {
            self.mark();
        } else {
            self.sync();
        }
    }

    /// Its failure harms nothing but what it would have told.
    fn mark(&mut self) {
        if self.marked == Marked::Yes || self.trouble.get().is_some() {
            return;
        }
        self.marked = Marked::Yes;
        if let Err(error) = self.journal.write(&[Body::Mark]) {
            tracing::warn!(%error, "could not mark the journal as idle");
            if error.is_final() {
                self.give_up(&error.to_string());
            }
        }
    }

    /// The last words: everything synced, marked, and that synced too.
    fn finish(&mut self) -> Result<(), String> {
        self.sync();
        self.mark();
        self.sync();
        self.trouble.get().map_or(Ok(()), |trouble| Err(trouble.clone()))
    }

    fn give_up(&self, reason: &str) {
        if self.trouble.set(reason.to_owned()).is_ok() {
            tracing::error!(%reason, "the store acknowledges nothing any more");
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Now,
    Later,
}

fn body_of(batch: &Batch) -> Body<'_> {
    Body::Events { session: batch.session, first: batch.first, events: &batch.events }
}

#[cfg(test)]
mod tests;
