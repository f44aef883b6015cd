//! A database built anew from cold copies and journal, and one session of it restored. It never changes either of those.

use std::path::Path;

use agentd_types::{Seq, SessionId};

use super::blobs::{self, BlobError, Kept};
use super::cold::{self, ColdError, Ending};
use super::file::FileSystem;
use super::group::{Group, GroupError};
use super::index::Projector;
use super::journal::Place;
use super::open::{self, OpenError};
use super::places::Places;
use super::shelf::{Shelf, ShelfError};
use super::tail::What;

/// What building reads.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub files: &'a dyn FileSystem,
    pub places: &'a Places,
    pub projector: &'a dyn Projector,
    /// A batch is closed once it holds this many bytes.
    pub batch: usize,
    /// An event of more bytes has a file of its own.
    pub blob: usize,
}

impl Sources<'_> {
    /// An event of a cold copy, with its file if it is large.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn kept(&self, session: SessionId, event: bytes::Bytes) -> Result<Kept, BlobError> {
        blobs::ensure(self.files, self.places, session, event, self.blob)
    }
}

/// Why nothing was built.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error(transparent)]
    Cold(#[from] ColdError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error(transparent)]
    Journal(#[from] OpenError),
    #[error("cannot list the cold copies in {}: {source}", .path.display())]
    Archive { path: std::path::PathBuf, source: std::io::Error },
}

/// What was built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Built {
    pub sessions: u64,
    pub events: u64,
    /// Sessions whose cold copy is damaged before this event: if the journal does not have what is missing, they lost it.
    pub doubtful: Vec<Doubtful>,
}

/// A session with a damaged cold copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubtful {
    pub session: SessionId,
    pub why: String,
    /// It reached this event at least.
    pub known: Seq,
}

/// Puts every cold copy into an empty database.
///
/// # Errors
/// The database, or the folder of the copies. A damaged copy is no error.
pub fn from_cold(shelf: &dyn Shelf, sources: Sources<'_>) -> Result<Built, RebuildError> {
    let archive = &sources.places.archive;
    let names = match sources.files.list(archive) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(RebuildError::Archive { path: archive.clone(), source }),
    };
    let mut sessions: Vec<SessionId> = names.iter().filter_map(|name| cold::named(name)).collect();
    sessions.sort_unstable();
    let mut built = Built::default();
    let mut group = Group::new(shelf, sources.projector)?;
    for session in sessions {
        let ending = cold::each_event::<RebuildError>(sources.files, archive, session, sources.projector, |seq, event| {
            built.events += 1;
            group.events(session, seq, &[sources.kept(session, event)?])?;
            if group.weight() >= sources.batch {
                std::mem::replace(&mut group, Group::new(shelf, sources.projector)?).finish()?;
                group = Group::new(shelf, sources.projector)?;
            }
            Ok(())
        })?;
        built.sessions += 1;
        if let Ending::Damaged { at, known } = ending {
            let why = format!("its cold copy {} is damaged at byte {at}", cold::path_of(archive, session).display());
            built.doubtful.push(Doubtful { session, why, known });
        }
    }
    group.finish()?;
    Ok(built)
}

/// The committed records that the journal's segments hold, up to record `number`, in order.
///
/// # Errors
/// A segment cannot be read.
pub fn journal(sources: Sources<'_>, number: u64) -> Result<Vec<(Place, What)>, OpenError> {
    let records = open::records(sources.files, &sources.places.journal)?;
    Ok(records.into_iter().filter(|(place, _)| place.number <= number).collect())
}

/// Where the events of one session end that cold copy and journal hold without a gap from the first; and where they should
/// end at least.
///
/// # Errors
/// The files.
pub fn known_of(session: SessionId, records: &[(Place, What)], sources: Sources<'_>) -> Result<(Seq, Seq), RebuildError> {
    let mut last = Seq::ZERO;
    let ending = cold::each_event::<RebuildError>(sources.files, &sources.places.archive, session, sources.projector, |seq, _| {
        last = seq;
        Ok(())
    })?;
    for (_, what) in records {
        match *what {
            What::Events { session: of, first, count } if of == session && first <= last.next() => {
                last = last.max(Seq(first.0 + u64::from(count) - 1));
            }
            What::Events { .. } | What::Deleted { .. } => {}
        }
    }
    let wanted = match ending {
        Ending::Whole | Ending::Torn(_) => last,
        Ending::Damaged { known, .. } => known.max(last),
    };
    Ok((last, wanted))
}

/// A folder's new name, for a database that is moved aside: it says when.
#[must_use]
pub fn aside(db: &Path, now: agentd_types::Timestamp) -> std::path::PathBuf {
    let when = utc(now.0);
    let mut name = db.as_os_str().to_owned();
    name.push(format!("{}{when}", super::shelf::ASIDE));
    name.into()
}

/// `20260102T030405.678Z`, from milliseconds since the epoch; no calendar of the system's is asked.
fn utc(millis: i64) -> String {
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(at) => at.strftime("%Y%m%dT%H%M%S%.3fZ").to_string(),
        Err(_) => millis.to_string(),
    }
}
