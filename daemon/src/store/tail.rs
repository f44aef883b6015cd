//! What is committed and not yet all in the database: records that wait for it, and the newest events in memory. It never
//! shows an event that is not synced, and never writes.
//!
//! Plain maps behind one std mutex. The commit thread adds to it after a sync, the applier takes from it, readers copy out
//! what they need; all hold the lock for microseconds, for a bounded amount of work, and never over IO or an await. A
//! message to an owner instead would put every read behind the commit thread's fdatasync.

mod fetch;
mod progress;
mod queue;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::blobs;
use super::file::FileSystem;
use super::journal::Place;
use super::limits::{Limits, PAGE_RECORDS};
use super::record::BadRecord;

pub use progress::{Freed, Stuck, Touched};
pub use queue::{Order, Rebuild, Restored, Waiting, What, Work};

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum TailError {
    #[error("the store holds no session {session}")]
    NotFound { session: SessionId },
    #[error("session {session} is quarantined: {reason}; what there is of it is left as it is, delete the session to be rid of it")]
    Quarantined { session: SessionId, reason: String },
    #[error("cannot read {}: {source}; check the disk", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("session {session}: {} is damaged at byte {offset}: {why}; restart agentd to set the session apart", .path.display())]
    Damaged { session: SessionId, path: PathBuf, offset: u32, why: BadRecord },
}

/// What has become durable.
pub enum Committed {
    Events { session: SessionId, first: Seq, events: Arc<[Bytes]>, place: Place },
    Deleted { session: SessionId, place: Place },
}

/// One record of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    pub first: Seq,
    pub count: u32,
    pub place: Place,
}

impl Indexed {
    /// Its last event.
    #[must_use]
    pub fn last(&self) -> Seq {
        Seq(self.first.0 + u64::from(self.count) - 1)
    }
}

/// What a read finds here.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// The page: there may be more behind it.
    Events(Vec<(Seq, Bytes)>),
    /// The database holds everything that was asked for and lies before this event (or all of it).
    Before(Option<Seq>),
}

/// The reading end of the journal.
pub struct Tail {
    files: Arc<dyn FileSystem>,
    dir: PathBuf,
    cache: usize,
    /// So many records make a batch of the database.
    batch: usize,
    index: Mutex<Index>,
    /// The applier has something to do.
    work: Condvar,
    /// Something was applied, freed, or failed.
    progress: Condvar,
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) sessions: HashMap<SessionId, Records>,
    quarantined: HashMap<SessionId, String>,
    /// Deleted, and perhaps not yet so in the database.
    deleted: HashSet<SessionId>,
    /// Whose record in memory is the oldest, and its weight.
    pub(super) oldest: VecDeque<(SessionId, usize)>,
    /// Sum of those weights.
    pub(super) cached: usize,
    queue: queue::Queue,
    progress: progress::Progress,
}

#[derive(Default)]
pub(super) struct Records {
    /// Ascending and dense, up to the last committed one.
    all: VecDeque<Indexed>,
    /// The events of the last ones.
    recent: VecDeque<Arc<[Bytes]>>,
    /// The database holds everything up to here.
    applied: Seq,
}

impl Records {
    /// Lets go of what is neither in memory nor needed any more.
    fn shrink(&mut self) {
        while self.all.len() > self.recent.len() && self.all.front().is_some_and(|record| record.last() <= self.applied) {
            self.all.pop_front();
        }
    }
}

/// A record's events, or where they are.
#[derive(Debug, Clone)]
pub enum Found {
    Fresh(Seq, Arc<[Bytes]>),
    Stored(Indexed),
}

impl Tail {
    /// Over what opening found: `records` wait for the database, in order; segments before `segment` are full.
    #[must_use]
    pub fn new(files: Arc<dyn FileSystem>, dir: PathBuf, limits: &Limits, start: Start) -> Tail {
        let mut index = Index { quarantined: start.quarantined, ..Index::default() };
        index.progress.start(start.full, start.segment, start.number, start.touched);
        for (place, what) in start.records {
            index.take(place, what, None);
        }
        let (cache, batch) = (limits.cache, limits.apply_records);
        Tail { files, dir, cache, batch, index: Mutex::new(index), work: Condvar::new(), progress: Condvar::new() }
    }

    /// Makes what was synced visible, in order.
    pub fn publish(&self, committed: Vec<Committed>) {
        let mut index = self.index();
        let (idle, behind) = (index.queue.is_empty(), index.progress.marks());
        for item in committed {
            match item {
                Committed::Events { session, first, events, place } => {
                    let what = What::Events { session, first, count: events.len() as u32 };
                    index.progress.touch(session, first, place);
                    index.take(place, what, Some(events));
                }
                Committed::Deleted { session, place } => {
                    index.progress.touch_deleted(session, place);
                    index.take(place, What::Deleted { session }, None);
                }
            }
        }
        index.evict(self.cache);
        // Nobody is woken who would only look and wait on: an append wakes its own caller and nobody else.
        let (work, progress) = (idle || index.queue.len() >= self.batch, behind != index.progress.marks());
        drop(index);
        if work {
            self.work.notify_all();
        }
        if progress {
            self.progress.notify_all();
        }
    }

    /// The last committed event of a session, if it is known here.
    #[must_use]
    pub fn last_seq(&self, session: SessionId) -> Option<Seq> {
        self.index().sessions.get(&session)?.all.back().map(Indexed::last)
    }

    /// Whether the session can be read and written at all.
    pub fn check(&self, session: SessionId) -> Result<(), TailError> {
        self.index().check(session)
    }

    /// Why the session takes and gives nothing, if it is so.
    #[must_use]
    pub fn quarantine_of(&self, session: SessionId) -> Option<String> {
        self.index().quarantined.get(&session).cloned()
    }

    /// All that are set apart, ascending by id.
    #[must_use]
    pub fn quarantined(&self) -> Vec<(SessionId, String)> {
        let mut all: Vec<_> = self.index().quarantined.iter().map(|(id, why)| (*id, why.clone())).collect();
        all.sort_unstable();
        all
    }

    #[must_use]
    pub fn is_deleted(&self, session: SessionId) -> bool {
        self.index().deleted.contains(&session)
    }

    /// See `Store::read_after`.
    pub fn read_after(&self, session: SessionId, after: Seq, max_events: usize, max_bytes: usize) -> Result<Part, TailError> {
        let plan = {
            let index = self.index();
            index.check(session)?;
            let Some(records) = index.sessions.get(&session) else { return Ok(Part::Before(None)) };
            let first = records.all.front().map_or(Seq::ZERO, |record| record.first);
            if first.0 > after.0.saturating_add(1) {
                return Ok(Part::Before(Some(first)));
            }
            let from = records.all.partition_point(|record| record.last() <= after);
            let mut need = Need::new(max_events, max_bytes);
            let taken = records.all.range(from..);
            let taken = taken.take_while(|record| need.takes(record, record.last().0 - after.0.max(record.first.0 - 1))).count();
            records.plan(from, from + taken)
        };
        let events = self.fetch(session, plan)?.into_iter().filter(|(seq, _)| *seq > after);
        Ok(Part::Events(page(events, max_events, max_bytes)))
    }

    /// See `Store::read_before`.
    pub fn read_before(&self, session: SessionId, before: Option<Seq>, max_events: usize, max_bytes: usize) -> Result<Part, TailError> {
        let bound = before.map_or(u64::MAX, |before| before.0);
        let plan = {
            let index = self.index();
            index.check(session)?;
            let Some(records) = index.sessions.get(&session) else { return Ok(Part::Before(before)) };
            let to = records.all.partition_point(|record| record.first.0 < bound);
            if to == 0 {
                return Ok(Part::Before(Some(Seq(bound))));
            }
            let mut need = Need::new(max_events, max_bytes);
            let taken = records.all.range(..to).rev();
            let taken = taken.take_while(|record| need.takes(record, bound.min(record.last().0 + 1) - record.first.0)).count();
            records.plan(to - taken, to)
        };
        let events = self.fetch(session, plan)?.into_iter().filter(|(seq, _)| seq.0 < bound);
        let mut events = page(events.rev(), max_events, max_bytes);
        events.reverse();
        Ok(Part::Events(events))
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        // No code that can panic halfway runs under the lock; what a panic elsewhere left is whole.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What opening found.
#[derive(Debug, Default)]
pub struct Start {
    /// Committed records that the database does not hold, in order.
    pub records: Vec<(Place, What)>,
    pub quarantined: HashMap<SessionId, String>,
    /// Sessions of which the journal holds something.
    pub touched: Touched,
    /// Full segments, ascending.
    pub full: Vec<u32>,
    /// The one being written.
    pub segment: u32,
    /// The last record's number.
    pub number: u64,
}

impl Records {
    fn plan(&self, from: usize, to: usize) -> Vec<Found> {
        let stored = self.all.len() - self.recent.len();
        let found = (from..to).map(|at| match at.checked_sub(stored).and_then(|fresh| self.recent.get(fresh)) {
            Some(events) => Found::Fresh(self.all[at].first, Arc::clone(events)),
            None => Found::Stored(self.all[at]),
        });
        found.collect()
    }
}

impl Index {
    fn check(&self, session: SessionId) -> Result<(), TailError> {
        if self.deleted.contains(&session) {
            return Err(TailError::NotFound { session });
        }
        match self.quarantined.get(&session) {
            Some(reason) => Err(TailError::Quarantined { session, reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// A committed record: it waits for the database, and its events can be read.
    fn take(&mut self, place: Place, what: What, events: Option<Arc<[Bytes]>>) {
        match what {
            What::Events { session, first, count } => {
                let records = self.sessions.entry(session).or_default();
                records.all.push_back(Indexed { first, count, place });
                if let Some(events) = events {
                    let weight = weight(&events);
                    records.recent.push_back(events);
                    self.oldest.push_back((session, weight));
                    self.cached += weight;
                }
            }
            What::Deleted { session } => {
                self.deleted.insert(session);
                self.forget(session);
            }
        }
        self.queue.push(Waiting { place, what });
    }

    fn forget(&mut self, session: SessionId) {
        self.quarantined.remove(&session);
        if self.sessions.remove(&session).is_some_and(|records| !records.recent.is_empty()) {
            self.oldest.retain(|(owner, _)| *owner != session);
            self.cached = self.oldest.iter().map(|(_, weight)| weight).sum();
        }
    }

    fn evict(&mut self, bound: usize) {
        while self.cached > bound {
            let Some((session, weight)) = self.oldest.pop_front() else { return };
            self.cached -= weight;
            if let Some(records) = self.sessions.get_mut(&session) {
                records.recent.pop_front();
                records.shrink();
                if records.all.is_empty() {
                    self.sessions.remove(&session);
                }
            }
        }
    }
}

/// What a record costs in memory, its bookkeeping included.
fn weight(events: &[Bytes]) -> usize {
    160 + events.iter().map(|event| event.len() + size_of::<Bytes>()).sum::<usize>()
}

/// How many records a page still needs.
struct Need {
    events: u64,
    bytes: usize,
    records: usize,
}

impl Need {
    fn new(max_events: usize, max_bytes: usize) -> Need {
        // At least one event is read, whatever its size, so that paging gets on.
        Need { events: max_events as u64, bytes: max_bytes.max(1), records: PAGE_RECORDS }
    }

    /// Whether the record is still needed; `useful` of its events are in the range asked for.
    fn takes(&mut self, record: &Indexed, useful: u64) -> bool {
        let takes = self.events > 0 && self.bytes > 0 && self.records > 0;
        self.events = self.events.saturating_sub(useful);
        self.bytes = self.bytes.saturating_sub(record.place.len as usize);
        self.records = self.records.saturating_sub(1);
        takes
    }
}

/// The first of `events` that stay within the bounds; at least one, if any is asked for.
pub(super) fn page(events: impl Iterator<Item = (Seq, Bytes)>, max_events: usize, max_bytes: usize) -> Vec<(Seq, Bytes)> {
    let mut bytes = 0;
    let fits = |(at, (_, event)): &(usize, (Seq, Bytes))| {
        bytes += blobs::len_of(event);
        *at == 0 || bytes <= max_bytes
    };
    events.take(max_events).enumerate().take_while(fits).map(|(_, event)| event).collect()
}

#[cfg(test)]
mod tests;
