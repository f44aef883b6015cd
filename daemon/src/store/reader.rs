//! Reads: from the tail until the database has the record, then from the database; what is damaged is restored and read
//! again. It never shows an event that is not synced, and blocks: never on a runtime thread.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::mpsc::channel;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::apply::Behind;
use super::blobs::{self, BlobError};
use super::group::{self, GroupError};
use super::index::{Row, Stored};
use super::keys::{self, Label};
use super::limits::{INDEX_PATIENCE, PAGE_RECORDS, RESTORE_PATIENCE};
use super::shelf::{Order as Direction, Scan, ShelfError};
use super::tail::{Order, Part, Rebuild, TailError, page};

/// Attempts of one read: damage found behind damage is not followed for ever.
const ATTEMPTS: usize = 4;

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the store holds no session {session}")]
    NotFound { session: SessionId },
    #[error("session {session} is quarantined: {reason}; what there is of it is left as it is, delete the session to be rid of it")]
    Quarantined { session: SessionId, reason: String },
    #[error("session {session} cannot be read: {why}; check the disk")]
    Damaged { session: SessionId, why: String },
    #[error("the sessions cannot be read: {why}; check the disk, or build the database anew with `agent doctor --rebuild-store`")]
    Database { why: String },
    #[error(transparent)]
    Journal(TailError),
}

/// What went wrong at one attempt.
enum Snag {
    /// It lies elsewhere by now.
    Moved,
    Session {
        session: SessionId,
        why: String,
    },
    Shelf(ShelfError),
    Final(ReadError),
}

impl From<TailError> for Snag {
    fn from(error: TailError) -> Snag {
        match error {
            TailError::NotFound { session } => Snag::Final(ReadError::NotFound { session }),
            TailError::Quarantined { session, reason } => Snag::Final(ReadError::Quarantined { session, reason }),
            // Its segment was freed between looking and reading: the database has it now.
            TailError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Snag::Moved,
            error @ (TailError::Io { .. } | TailError::Damaged { .. }) => Snag::Final(ReadError::Journal(error)),
        }
    }
}

impl From<ShelfError> for Snag {
    fn from(error: ShelfError) -> Snag {
        Snag::Shelf(error)
    }
}

impl From<GroupError> for Snag {
    fn from(error: GroupError) -> Snag {
        match error {
            GroupError::Session { session, why } => Snag::Session { session, why },
            GroupError::Shelf(error) => Snag::Shelf(error),
        }
    }
}

/// What one page may hold.
#[derive(Clone, Copy)]
pub struct Most {
    pub events: usize,
    pub bytes: usize,
}

impl Most {
    /// What is left of it beside a part; nothing if nothing is.
    fn less(self, part: &[(Seq, Bytes)]) -> Option<Most> {
        let bytes: usize = part.iter().map(|(_, event)| blobs::len_of(event)).sum();
        let rest = Most { events: self.events - part.len().min(self.events), bytes: self.bytes.saturating_sub(bytes) };
        (!part.is_empty() && rest.events > 0 && rest.bytes > 0).then_some(rest)
    }
}

/// The reading end: a cheap clone.
#[derive(Clone)]
pub struct Reader {
    behind: Arc<Behind>,
}

impl Reader {
    #[must_use]
    pub fn new(behind: Arc<Behind>) -> Reader {
        Reader { behind }
    }

    /// See `Store::read_after`.
    pub fn after(&self, session: SessionId, after: Seq, most: Most) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        self.patiently(|| {
            let mut found = self.look_after(session, after, most)?;
            // A page that ends where the database does goes on in the tail.
            if let Some(rest) = most.less(&found)
                && let Some((last, _)) = found.last()
            {
                found.extend(self.look_after(session, *last, rest)?);
                found = page(found.into_iter(), most.events, most.bytes);
            }
            self.real(session, found)
        })
    }

    /// The same, for the checkpoint: what is damaged is said and left as it is.
    ///
    /// # Errors
    /// As `after`; also `Damaged`.
    pub fn after_once(&self, session: SessionId, after: Seq, most: Most) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        for _ in 0..ATTEMPTS {
            match self.look_after(session, after, most).and_then(|page| self.real(session, page)) {
                Ok(page) => return Ok(page),
                Err(Snag::Moved) => {}
                Err(snag) => return Err(final_word(snag)),
            }
        }
        Err(ReadError::Damaged { session, why: "its events lie elsewhere each time".to_owned() })
    }

    /// See `Store::read_before`.
    pub fn before(&self, session: SessionId, before: Option<Seq>, most: Most) -> Result<Vec<(Seq, Bytes)>, ReadError> {
        self.patiently(|| {
            let mut found = self.look_before(session, before, most)?;
            // A page that begins where the tail does goes on in the database.
            if let Some(rest) = most.less(&found)
                && let Some((first, _)) = found.first()
            {
                let mut older = self.look_before(session, Some(*first), rest)?;
                older.append(&mut found);
                found = page(older.into_iter().rev(), most.events, most.bytes);
                found.reverse();
            }
            self.real(session, found)
        })
    }

    /// See `Store::last_seq`.
    pub fn last_seq(&self, session: SessionId) -> Result<Option<Seq>, ReadError> {
        self.patiently(|| match self.behind.tail.check(session) {
            Ok(()) => match self.behind.tail.last_seq(session) {
                Some(last) => Ok(Some(last)),
                None => Ok(self.row_in_database(session)?.map(|row| row.last)),
            },
            Err(TailError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// One attempt, for the commit thread, which waits for nobody.
    pub fn last_seq_once(&self, session: SessionId) -> Result<Option<Seq>, ReadError> {
        let found = match self.behind.tail.last_seq(session) {
            Some(last) => Ok(Some(last)),
            None => self.row_in_database(session).map(|row| row.map(|row| row.last)),
        };
        found.map_err(final_word)
    }

    /// See `Store::row`.
    pub fn row(&self, session: SessionId) -> Result<Option<Row>, ReadError> {
        self.settle();
        self.patiently(|| {
            if self.behind.tail.is_deleted(session) {
                return Ok(None);
            }
            Ok(self.row_in_database(session)?.map(|stored| Row { session, last: stored.last, row: stored.folded.row }))
        })
    }

    /// See `Store::rows`.
    pub fn rows(&self, among: RangeInclusive<SessionId>, direction: Direction, most: usize) -> Result<Vec<Row>, ReadError> {
        self.settle();
        let range = keys::rows(*among.start(), *among.end());
        self.patiently(|| {
            let (mut rows, mut bad) = (Vec::new(), None);
            self.behind.slot.with(|shelf| {
                shelf.scan(&range, direction, &mut |key, value| {
                    let Some(session) = keys::session_of(key) else { return Scan::More };
                    match keys::unframe(key, value).and_then(Stored::decode) {
                        Ok(stored) => rows.push(Row { session, last: stored.last, row: stored.folded.row }),
                        Err(why) => {
                            bad = Some((session, why.to_string()));
                            return Scan::Enough;
                        }
                    }
                    if rows.len() < most { Scan::More } else { Scan::Enough }
                })
            })?;
            match bad {
                // One that is set apart already has no better row.
                Some((session, why)) if self.behind.tail.quarantine_of(session).is_none() => Err(Snag::Session { session, why }),
                Some(_) | None => {
                    rows.retain(|row| !self.behind.tail.is_deleted(row.session));
                    Ok(rows)
                }
            }
        })
    }

    /// See `Store::unsettled`.
    pub fn unsettled(&self) -> Result<Vec<SessionId>, ReadError> {
        self.settle();
        self.sessions_in(&keys::all_unsettled())
    }

    /// See `Store::labelled`.
    pub fn labelled(&self, label: Label) -> Result<Vec<SessionId>, ReadError> {
        self.settle();
        let found = self.sessions_in(&keys::labelled(label))?;
        // A label whose row was damaged may have outlived it.
        let bears = |session: &SessionId| {
            let row = self.patiently(|| self.row_in_database(*session));
            row.is_ok_and(|row| row.is_some_and(|row| row.folded.labels.contains(&label)))
        };
        Ok(found.into_iter().filter(bears).collect())
    }

    /// How many sessions there are.
    pub fn count(&self) -> Result<u64, ReadError> {
        self.settle();
        self.patiently(|| Ok(self.behind.slot.with(group::read_meta)?.map_or(0, |meta| meta.sessions)))
    }

    /// Builds the database anew; returns when it is done.
    ///
    /// # Errors
    /// Why it was not.
    pub fn rebuild(&self, why: Rebuild) -> Result<(), String> {
        let (done, outcome) = channel();
        self.behind.tail.order(Order::Rebuild { why, done });
        outcome.recv().unwrap_or_else(|_| Err("the store has ended".to_owned()))
    }

    /// Lists show what was acknowledged. Where the database takes nothing at present, they show what it has.
    fn settle(&self) {
        if let Err(stuck) = self.behind.tail.wait_applied(INDEX_PATIENCE) {
            tracing::warn!(why = %stuck.0, "the list may not show the newest");
        }
    }

    fn sessions_in(&self, range: &keys::Range) -> Result<Vec<SessionId>, ReadError> {
        self.patiently(|| {
            let mut found = Vec::new();
            self.behind.slot.with(|shelf| {
                shelf.scan(range, Direction::Ascending, &mut |key, _| {
                    found.extend(keys::session_of(key));
                    Scan::More
                })
            })?;
            found.retain(|session| !self.behind.tail.is_deleted(*session));
            Ok(found)
        })
    }

    fn row_in_database(&self, session: SessionId) -> Result<Option<Stored>, Snag> {
        self.behind.slot.with(|shelf| group::read_row(shelf, session)).map_err(Snag::from)
    }

    fn look_after(&self, session: SessionId, after: Seq, most: Most) -> Result<Vec<(Seq, Bytes)>, Snag> {
        let until = match self.behind.tail.read_after(session, after, most.events, most.bytes)? {
            Part::Events(events) => return Ok(events),
            Part::Before(until) => until,
        };
        let Some(from) = after.0.checked_add(1).map(Seq) else { return Ok(Vec::new()) };
        let range = keys::events(session, from, until.unwrap_or(Seq(u64::MAX)));
        let found = self.scan(session, &range, Direction::Ascending, most)?;
        match found.first() {
            None if most.events == 0 => self.exists(session),
            // Nothing here: either it is the end, or something is gone.
            None => match self.row_in_database(session)? {
                None if until.is_none() => Err(Snag::Final(ReadError::NotFound { session })),
                Some(row) if row.last <= after => Ok(Vec::new()),
                Some(_) | None => Err(gone(session, from)),
            },
            Some((first, _)) if *first != from => Err(gone(session, from)),
            Some(_) => Ok(found),
        }
    }

    fn look_before(&self, session: SessionId, before: Option<Seq>, most: Most) -> Result<Vec<(Seq, Bytes)>, Snag> {
        let until = match self.behind.tail.read_before(session, before, most.events, most.bytes)? {
            Part::Events(events) => return Ok(events),
            Part::Before(until) => until,
        };
        let range = keys::events(session, Seq(1), until.unwrap_or(Seq(u64::MAX)).max(Seq(1)));
        let mut found = self.scan(session, &range, Direction::Descending, most)?;
        if most.events == 0 {
            return self.exists(session);
        }
        found.reverse();
        let last = match self.behind.tail.last_seq(session) {
            Some(last) => last,
            None => self.row_in_database(session)?.map(|row| row.last).ok_or(Snag::Final(ReadError::NotFound { session }))?,
        };
        let due = until.map_or(last, |until| last.min(Seq(until.0.saturating_sub(1))));
        match found.last() {
            None if due == Seq::ZERO => Ok(found),
            Some((newest, _)) if *newest == due => Ok(found),
            Some(_) | None => Err(gone(session, due)),
        }
    }

    /// Large events, read from their files.
    fn real(&self, session: SessionId, page: Vec<(Seq, Bytes)>) -> Result<Vec<(Seq, Bytes)>, Snag> {
        let real =
            page.into_iter().map(|(seq, stored)| match blobs::fetch(self.behind.files.as_ref(), &self.behind.places, session, &stored) {
                Ok(event) => Ok((seq, event)),
                Err(error @ BlobError::Damaged { .. }) => Err(Snag::Session { session, why: format!("event {seq}: {error}") }),
                Err(error @ (BlobError::Read { .. } | BlobError::Write { .. })) => {
                    Err(Snag::Final(ReadError::Damaged { session, why: error.to_string() }))
                }
            });
        real.collect()
    }

    fn exists(&self, session: SessionId) -> Result<Vec<(Seq, Bytes)>, Snag> {
        let known = self.behind.tail.last_seq(session).is_some() || self.row_in_database(session)?.is_some();
        if known { Ok(Vec::new()) } else { Err(Snag::Final(ReadError::NotFound { session })) }
    }

    /// A page of events as they lie in the database, dense from its first on.
    fn scan(&self, session: SessionId, range: &keys::Range, direction: Direction, most: Most) -> Result<Vec<(Seq, Bytes)>, Snag> {
        let (mut found, mut bytes, mut bad) = (Vec::new(), 0, None);
        self.behind.slot.with(|shelf| {
            if most.events == 0 || range.from >= range.to {
                return Ok(());
            }
            shelf.scan(range, direction, &mut |key, value| {
                let before: Option<Seq> = found.last().map(|(seq, _): &(Seq, Bytes)| *seq);
                let due = |seq: Seq| match (before, direction) {
                    (None, _) => true,
                    (Some(before), Direction::Ascending) => seq == before.next(),
                    (Some(before), Direction::Descending) => seq.next() == before,
                };
                match (keys::seq_of(key).filter(|seq| due(*seq)), keys::unframe(key, value)) {
                    (Some(seq), Ok(event)) => {
                        found.push((seq, Bytes::copy_from_slice(event)));
                        bytes += blobs::len_of(event);
                    }
                    (None, _) => bad = Some(format!("an event before or behind {before:?} is gone")),
                    (Some(seq), Err(why)) => bad = Some(format!("event {seq}: {why}")),
                }
                let full = found.len() >= most.events.min(PAGE_RECORDS) || bytes >= most.bytes;
                if full || bad.is_some() { Scan::Enough } else { Scan::More }
            })
        })?;
        match bad {
            Some(why) => Err(Snag::Session { session, why }),
            None => Ok(page(found.into_iter(), most.events, most.bytes)),
        }
    }

    /// Repairs what stands in the way, and tries again.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Snag>) -> Result<T, ReadError> {
        for _ in 1..ATTEMPTS {
            let snag = match attempt() {
                Ok(found) => return Ok(found),
                Err(snag) => snag,
            };
            match snag {
                Snag::Moved => {}
                Snag::Session { session, why } => self.restore(session, why)?,
                Snag::Shelf(ShelfError::Corrupt(why)) => {
                    // Another reader may have ordered it before; one more costs time, not data.
                    self.rebuild(Rebuild::Damaged(why)).map_err(|why| ReadError::Database { why })?;
                }
                snag @ (Snag::Shelf(ShelfError::Io(_) | ShelfError::Away) | Snag::Final(_)) => return Err(final_word(snag)),
            }
        }
        attempt().map_err(final_word)
    }

    /// Has a session restored that somebody else found damaged.
    pub fn mend(&self, session: SessionId, why: &str) {
        if let Err(error) = self.restore(session, why.to_owned()) {
            tracing::error!(%session, %error, "the session cannot be restored now");
        }
    }

    fn restore(&self, session: SessionId, why: String) -> Result<(), ReadError> {
        let (done, outcome) = channel();
        self.behind.tail.order(Order::Restore { session, why, done });
        match outcome.recv_timeout(RESTORE_PATIENCE) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(ReadError::Damaged { session, why }),
            Err(_) => Err(ReadError::Damaged { session, why: "it was not restored in time".to_owned() }),
        }
    }
}

fn gone(session: SessionId, seq: Seq) -> Snag {
    Snag::Session { session, why: format!("event {seq} is gone") }
}

fn final_word(snag: Snag) -> ReadError {
    match snag {
        Snag::Moved => ReadError::Database { why: "what is read lies elsewhere each time".to_owned() },
        Snag::Session { session, why } => ReadError::Damaged { session, why },
        Snag::Shelf(error) => ReadError::Database { why: error.to_string() },
        Snag::Final(error) => error,
    }
}
