//! The checkpoint thread: makes the database durable, brings cold copies up to date, finishes deletions, frees segments; in
//! this order. It never writes into the database and never frees what is not behind the journal.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Instant;

use agentd_types::{Seq, SessionId};

use super::apply::Behind;
use super::blobs;
use super::cold::{self, ColdError};
use super::file::FileSystem;
use super::limits::RESTORE_PATIENCE;
use super::open;
use super::reader::{Most, ReadError, Reader};
use super::segment;
use super::shelf::{Order, Shelf, ShelfError};
use super::tail::{Freed, Stuck, Touched};

/// One page of what is copied.
const PAGE: Most = Most { events: 1024, bytes: 4 * 1024 * 1024 };

/// Rows looked at at once.
const ROWS: usize = 1024;

/// Why a checkpoint did not come to its end; what it did stays done.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("the database does not take what was committed: {}", .0.0)]
    Stuck(Stuck),
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    #[error(transparent)]
    Cold(#[from] ColdError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("its time is over; the journal keeps the rest")]
    Cut,
    #[error("cannot use {}: {source}; check the disk", .path.display())]
    Folder { path: std::path::PathBuf, source: std::io::Error },
}

/// The thread: until it is over.
pub fn run(behind: &Behind, reader: &Reader) {
    let limits = &behind.limits;
    while behind.tail.wait_for_checkpoint(limits.full_segments, limits.settle) {
        if let Err(error) = checkpoint(behind, reader) {
            tracing::error!(%error, "the checkpoint did not come to its end; it is tried again");
            if behind.tail.wait_out(limits.retry) {
                return;
            }
        }
    }
}

/// Brings everything that is committed now behind the journal.
///
/// # Errors
/// What stood in the way; the next one goes on.
pub fn checkpoint(behind: &Behind, reader: &Reader) -> Result<(), CheckpointError> {
    checkpoint_within(behind, reader, Patience::Endless)
}

/// How long copying may take.
#[derive(Debug, Clone, Copy)]
pub enum Patience {
    Endless,
    Until(Instant),
}

impl Patience {
    fn is_over(self) -> bool {
        match self {
            Patience::Endless => false,
            Patience::Until(end) => Instant::now() >= end,
        }
    }
}

/// The same, cut when its time is over: what it did not come to stays in the journal.
///
/// # Errors
/// As `checkpoint`; also `Cut`.
pub fn checkpoint_within(behind: &Behind, reader: &Reader, patience: Patience) -> Result<(), CheckpointError> {
    let alone = behind.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
    let mut begun = behind.tail.begin_checkpoint();
    let outcome = bring_behind(behind, reader, patience, &mut begun);
    behind.tail.end_checkpoint(match &outcome {
        Ok(()) => Ok(()),
        Err(error) => Err((begun.touched, error.to_string())),
    });
    drop(alone);
    if let Err(CheckpointError::Read(ReadError::Damaged { session, why })) = &outcome {
        // Not with the turn in hand: restoring needs it.
        reader.mend(*session, why);
    }
    outcome
}

fn bring_behind(behind: &Behind, reader: &Reader, patience: Patience, begun: &mut Freed) -> Result<(), CheckpointError> {
    behind.tail.wait_for_begun(begun, RESTORE_PATIENCE).map_err(CheckpointError::Stuck)?;
    let _turn = behind.turn.lock().unwrap_or_else(PoisonError::into_inner);
    behind.slot.with(Shelf::flush)?;
    copy(behind, reader, patience, &mut begun.touched)?;
    delete(behind, &mut begun.touched)?;
    free(behind, &begun.segments)
}

/// New events of the touched sessions into their cold copies, synced.
fn copy(behind: &Behind, reader: &Reader, patience: Patience, touched: &mut Touched) -> Result<(), CheckpointError> {
    let archive = &behind.places.archive;
    let folder = |source| CheckpointError::Folder { path: archive.clone(), source };
    let files = behind.files.as_ref();
    if touched.is_empty() {
        return Ok(());
    }
    files.create_dir(archive).map_err(folder)?;
    for (session, from) in &touched.written {
        if patience.is_over() {
            return Err(CheckpointError::Cut);
        }
        copy_one(behind, reader, *session, *from)?;
    }
    files.sync_dir(archive).map_err(folder)?;
    // What failed before this point is unsure as a whole.
    touched.written.clear();
    Ok(())
}

/// One session's cold copy, brought up to date; its events before `from` are in it for sure.
fn copy_one(behind: &Behind, reader: &Reader, session: SessionId, from: Seq) -> Result<(), CheckpointError> {
    let mut pages = |after: Seq| match reader.after_once(session, after, PAGE) {
        Ok(page) => Ok(page),
        // Deleted or set apart meanwhile: its copy stays as it is.
        Err(ReadError::NotFound { .. } | ReadError::Quarantined { .. }) => Ok(Vec::new()),
        Err(error) => Err(CheckpointError::from(error)),
    };
    cold::append(behind.files.as_ref(), &behind.places.archive, session, behind.projector.as_ref(), from, &mut pages)
}

/// A checkpoint, and a look at every session's cold copy: what is missing there is copied. Afterwards nothing is in the
/// database alone.
///
/// # Errors
/// What stood in the way.
pub fn complete(behind: &Behind, reader: &Reader) -> Result<(), CheckpointError> {
    checkpoint(behind, reader)?;
    let archive = &behind.places.archive;
    let mut from = SessionId::from_u128(0);
    loop {
        // Without the turn: what is damaged among them is restored first.
        let rows = reader.rows(from..=SessionId::from_u128(u128::MAX), Order::Ascending, ROWS)?;
        let _turn = behind.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for row in &rows {
            match copy_one(behind, reader, row.session, row.last.next()) {
                Ok(()) => {}
                // It has nothing better than its cold copy then.
                Err(CheckpointError::Read(error)) => tracing::warn!(session = %row.session, %error, "not all of it can be copied"),
                Err(error) => return Err(error),
            }
        }
        let Some(next) = rows.last().and_then(|row| following(row.session)) else { break };
        from = next;
    }
    behind.files.sync_dir(archive).map_err(|source| CheckpointError::Folder { path: archive.clone(), source })
}

/// The next possible id.
fn following(session: SessionId) -> Option<SessionId> {
    u128::from_be_bytes(*session.as_bytes()).checked_add(1).map(SessionId::from_u128)
}

/// Cold copies and large values of deleted sessions go, durably; the database has let go of them before its flush.
fn delete(behind: &Behind, touched: &mut Touched) -> Result<(), CheckpointError> {
    let archive = &behind.places.archive;
    if touched.deleted.is_empty() {
        return Ok(());
    }
    for session in &touched.deleted {
        let path = cold::path_of(archive, *session);
        remove(behind.files.as_ref(), &path).map_err(|source| CheckpointError::Folder { path, source })?;
        let removed = blobs::remove_all(behind.files.as_ref(), &behind.places, *session);
        removed.map_err(|source| CheckpointError::Folder { path: blobs::folder_of(&behind.places, *session), source })?;
    }
    behind.files.sync_dir(archive).map_err(|source| CheckpointError::Folder { path: archive.clone(), source })?;
    touched.deleted.clear();
    Ok(())
}

/// Ascending, each durably: what is left of the journal is always its end.
fn free(behind: &Behind, segments: &[u32]) -> Result<(), CheckpointError> {
    let journal = &behind.places.journal;
    for number in segments {
        let path = segment::path_of(journal, *number);
        // What could not be read of it, or brought into the database, may be worth a look.
        let gone = match behind.damaged.contains(number) || holds_quarantined(behind, *number) {
            false => remove(behind.files.as_ref(), &path),
            true => set_aside(behind.files.as_ref(), &path),
        };
        let removed = gone.and_then(|()| behind.files.sync_dir(journal));
        removed.map_err(|source| CheckpointError::Folder { path, source })?;
        behind.tail.freed(&[*number]);
    }
    Ok(())
}

/// Whether events of a session that is set apart lie in the segment.
fn holds_quarantined(behind: &Behind, number: u32) -> bool {
    let quarantined = behind.tail.quarantined();
    let theirs = |session: SessionId| quarantined.binary_search_by_key(&session, |(id, _)| *id).is_ok();
    if quarantined.is_empty() {
        return false;
    }
    match open::records_of(behind.files.as_ref(), &behind.places.journal, number) {
        Ok(records) => records.iter().any(|(_, what)| theirs(what.session())),
        Err(error) => {
            tracing::warn!(%error, "a segment that cannot be read is set aside");
            true
        }
    }
}

fn set_aside(files: &dyn FileSystem, path: &Path) -> std::io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    match files.rename(path, Path::new(&aside)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Whether it was there or not, it is gone.
fn remove(files: &dyn FileSystem, path: &Path) -> std::io::Result<()> {
    match files.remove(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
