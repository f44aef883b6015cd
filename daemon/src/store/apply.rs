//! The apply thread: it alone writes into the database, behind the journal and behind every acknowledgement. It never syncs
//! one and never tells a waiter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentd_types::{Seq, SessionId};

use super::blobs::{self, BlobError, Kept};
use super::cold;
use super::file::FileSystem;
use super::group::{self, Group, GroupError, Rewrite};
use super::index::Projector;
use super::journal::Place;
use super::limits::{EXCHANGE_PATIENCE, Limits};
use super::open::{Damage, Opened, Rebuilt};
use super::places::Places;
use super::rebuild::{self, Doubtful, RebuildError, Sources};
use super::shelf::{Shelf, ShelfError, Shelves, Slot};
use super::status::{Told, Weight};
use super::tail::Rebuild;
use super::tail::{Found, Indexed, Order, Restored, Tail, TailError, Waiting, What, Work};
use crate::clock::Clock;

/// What the threads behind the journal share.
pub struct Behind {
    pub files: Arc<dyn FileSystem>,
    pub shelves: Arc<dyn Shelves>,
    pub projector: Arc<dyn Projector>,
    pub clock: Arc<dyn Clock>,
    pub places: Places,
    pub limits: Limits,
    pub tail: Arc<Tail>,
    pub slot: Slot,
    pub told: Told,
    /// Segments with damage in them: set aside when they are freed.
    pub damaged: BTreeSet<u32>,
    /// Whoever frees segments or reads all of them has the turn: one at a time. It guards no state.
    pub turn: Mutex<()>,
    /// One checkpoint at a time: each frees only what it has brought behind itself. It guards no state, either.
    pub checkpoints: Mutex<()>,
}

impl Behind {
    #[must_use]
    pub fn sources(&self) -> Sources<'_> {
        Sources {
            files: self.files.as_ref(),
            places: &self.places,
            projector: self.projector.as_ref(),
            batch: self.limits.apply_bytes,
            blob: self.limits.blob,
        }
    }
}

impl Behind {
    /// Keeps what opening found, for the status.
    pub fn tell(&self, opened: &Opened) {
        let now = self.clock.now();
        if let Some(cut) = &opened.cut {
            let text = format!("the end of {} was torn by a crash and cut; nothing acknowledged was in it", cut.segment.display());
            self.told.say(now, Weight::Note, text);
        }
        for damage in opened.damage.iter().filter(|damage| damage.records > 0) {
            let Damage { segment, offset, records, .. } = damage;
            self.told.say(now, Weight::Attention, format!("{records} records before byte {offset} of {} are damaged", segment.display()));
        }
        for (session, why) in &opened.quarantined {
            self.told.say(now, Weight::Attention, format!("session {session} is damaged and kept apart: {why}"));
        }
        if let Some(Rebuilt { why, aside, sessions, events, took_ms }) = &opened.rebuilt {
            let aside = aside.as_ref().map_or(String::new(), |aside| format!("; what was there lies in {}", aside.display()));
            let from = format!("{sessions} sessions, {events} events from cold copies, {took_ms} ms");
            self.told.say(now, Weight::Attention, format!("the database was built anew, because {why}: {from}{aside}"));
        }
    }
}

/// The thread: until it is over.
pub fn run(behind: &Behind) {
    let mut pause = None;
    loop {
        match behind.tail.next_work(&behind.limits, pause.take()) {
            Work::Over => return,
            Work::Order(order) => carry_out(behind, order),
            Work::Apply(records) => {
                if let Err(error) = apply(behind, &records) {
                    pause = Some(trouble(behind, error));
                }
            }
        }
    }
}

/// Damage is repaired at once; anything else is tried again after a pause.
fn trouble(behind: &Behind, error: GroupError) -> Duration {
    match error {
        GroupError::Session { session, why } => {
            if let Err(error) = restore(behind, session, &why) {
                tracing::error!(%session, %error, "the session cannot be restored now");
                behind.tail.stuck(error);
                return behind.limits.retry;
            }
            Duration::ZERO
        }
        GroupError::Shelf(ShelfError::Corrupt(why)) => {
            if let Err(error) = rebuild(behind, &Rebuild::Damaged(why)) {
                behind.tail.stuck(error);
                return behind.limits.retry;
            }
            Duration::ZERO
        }
        GroupError::Shelf(ShelfError::Away) => {
            // An exchange was cut short: what lies there is opened again.
            let opened = behind.shelves.open(&behind.places.db).map(|shelf| behind.slot.put(shelf));
            if let Err(error) = opened {
                behind.tail.stuck(error.to_string());
            }
            behind.limits.retry
        }
        GroupError::Shelf(error @ ShelfError::Io(_)) => {
            tracing::error!(%error, "the database takes nothing; the journal keeps it meanwhile");
            behind.tail.stuck(format!("{error}; free some space or check the disk"));
            behind.limits.retry
        }
    }
}

/// Puts records from the front of the queue into the database, with one batch where that goes.
fn apply(behind: &Behind, records: &[(Waiting, Option<Found>)]) -> Result<(), GroupError> {
    if let Some((Waiting { what: What::Deleted { session }, place }, _)) = records.first() {
        behind.slot.with(|shelf| {
            group::remove_session(shelf, *session)?;
            let mut group = Group::new(shelf, behind.projector.as_ref())?;
            group.pass(place.number);
            group.finish()
        })?;
        behind.tail.applied(1);
        return Ok(());
    }
    let (mut taken, mut stopped) = (0, Ok(()));
    behind.slot.with(|shelf| {
        let mut group = Group::new(shelf, behind.projector.as_ref())?;
        for (waiting, found) in records {
            let What::Events { session, first, .. } = waiting.what else { break };
            if let Some(found) = found {
                match events(behind, session, found.clone()).and_then(|events| group.events(session, first, &events)) {
                    Ok(()) => {}
                    Err(GroupError::Shelf(error)) => return Err(error),
                    Err(error) => {
                        stopped = Err(error);
                        break;
                    }
                }
            }
            group.pass(waiting.place.number);
            taken += 1;
            if group.weight() >= behind.limits.apply_bytes {
                break;
            }
        }
        if taken > 0 { group.finish() } else { Ok(()) }
    })?;
    behind.tail.applied(taken);
    stopped
}

/// A record's events; what cannot be read of journal or files is the session's damage, unless the disk is in trouble.
fn events(behind: &Behind, session: SessionId, found: Found) -> Result<Vec<Kept>, GroupError> {
    let events = match behind.tail.fetch(session, vec![found]) {
        Ok(events) => events,
        Err(TailError::Io { path, source }) => return Err(ShelfError::Io(format!("reading {}: {source}", path.display())).into()),
        Err(error) => return Err(GroupError::Session { session, why: error.to_string() }),
    };
    let kept = events.into_iter().map(|(_, stored)| match blobs::fetch(behind.files.as_ref(), &behind.places, session, &stored) {
        Ok(real) => Ok(Kept { real, stored }),
        Err(error @ BlobError::Damaged { .. }) => Err(GroupError::Session { session, why: error.to_string() }),
        Err(error @ (BlobError::Read { .. } | BlobError::Write { .. })) => Err(ShelfError::Io(error.to_string()).into()),
    });
    kept.collect()
}

fn carry_out(behind: &Behind, order: Order) {
    let (outcome, done) = match order {
        Order::Restore { session, why, done } => (restore(behind, session, &why), done),
        Order::Rebuild { why, done } => (rebuild(behind, &why), done),
    };
    // Whoever wanted it may not wait any more.
    let _ = done.send(outcome);
}

/// Writes one session anew from cold copy and journal; if those do not hold all of it, it is set apart.
fn restore(behind: &Behind, session: SessionId, why: &str) -> Restored {
    let _turn = behind.turn.lock().unwrap_or_else(PoisonError::into_inner);
    if behind.tail.check(session).is_err() {
        // It was deleted or set apart meanwhile: nothing is left to do.
        return Ok(());
    }
    tracing::warn!(%session, why, "a session's entries in the database are damaged: it is restored");
    let outcome = write_anew(behind, session, why);
    match outcome {
        Ok(Rewritten::Whole) => {
            behind.told.say(
                behind.clock.now(),
                Weight::Attention,
                format!("session {session} was damaged in the database ({why}) and restored; nothing is lost"),
            );
            Ok(())
        }
        Ok(Rewritten::SetApart) => Ok(()),
        // Neither has all of it.
        Err(RebuildError::Group(GroupError::Session { why, .. })) => quarantine(behind, session, &why).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

enum Rewritten {
    Whole,
    SetApart,
}

fn write_anew(behind: &Behind, session: SessionId, why: &str) -> Result<Rewritten, RebuildError> {
    // First: what is committed while the journal is read is not missing from it.
    let committed = behind.tail.last_seq(session);
    let records = rebuild::journal(behind.sources(), behind.tail.number())?;
    let (known, least) = rebuild::known_of(session, &records, behind.sources())?;
    let had = behind.slot.with(|shelf| match group::read_row(shelf, session) {
        Ok(row) => Ok(row.map(|row| row.last)),
        Err(GroupError::Session { .. }) => Ok(None),
        Err(GroupError::Shelf(error)) => Err(error),
    })?;
    let wanted = committed.max(had).unwrap_or(Seq::ZERO).max(least);
    if wanted > known || known == Seq::ZERO {
        let reason = format!("{why}; cold copy and journal hold its events up to {known} only");
        quarantine(behind, session, &reason)?;
        return Ok(Rewritten::SetApart);
    }
    behind.slot.with(|shelf| {
        let mut rewrite = Rewrite::new(shelf, behind.projector.as_ref(), session);
        cold::each_event::<RebuildError>(
            behind.files.as_ref(),
            &behind.places.archive,
            session,
            behind.projector.as_ref(),
            |seq, event| Ok(rewrite.events(seq, &[behind.sources().kept(session, event)?])?),
        )?;
        for (place, what) in &records {
            if let What::Events { session: of, first, count } = *what
                && of == session
            {
                let found = Found::Stored(Indexed { first, count, place: *place });
                rewrite.events(first, &events(behind, session, found)?)?;
            }
        }
        rewrite.finish()?;
        Ok(Rewritten::Whole)
    })
}

/// Sets a session apart, and remembers it.
fn quarantine(behind: &Behind, session: SessionId, reason: &str) -> Result<(), ShelfError> {
    tracing::error!(%session, reason, "a session's history is damaged: it is kept apart");
    behind.told.say(behind.clock.now(), Weight::Attention, format!("session {session} is damaged and kept apart: {reason}"));
    behind.tail.quarantine(session, reason.to_owned());
    behind.slot.with(|shelf| group::mark_quarantined(shelf, session, reason))
}

/// Puts records of the journal into a database; those of a session that do not fit are left out, and why is noted.
fn replay(
    behind: &Behind,
    shelf: &dyn Shelf,
    records: &[(Place, What)],
    damaged: &mut BTreeMap<SessionId, String>,
) -> Result<(), RebuildError> {
    let mut group = Group::new(shelf, behind.projector.as_ref())?;
    for (place, what) in records {
        match *what {
            What::Events { session, .. } if damaged.contains_key(&session) => {}
            What::Events { session, first, count } => {
                let found = Found::Stored(Indexed { first, count, place: *place });
                match events(behind, session, found).and_then(|events| group.events(session, first, &events)) {
                    Ok(()) => {}
                    Err(GroupError::Session { session, why }) => {
                        damaged.insert(session, why);
                    }
                    Err(GroupError::Shelf(error)) => return Err(error.into()),
                }
            }
            What::Deleted { session } => {
                damaged.remove(&session);
                std::mem::replace(&mut group, Group::new(shelf, behind.projector.as_ref())?).finish()?;
                group::remove_session(shelf, session)?;
                group = Group::new(shelf, behind.projector.as_ref())?;
            }
        }
        group.pass(place.number);
        if group.weight() >= behind.limits.apply_bytes {
            std::mem::replace(&mut group, Group::new(shelf, behind.projector.as_ref())?).finish()?;
            group = Group::new(shelf, behind.projector.as_ref())?;
        }
    }
    group.finish()?;
    Ok(())
}

/// A new database from cold copies and journal takes the place of the old one.
fn rebuild(behind: &Behind, why: &Rebuild) -> Restored {
    let _turn = behind.turn.lock().unwrap_or_else(PoisonError::into_inner);
    match why {
        Rebuild::Asked => tracing::info!("the database is built anew, as asked"),
        Rebuild::Damaged(why) => tracing::error!(why, "the database is damaged: it is built anew from cold copies and journal"),
    }
    let started = std::time::Instant::now();
    match build(behind).and_then(|built| exchange(behind, why).map(|aside| (built, aside))) {
        Ok(((sessions, events), aside)) => {
            let (weight, cause) = match why {
                Rebuild::Asked => (Weight::Note, "as asked".to_owned()),
                Rebuild::Damaged(why) => (Weight::Attention, format!("because it was damaged ({why})")),
            };
            let aside = aside.map_or(String::new(), |aside| format!("; the old one lies in {}", aside.display()));
            let took = started.elapsed().as_millis();
            let text =
                format!("the database was built anew, {cause}: {sessions} sessions, {events} events from cold copies, {took} ms{aside}");
            tracing::info!("{text}");
            behind.told.say(behind.clock.now(), weight, text);
            Ok(())
        }
        Err(error) => {
            tracing::error!(%error, "the database cannot be built anew");
            Err(error.to_string())
        }
    }
}

/// Fills `db.new` and closes it: sessions and events.
fn build(behind: &Behind) -> Result<(u64, u64), RebuildError> {
    let dir = &behind.places.new_db;
    let failed = |error: std::io::Error| RebuildError::Shelf(ShelfError::Io(format!("{}: {error}", dir.display())));
    behind.shelves.remove(dir).map_err(failed)?;
    let shelf = behind.shelves.open(dir)?;
    let built = rebuild::from_cold(shelf.as_ref(), behind.sources())?;
    let mut damaged: BTreeMap<SessionId, String> = BTreeMap::new();
    let records = rebuild::journal(behind.sources(), behind.tail.number())?;
    replay(behind, shelf.as_ref(), &records, &mut damaged)?;
    for Doubtful { session, why, known } in built.doubtful {
        let reached = group::read_row(shelf.as_ref(), session)?.map_or(Seq::ZERO, |row| row.last);
        if reached < known && !behind.tail.is_deleted(session) {
            damaged.entry(session).or_insert(why);
        }
    }
    // Who was set apart stays so: what is missing of it is in no cold copy.
    damaged.extend(behind.tail.quarantined());
    for (session, why) in &damaged {
        group::mark_quarantined(shelf.as_ref(), *session, why)?;
        behind.tail.quarantine(*session, why.clone());
    }
    shelf.flush()?;
    Ok((built.sessions, built.events))
}

/// Closes the old database, moves it out of the way and puts the new one in its place. A damaged one is kept.
fn exchange(behind: &Behind, why: &Rebuild) -> Result<Option<PathBuf>, RebuildError> {
    let failed = |error: std::io::Error| RebuildError::Shelf(ShelfError::Io(error.to_string()));
    let Places { db, new_db, .. } = &behind.places;
    // Readers wait until the new one is there.
    drop(behind.slot.take(EXCHANGE_PATIENCE));
    let aside = rebuild::aside(db, behind.clock.now());
    let moved = match behind.shelves.presence(db) {
        super::shelf::Presence::There => {
            behind.shelves.rename(db, &aside).map_err(failed)?;
            Some(aside)
        }
        super::shelf::Presence::Missing => None,
    };
    behind.shelves.rename(new_db, db).map_err(failed)?;
    let shelf = behind.shelves.open(db)?;
    behind.slot.put(shelf);
    match (why, moved) {
        // It was well, and all of it is in the new one: its room comes back.
        (Rebuild::Asked, Some(old)) => {
            if let Err(error) = behind.shelves.remove(&old) {
                tracing::warn!(folder = %old.display(), %error, "the old database cannot be removed");
            }
            Ok(None)
        }
        (Rebuild::Damaged(_), moved) => Ok(moved),
        (Rebuild::Asked, None) => Ok(None),
    }
}
