//! The journal's writing end: numbers records, puts them into segments, starts new ones. It knows no waiter and no order of
//! events; only the commit thread has it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentd_types::SessionId;

use super::file::FileSystem;
use super::limits::Limits;
use super::record::{self, Before, Body, Spot};
use super::segment::{self, BootId, CreateFailure, FORMAT, SEGMENT_HEADER, Segment, SegmentHeader, Sizes};

/// Where a record lies, for whoever reads it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub segment: u32,
    pub offset: u32,
    /// With its header and padding.
    pub len: u32,
    /// The record's number in the journal.
    pub number: u64,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write to the journal {}: {source}; {}", .path.display(), advice(.source))]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot start the journal segment {}: {source}; {}", .path.display(), advice(.source))]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot make the folder {} durable: {source}; nothing more is accepted: check the disk, then restart agentd", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the disk did not keep what was written to {}: {source}; nothing more is accepted: check the disk, then restart agentd", .path.display())]
    Sync { path: PathBuf, source: io::Error },
    #[error("the journal is full: segment numbers are used up; export the sessions and start with a new data folder")]
    Exhausted,
}

impl WriteError {
    /// Whether nothing may be written any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            WriteError::Write { .. } | WriteError::Create { .. } | WriteError::Exhausted => false,
            WriteError::Folder { .. } | WriteError::Sync { .. } => true,
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space and repeat",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "make the folder writable and repeat",
        _ => "check the disk and repeat",
    }
}

/// Where replay ended and writing goes on.
pub struct Position {
    pub segment: Segment,
    /// The next record's number.
    pub number: u64,
    /// The session of the last record.
    pub previous: Option<SessionId>,
}

/// The journal, open for writing.
pub struct Journal {
    files: Arc<dyn FileSystem>,
    dir: PathBuf,
    boot: BootId,
    limits: Limits,
    at: Position,
    buffer: Vec<u8>,
}

impl Journal {
    #[must_use]
    pub fn new(files: Arc<dyn FileSystem>, dir: PathBuf, boot: BootId, limits: Limits, at: Position) -> Journal {
        Journal { files, dir, boot, limits, at, buffer: Vec::new() }
    }

    /// Whether `len` more bytes go into the segment that is being written.
    #[must_use]
    pub fn fits(&self, len: u64) -> bool {
        self.at.segment.fits(len)
    }

    /// Whether `len` more bytes need a new segment.
    #[must_use]
    pub fn needs_segment(&self, len: u64) -> bool {
        !self.at.segment.fits(len) && !self.at.segment.is_empty()
    }

    /// Writes one record per body, with one write, all or none. What does not fit goes into a new segment, before which
    /// everything is synced. An error that is not final leaves the journal as it was.
    pub fn write(&mut self, bodies: &[Body<'_>]) -> Result<Vec<Place>, WriteError> {
        let len = bodies.iter().map(record::size).sum();
        if !self.at.segment.fits(len) {
            if self.at.segment.is_empty() {
                self.at.segment.widen(len);
            } else {
                self.roll(len)?;
            }
        }
        let places = self.encode(bodies);
        let written = self.at.segment.write(&self.buffer, u64::from(self.limits.chunk));
        if self.buffer.capacity() > 2 * self.limits.group_bytes {
            self.buffer = Vec::new();
        }
        written.map_err(|source| WriteError::Write { path: self.at.segment.path.clone(), source })?;
        self.at.number += bodies.len() as u64;
        if let Some(last) = bodies.last() {
            self.at.previous = session_of(last);
        }
        Ok(places)
    }

    /// One fdatasync for all that was written; none if nothing was.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.at.segment.sync().map_err(|source| WriteError::Sync { path: self.at.segment.path.clone(), source })
    }

    fn encode(&mut self, bodies: &[Body<'_>]) -> Vec<Place> {
        self.buffer.clear();
        let (segment, start, synced) = (self.at.segment.number, self.at.segment.end(), self.at.segment.synced());
        let (mut number, mut previous) = (self.at.number, self.at.previous);
        let mut places = Vec::with_capacity(bodies.len());
        for body in bodies {
            let from = self.buffer.len();
            let offset = start + from as u64;
            record::encode(&mut self.buffer, Spot { segment, offset }, Before { number, previous, synced }, body);
            // `Limits::batch` keeps segments far below 4 GiB.
            places.push(Place { segment, offset: offset as u32, len: (self.buffer.len() - from) as u32, number });
            number += 1;
            previous = session_of(body);
        }
        places
    }

    /// Everything in the old segment is synced before the new one has a name: only the last segment can be torn.
    fn roll(&mut self, len: u64) -> Result<(), WriteError> {
        self.sync()?;
        let number = self.at.segment.number.checked_add(1).ok_or(WriteError::Exhausted)?;
        let start = Start { number, first_record: self.at.number, previous: self.at.previous };
        let next = start_segment(self.files.as_ref(), &self.dir, start, self.boot, &self.limits, len)?;
        // Only room is lost when this fails.
        if let Err(error) = self.at.segment.trim() {
            tracing::warn!(segment = %self.at.segment.path.display(), %error, "could not give back unused room");
        }
        self.at.segment = next;
        Ok(())
    }
}

/// What a new segment starts with.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    pub number: u32,
    pub first_record: u64,
    pub previous: Option<SessionId>,
}

/// Makes a segment with room for at least `len` bytes of records.
pub fn start_segment(
    files: &dyn FileSystem,
    dir: &Path,
    start: Start,
    boot: BootId,
    limits: &Limits,
    len: u64,
) -> Result<Segment, WriteError> {
    let header = SegmentHeader { format: FORMAT, segment: start.number, first_record: start.first_record, previous: start.previous, boot };
    let limit = u64::from(limits.segment).max(SEGMENT_HEADER + len);
    let sizes = Sizes { limit, chunk: u64::from(limits.chunk).min(limit) };
    Segment::create(files, dir, &header, sizes).map_err(|failure| match failure {
        CreateFailure::Before(source) => WriteError::Create { path: segment::path_of(dir, start.number), source },
        CreateFailure::Unsure(source) => WriteError::Folder { path: dir.to_owned(), source },
    })
}

fn session_of(body: &Body<'_>) -> Option<SessionId> {
    match body {
        Body::Events { session, .. } | Body::Deleted { session } => Some(*session),
        Body::Mark => None,
    }
}
