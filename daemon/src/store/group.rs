//! Records on their way into the database: events, rows, labels and how far it has come, as one atomic batch. It never
//! decides what an event means and never reads a journal.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::blobs::Kept;
use super::index::{Folded, Meta, Projector, Standing, Stored};
use super::keys::{self, BadValue};
use super::limits::{REMOVE_KEYS, REWRITE_BYTES};
use super::shelf::{Change, Order, Scan, Shelf, ShelfError};

/// Why a record cannot go into the database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// This session's entries are damaged, others' are not.
    #[error("session {session}: {why}")]
    Session { session: SessionId, why: String },
    #[error(transparent)]
    Shelf(#[from] ShelfError),
}

/// Records of any sessions, in the journal's order.
pub struct Group<'a> {
    shelf: &'a dyn Shelf,
    projector: &'a dyn Projector,
    rows: BTreeMap<SessionId, Draft>,
    changes: Vec<Change>,
    weight: usize,
    meta: Meta,
}

/// A session's row before and after.
struct Draft {
    before: Option<Stored>,
    last: Seq,
    fresh: Vec<Bytes>,
}

impl<'a> Group<'a> {
    /// An empty one.
    ///
    /// # Errors
    /// The database, or what it says about itself.
    pub fn new(shelf: &'a dyn Shelf, projector: &'a dyn Projector) -> Result<Group<'a>, ShelfError> {
        let meta = read_meta(shelf)?.unwrap_or_default();
        Ok(Group { shelf, projector, rows: BTreeMap::new(), changes: Vec::new(), weight: 0, meta })
    }

    /// Bytes of the events in it, about.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Events of a session from `first` on. Those that are there already are left out; the rest must follow the last.
    ///
    /// # Errors
    /// The session's row is damaged, or events before these are missing. Nothing was taken then.
    pub fn events(&mut self, session: SessionId, first: Seq, events: &[Kept]) -> Result<(), GroupError> {
        let draft = match self.rows.entry(session) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let before = read_row(self.shelf, session)?;
                let last = before.as_ref().map_or(Seq::ZERO, |row| row.last);
                entry.insert(Draft { before, last, fresh: Vec::new() })
            }
        };
        if first.0 > draft.last.0 + 1 {
            let why = format!("event {first} follows event {}; those between are damaged", draft.last);
            return Err(GroupError::Session { session, why });
        }
        let known = usize::try_from(draft.last.0 + 1 - first.0).unwrap_or(usize::MAX);
        for event in events.iter().skip(known) {
            draft.last = draft.last.next();
            let key = keys::event(session, draft.last);
            let value = keys::frame(&key, &event.stored);
            self.weight += key.len() + event.real.len();
            self.changes.push(Change::Set(key, value));
            draft.fresh.push(event.real.clone());
        }
        Ok(())
    }

    /// This record of the journal is in it, or has nothing to add.
    pub fn pass(&mut self, number: u64) {
        self.meta.applied = self.meta.applied.max(number);
    }

    /// Applies it.
    ///
    /// # Errors
    /// The database; then nothing of it was applied.
    pub fn finish(mut self) -> Result<(), ShelfError> {
        for (session, draft) in std::mem::take(&mut self.rows) {
            if !draft.fresh.is_empty() {
                self.finish_row(session, draft);
            }
        }
        self.changes.push(set(keys::meta(), &self.meta.encode()));
        self.shelf.apply(self.changes)
    }

    fn finish_row(&mut self, session: SessionId, draft: Draft) {
        let Draft { before, last, fresh } = draft;
        if before.is_none() {
            self.meta.sessions += 1;
        }
        let before = before.unwrap_or_else(Stored::empty);
        let row = Some(before.folded.row.as_slice()).filter(|row| !row.is_empty());
        let folded = self.projector.fold(row, &fresh).unwrap_or_else(|error| {
            tracing::error!(%session, %last, %error, "the session's row in the index cannot be brought up to date");
            before.folded.clone()
        });
        for label in before.folded.labels.iter().filter(|label| !folded.labels.contains(label)) {
            self.changes.push(Change::Remove(keys::label(*label, session)));
        }
        for label in folded.labels.iter().filter(|label| !before.folded.labels.contains(label)) {
            self.changes.push(set(keys::label(*label, session), &[]));
        }
        match (before.folded.standing, folded.standing) {
            (Standing::Settled, Standing::Unsettled) => self.changes.push(set(keys::unsettled(session), &[])),
            (Standing::Unsettled, Standing::Settled) => self.changes.push(Change::Remove(keys::unsettled(session))),
            (Standing::Settled, Standing::Settled) | (Standing::Unsettled, Standing::Unsettled) => {}
        }
        self.changes.push(set(keys::row(session), &Stored { last, folded }.encode()));
    }
}

/// One session written anew over whatever is there, its row last: a crash in between leaves what was there, or what it should
/// be, of every entry.
pub struct Rewrite<'a> {
    shelf: &'a dyn Shelf,
    projector: &'a dyn Projector,
    session: SessionId,
    last: Seq,
    folded: Folded,
    fresh: Vec<Bytes>,
    changes: Vec<Change>,
}

impl<'a> Rewrite<'a> {
    #[must_use]
    pub fn new(shelf: &'a dyn Shelf, projector: &'a dyn Projector, session: SessionId) -> Rewrite<'a> {
        let Stored { last, folded } = Stored::empty();
        Rewrite { shelf, projector, session, last, folded, fresh: Vec::new(), changes: Vec::new() }
    }

    /// Its events in order, from the first on. Those that were given already are left out.
    ///
    /// # Errors
    /// Events before these are missing, or the database.
    pub fn events(&mut self, first: Seq, events: &[Kept]) -> Result<(), GroupError> {
        if first > self.last.next() {
            let why = format!("event {first} follows event {}; those between are damaged", self.last);
            return Err(GroupError::Session { session: self.session, why });
        }
        let known = usize::try_from(self.last.0 + 1 - first.0).unwrap_or(usize::MAX);
        for event in events.iter().skip(known) {
            self.last = self.last.next();
            self.changes.push(set(keys::event(self.session, self.last), &event.stored));
            self.fresh.push(event.real.clone());
        }
        if self.fresh.iter().map(Bytes::len).sum::<usize>() >= REWRITE_BYTES {
            self.fold();
            self.shelf.apply(std::mem::take(&mut self.changes))?;
        }
        Ok(())
    }

    fn fold(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let row = Some(self.folded.row.as_slice()).filter(|row| !row.is_empty());
        if !fresh.is_empty() {
            match self.projector.fold(row, &fresh) {
                Ok(folded) => self.folded = folded,
                Err(error) => tracing::error!(session = %self.session, %error, "the session's row in the index cannot be made"),
            }
        }
    }

    /// The rest, and its row.
    ///
    /// # Errors
    /// The database.
    pub fn finish(mut self) -> Result<(), ShelfError> {
        self.fold();
        let before = match read_row(self.shelf, self.session) {
            Ok(row) => row.map(|row| row.folded),
            Err(GroupError::Session { .. }) => None,
            Err(GroupError::Shelf(error)) => return Err(error),
        };
        let Rewrite { shelf, session, last, folded, mut changes, .. } = self;
        for label in before.iter().flat_map(|before| &before.labels).filter(|label| !folded.labels.contains(label)) {
            changes.push(Change::Remove(keys::label(*label, session)));
        }
        changes.extend(folded.labels.iter().map(|label| set(keys::label(*label, session), &[])));
        changes.push(match folded.standing {
            Standing::Settled => Change::Remove(keys::unsettled(session)),
            Standing::Unsettled => set(keys::unsettled(session), &[]),
        });
        if shelf.get(&keys::row(session))?.is_none() {
            let mut meta = read_meta(shelf)?.unwrap_or_default();
            meta.sessions += 1;
            changes.push(set(keys::meta(), &meta.encode()));
        }
        changes.push(set(keys::row(session), &Stored { last, folded }.encode()));
        shelf.apply(changes)
    }
}

fn set(key: Vec<u8>, content: &[u8]) -> Change {
    let value = keys::frame(&key, content);
    Change::Set(key, value)
}

/// How far the database has come; nothing if it has not begun.
///
/// # Errors
/// The database; an unreadable answer is damage of the whole.
pub fn read_meta(shelf: &dyn Shelf) -> Result<Option<Meta>, ShelfError> {
    let key = keys::meta();
    let Some(value) = shelf.get(&key)? else { return Ok(None) };
    let meta = keys::unframe(&key, &value).and_then(Meta::decode);
    meta.map(Some).map_err(|why| ShelfError::Corrupt(format!("what it says about itself: {why}")))
}

/// The journal counts its records from 1 again.
///
/// # Errors
/// The database.
pub fn restart(shelf: &dyn Shelf) -> Result<(), ShelfError> {
    let meta = Meta { applied: 0, ..read_meta(shelf)?.unwrap_or_default() };
    shelf.apply(vec![set(keys::meta(), &meta.encode())])
}

/// A session's row.
///
/// # Errors
/// The row is damaged, or the database.
pub fn read_row(shelf: &dyn Shelf, session: SessionId) -> Result<Option<Stored>, GroupError> {
    let key = keys::row(session);
    let Some(value) = shelf.get(&key)? else { return Ok(None) };
    let row = keys::unframe(&key, &value).and_then(Stored::decode);
    row.map(Some).map_err(|why: BadValue| GroupError::Session { session, why: format!("its row in the index: {why}") })
}

/// Removes everything of a session, and its mark of a quarantine with it. Done in steps; the row goes with the last.
///
/// # Errors
/// The database; done again it goes on.
pub fn remove_session(shelf: &dyn Shelf, session: SessionId) -> Result<(), ShelfError> {
    loop {
        let mut found = Vec::new();
        shelf.scan(&keys::all_of(session), Order::Ascending, &mut |key, _| {
            found.push(Change::Remove(key.to_vec()));
            if found.len() < REMOVE_KEYS { Scan::More } else { Scan::Enough }
        })?;
        if found.is_empty() {
            break;
        }
        shelf.apply(found)?;
    }
    let mut meta = read_meta(shelf)?.unwrap_or_default();
    // Of a damaged row nobody knows the labels: whoever finds one checks that its session is there.
    let labels = match read_row(shelf, session) {
        Ok(Some(row)) => row.folded.labels,
        Ok(None) | Err(GroupError::Session { .. }) => Vec::new(),
        Err(GroupError::Shelf(error)) => return Err(error),
    };
    if shelf.get(&keys::row(session))?.is_some() {
        meta.sessions = meta.sessions.saturating_sub(1);
    }
    let mut changes: Vec<Change> = labels.into_iter().map(|label| Change::Remove(keys::label(label, session))).collect();
    changes.extend([keys::unsettled(session), keys::quarantine(session), keys::row(session)].map(Change::Remove));
    changes.push(set(keys::meta(), &meta.encode()));
    shelf.apply(changes)
}

/// Remembers that a session is set apart, and why.
///
/// # Errors
/// The database.
pub fn mark_quarantined(shelf: &dyn Shelf, session: SessionId, why: &str) -> Result<(), ShelfError> {
    shelf.apply(vec![set(keys::quarantine(session), why.as_bytes()), Change::Remove(keys::unsettled(session))])
}

/// Sessions that are set apart, and why.
///
/// # Errors
/// The database.
pub fn read_quarantined(shelf: &dyn Shelf) -> Result<BTreeMap<SessionId, String>, ShelfError> {
    let mut found = BTreeMap::new();
    shelf.scan(&keys::all_quarantined(), Order::Ascending, &mut |key, value| {
        if let Some(session) = keys::session_of(key) {
            let why = keys::unframe(key, value).map(|why| String::from_utf8_lossy(why).into_owned());
            found.insert(session, why.unwrap_or_else(|_| "its history is damaged".to_owned()));
        }
        Scan::More
    })?;
    Ok(found)
}
