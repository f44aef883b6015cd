//! What can be read: where each session's committed events lie, and the newest of them in memory. It never shows an event
//! that is not synced, and never writes.
//!
//! The index is a plain map behind one std mutex. The commit thread adds to it after a sync, readers copy out what they
//! need; both hold the lock for microseconds, for a bounded amount of work, and never over IO or an await. A message to an
//! owner instead would put every read behind the commit thread's fdatasync.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::file::{File, FileSystem};
use super::journal::Place;
use super::limits::{PAGE_RECORDS, READ_GAP, READ_SPAN};
use super::record::{self, BadRecord, Kind, Spot};
use super::segment::path_of;

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the store holds no session {session}")]
    NotFound { session: SessionId },
    #[error("session {session} is quarantined: {reason}; its journal is left as it is, delete the session to be rid of it")]
    Quarantined { session: SessionId, reason: String },
    #[error("cannot read {}: {source}; check the disk", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("session {session}: {} is damaged at byte {offset}: {why}; restart agentd to set the session apart", .path.display())]
    Damaged { session: SessionId, path: PathBuf, offset: u32, why: BadRecord },
}

/// What has become durable.
pub enum Committed {
    Events { session: SessionId, first: Seq, events: Arc<[Bytes]>, place: Place },
    Deleted(SessionId),
}

/// One record of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    pub first: Seq,
    pub count: u32,
    pub place: Place,
}

impl Indexed {
    fn last(&self) -> u64 {
        self.first.0 + u64::from(self.count) - 1
    }
}

/// The reading end of the store.
pub struct Tail {
    files: Arc<dyn FileSystem>,
    dir: PathBuf,
    cache: usize,
    index: Mutex<Index>,
}

#[derive(Default)]
struct Index {
    sessions: HashMap<SessionId, Records>,
    quarantined: HashMap<SessionId, String>,
    /// Whose record in memory is the oldest, and its weight.
    oldest: VecDeque<(SessionId, usize)>,
    /// Sum of those weights.
    cached: usize,
}

#[derive(Default)]
struct Records {
    /// Ascending and dense.
    all: Vec<Indexed>,
    /// The events of the last ones.
    recent: VecDeque<Arc<[Bytes]>>,
}

/// A record's events, or where they are.
enum Found {
    Fresh(Seq, Arc<[Bytes]>),
    Stored(Indexed),
}

impl Tail {
    #[must_use]
    pub fn new(
        files: Arc<dyn FileSystem>,
        dir: PathBuf,
        cache: usize,
        sessions: HashMap<SessionId, Vec<Indexed>>,
        quarantined: HashMap<SessionId, String>,
    ) -> Tail {
        let sessions = sessions.into_iter().map(|(session, all)| (session, Records { all, recent: VecDeque::new() })).collect();
        let index = Index { sessions, quarantined, ..Index::default() };
        Tail { files, dir, cache, index: Mutex::new(index) }
    }

    /// Makes what was synced visible, in order.
    pub fn publish(&self, committed: Vec<Committed>) {
        let mut index = self.index();
        for item in committed {
            match item {
                Committed::Events { session, first, events, place } => {
                    let weight = weight(&events);
                    let records = index.sessions.entry(session).or_default();
                    records.all.push(Indexed { first, count: events.len() as u32, place });
                    records.recent.push_back(events);
                    index.oldest.push_back((session, weight));
                    index.cached += weight;
                }
                Committed::Deleted(session) => index.forget(session),
            }
        }
        index.evict(self.cache);
    }

    #[must_use]
    pub fn last_seq(&self, session: SessionId) -> Option<Seq> {
        self.index().sessions.get(&session)?.all.last().map(|record| Seq(record.last()))
    }

    /// Ascending by id.
    #[must_use]
    pub fn sessions(&self) -> Vec<(SessionId, Seq)> {
        let index = self.index();
        let ends = index.sessions.iter().filter_map(|(id, records)| Some((*id, Seq(records.all.last()?.last()))));
        let mut sessions: Vec<_> = ends.collect();
        drop(index);
        sessions.sort_unstable();
        sessions
    }

    /// See `Store::read_after`.
    pub fn read_after(&self, session: SessionId, after: Seq, max_events: usize, max_bytes: usize) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        let plan = self.plan(session, |all| {
            let from = all.partition_point(|record| record.last() <= after.0);
            let mut need = Need::new(max_events, max_bytes);
            let taken = all[from..].iter().take_while(|record| need.takes(record, record.last() - after.0.max(record.first.0 - 1)));
            (from, from + taken.count())
        })?;
        let events = self.fetch(session, plan)?.into_iter().filter(|(seq, _)| *seq > after);
        Ok(page(events, max_events, max_bytes))
    }

    /// See `Store::read_before`.
    pub fn read_before(
        &self,
        session: SessionId,
        before: Option<Seq>,
        max_events: usize,
        max_bytes: usize,
    ) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        let bound = before.map_or(u64::MAX, |before| before.0);
        let plan = self.plan(session, |all| {
            let to = all.partition_point(|record| record.first.0 < bound);
            let mut need = Need::new(max_events, max_bytes);
            let taken = all[..to].iter().rev();
            let taken = taken.take_while(|record| need.takes(record, bound.min(record.last() + 1) - record.first.0)).count();
            (to - taken, to)
        })?;
        let events = self.fetch(session, plan)?.into_iter().filter(|(seq, _)| seq.0 < bound);
        let mut events = page(events.rev(), max_events, max_bytes);
        events.reverse();
        Ok(events)
    }

    /// Copies the records out of the index that `choose` names by their positions.
    fn plan(&self, session: SessionId, choose: impl FnOnce(&[Indexed]) -> (usize, usize)) -> Result<Vec<Found>, ReadError> {
        let index = self.index();
        let Some(records) = index.sessions.get(&session) else {
            return Err(match index.quarantined.get(&session) {
                Some(reason) => ReadError::Quarantined { session, reason: reason.clone() },
                None => ReadError::NotFound { session },
            });
        };
        let stored = records.all.len() - records.recent.len();
        let (from, to) = choose(&records.all);
        let found = (from..to).map(|at| match at.checked_sub(stored).and_then(|fresh| records.recent.get(fresh)) {
            Some(events) => Found::Fresh(records.all[at].first, Arc::clone(events)),
            None => Found::Stored(records.all[at]),
        });
        Ok(found.collect())
    }

    fn fetch(&self, session: SessionId, plan: Vec<Found>) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        let (mut events, mut run, mut open) = (Vec::new(), Vec::new(), None);
        for found in plan {
            match found {
                Found::Stored(record) => {
                    if !run.first().zip(run.last()).is_none_or(|(first, last)| is_near(first, last, &record)) {
                        self.fetch_run(session, &std::mem::take(&mut run), &mut open, &mut events)?;
                    }
                    run.push(record);
                }
                Found::Fresh(first, fresh) => {
                    self.fetch_run(session, &std::mem::take(&mut run), &mut open, &mut events)?;
                    events.extend((first.0..).map(Seq).zip(fresh.iter().cloned()));
                }
            }
        }
        self.fetch_run(session, &run, &mut open, &mut events)?;
        Ok(events)
    }

    /// Reads records that lie near each other with one call.
    fn fetch_run(
        &self,
        session: SessionId,
        run: &[Indexed],
        open: &mut Option<(u32, Arc<dyn File>)>,
        events: &mut Vec<(Seq, Bytes)>,
    ) -> Result<(), ReadError> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
        let segment = first.place.segment;
        let path = || path_of(&self.dir, segment);
        let file = match open {
            Some((number, file)) if *number == segment => Arc::clone(file),
            Some(_) | None => {
                let file = self.files.open(&path()).map_err(|source| ReadError::Io { path: path(), source })?;
                *open = Some((segment, Arc::clone(&file)));
                file
            }
        };
        let start = first.place.offset;
        let mut buffer = vec![0; (last.place.offset - start + last.place.len) as usize];
        file.read_at(&mut buffer, u64::from(start)).map_err(|source| ReadError::Io { path: path(), source })?;
        let buffer = Bytes::from(buffer);
        for record in run {
            let Place { offset, len, .. } = record.place;
            let from = (offset - start) as usize;
            let bytes = buffer.slice(from..from + len as usize);
            let damaged = |why| ReadError::Damaged { session, path: path(), offset, why };
            let (header, found) = record::decode(&bytes, Spot { segment, offset: u64::from(offset) }).map_err(damaged)?;
            if header.kind != (Kind::Events { session, first: record.first, count: record.count }) {
                return Err(damaged(BadRecord::Fields));
            }
            events.extend((record.first.0..).map(Seq).zip(found));
        }
        Ok(())
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        // No code that can panic halfway runs under the lock; what a panic elsewhere left is whole.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
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
            }
        }
    }
}

/// What a record costs in memory, its bookkeeping included.
fn weight(events: &[Bytes]) -> usize {
    128 + events.iter().map(|event| event.len() + size_of::<Bytes>()).sum::<usize>()
}

fn is_near(first: &Indexed, last: &Indexed, next: &Indexed) -> bool {
    let (first, last, next) = (first.place, last.place, next.place);
    next.segment == first.segment
        && next.offset.saturating_sub(last.offset + last.len) <= READ_GAP
        && next.offset + next.len - first.offset <= READ_SPAN
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
fn page(events: impl Iterator<Item = (Seq, Bytes)>, max_events: usize, max_bytes: usize) -> Vec<(Seq, Bytes)> {
    let mut bytes = 0;
    let fits = |(at, (_, event)): &(usize, (Seq, Bytes))| {
        bytes += event.len();
        *at == 0 || bytes <= max_bytes
    };
    events.take(max_events).enumerate().take_while(fits).map(|(_, event)| event).collect()
}

#[cfg(test)]
mod tests;
