//! Opening the database behind the journal: if it is missing, damaged or older than the journal allows, it is moved aside and
//! built anew from cold copies. It never deletes a damaged one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use agentd_types::{Seq, SessionId, Timestamp};

use super::group::{self, GroupError};
use super::open::{End, OpenError, Rebuilt, Replayed};
use super::rebuild::{self, Doubtful, RebuildError, Sources};
use super::shelf::{Presence, Shelf, ShelfError, Shelves};

/// The database, open, and what the journal still has for it.
pub struct Ready {
    pub shelf: Arc<dyn Shelf>,
    pub rebuilt: Option<Rebuilt>,
    /// Everything up to this record is in it.
    pub applied: u64,
    /// Sessions that are set apart, and why.
    pub quarantined: BTreeMap<SessionId, String>,
    /// Sessions that are not whole unless the journal has what is missing.
    pub doubtful: Vec<Doubtful>,
}

/// Opens it, or builds it anew.
///
/// # Errors
/// It can neither be opened nor built: the disk, or its owner.
pub fn open(shelves: &dyn Shelves, sources: Sources<'_>, journal: &Replayed, now: Timestamp) -> Result<Ready, OpenError> {
    let db = sources.places.db.as_path();
    let fatal = |why: String| OpenError::Database { path: db.to_owned(), why };
    shelves.remove(&sources.places.new_db).map_err(|error| fatal(error.to_string()))?;
    let found = match shelves.presence(db) {
        Presence::There => look(shelves, db, journal, is_first(sources, journal)?),
        Presence::Missing if is_first(sources, journal)? == First::Yes => {
            shelves.open(db).map(|shelf| Ready { shelf, rebuilt: None, applied: 0, quarantined: BTreeMap::new(), doubtful: Vec::new() })
        }
        Presence::Missing => Err(ShelfError::Corrupt("it is missing".to_owned())),
    };
    match found {
        Ok(ready) => Ok(ready),
        Err(ShelfError::Corrupt(why)) => anew(shelves, sources, why, now).map_err(|error| fatal(error.to_string())),
        Err(error @ (ShelfError::Io(_) | ShelfError::Away)) => Err(fatal(error.to_string())),
    }
}

/// Whether there is nothing that a database must have held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Yes,
    No,
}

fn is_first(sources: Sources<'_>, journal: &Replayed) -> Result<First, OpenError> {
    let archive = &sources.places.archive;
    let copies = match sources.files.list(archive) {
        Ok(names) => names.iter().any(|name| super::cold::named(name).is_some()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(source) => return Err(OpenError::Folder { path: archive.clone(), source }),
    };
    Ok(if !copies && journal.first <= 1 { First::Yes } else { First::No })
}

/// Opens what is there and makes sure that it holds everything the journal has let go of.
fn look(shelves: &dyn Shelves, db: &Path, journal: &Replayed, first: First) -> Result<Ready, ShelfError> {
    let shelf = shelves.open(db)?;
    let applied = match (group::read_meta(shelf.as_ref())?, first) {
        (Some(meta), _) => meta.applied,
        // Nothing was ever flushed.
        (None, First::Yes) => 0,
        (None, First::No) => return Err(ShelfError::Corrupt("it is empty, and should not be".to_owned())),
    };
    if applied + 1 < journal.first {
        let first = journal.first;
        return Err(ShelfError::Corrupt(format!("it ends with record {applied}, the journal begins with record {first}")));
    }
    let applied = if applied > journal.number() {
        // A journal that begins anew counts from 1 again.
        group::restart(shelf.as_ref())?;
        0
    } else {
        applied
    };
    let quarantined = group::read_quarantined(shelf.as_ref())?;
    Ok(Ready { shelf, rebuilt: None, applied, quarantined, doubtful: Vec::new() })
}

/// Moves what is there aside and builds from cold copies; the journal's rest is applied like any record.
fn anew(shelves: &dyn Shelves, sources: Sources<'_>, why: String, now: Timestamp) -> Result<Ready, RebuildError> {
    let started = Instant::now();
    let (db, new_db) = (&sources.places.db, &sources.places.new_db);
    let failed = |path: &Path, error: std::io::Error| RebuildError::Shelf(ShelfError::Io(format!("{}: {error}", path.display())));
    let aside: Option<PathBuf> = match shelves.presence(db) {
        Presence::There => Some(rebuild::aside(db, now)),
        Presence::Missing => None,
    };
    if let Some(aside) = &aside {
        shelves.rename(db, aside).map_err(|error| failed(aside, error))?;
    }
    let shelf = shelves.open(new_db)?;
    let built = rebuild::from_cold(shelf.as_ref(), sources)?;
    shelf.flush()?;
    drop(shelf);
    shelves.rename(new_db, db).map_err(|error| failed(db, error))?;
    let shelf = shelves.open(db)?;
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rebuilt = Rebuilt { why, aside, sessions: built.sessions, events: built.events, took_ms };
    Ok(Ready { shelf, rebuilt: Some(rebuilt), applied: 0, quarantined: BTreeMap::new(), doubtful: built.doubtful })
}

/// Where a session ends in the database.
///
/// # Errors
/// The database.
pub fn end_of(shelf: &dyn Shelf, session: SessionId) -> Result<End, ShelfError> {
    match group::read_row(shelf, session) {
        Ok(row) => Ok(End::At(row.map_or(Seq::ZERO, |row| row.last))),
        Err(GroupError::Session { .. }) => Ok(End::Unknown),
        Err(GroupError::Shelf(error)) => Err(error),
    }
}
