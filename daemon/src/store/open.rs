//! Opening the journal: replays every segment, cuts a torn tail, names whose records are damaged. It never panics on what it
//! finds and never removes a record that was synced.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentd_types::{Seq, SessionId};

use super::file::{File, FileSystem};
use super::journal::{Place, Position, Start, WriteError, start_segment};
use super::limits::Limits;
use super::record::{Header, Kind};
use super::scan::{Piece, Rules, Scanned, scan, tear};
use super::segment::{self, BootId, FORMAT, Named, SEGMENT_HEADER, Segment, SegmentHeader, path_of};
use super::tail::{Touched, What};

/// What opening found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// What was done to the database, if anything.
    pub rebuilt: Option<Rebuilt>,
    /// What a crash had left half-written, if anything; nothing synced was in it.
    pub cut: Option<Cut>,
    /// Sessions with a damaged record, and why; ascending by id. Others are not touched by it.
    pub quarantined: Vec<(SessionId, String)>,
    /// Where records were lost; in the journal's order.
    pub damage: Vec<Damage>,
}

/// The database was lost and built anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    pub why: String,
    /// Where the old one lies, if there was one.
    pub aside: Option<PathBuf>,
    /// Sessions and events from cold copies.
    pub sessions: u64,
    pub events: u64,
    pub took_ms: u64,
}

/// A torn tail that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub segment: PathBuf,
    pub offset: u64,
    pub bytes: u64,
}

/// Records that were there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment in which the first readable thing behind the damage lies.
    pub segment: PathBuf,
    pub offset: u64,
    pub records: u64,
    /// How many of them belong to sessions nobody can name. Where it is not 0, a session may have lost its newest events
    /// without being quarantined.
    pub unnamed: u64,
}

/// Why the store does not open. Nothing was changed but a torn tail.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot use the data folder {}: {source}; make it writable for yourself, or choose another one", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot read the journal segment {}: {source}; check the disk and the file's owner", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot make the journal segment {} durable: {source}; free some space or check the disk, then start again", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the journal segment {} has format {found}, this agentd knows up to {FORMAT}; start the newer agentd again", .path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error(transparent)]
    Start(#[from] WriteError),
    #[error("cannot start the store's threads: {source}; raise the limit of processes")]
    Thread { source: io::Error },
    #[error("cannot use the database {}: {why}; make the folder writable, free some space, then start again", .path.display())]
    Database { path: PathBuf, why: String },
}

/// The journal as replay left it.
pub struct Replayed {
    /// The readable records, in order.
    pub records: Vec<(Place, What)>,
    pub suspects: Vec<Suspect>,
    /// The first record that the journal should hold; those before were freed.
    pub first: u64,
    pub cut: Option<Cut>,
    pub damage: Vec<Damage>,
    /// Segments with damage in them: kept for whoever wants to look.
    pub damaged: BTreeSet<u32>,
    /// All segments but the last, ascending.
    pub full: Vec<u32>,
    pub position: Position,
}

/// A record of this session cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    pub session: SessionId,
    /// The record's number.
    pub number: u64,
    pub why: String,
}

/// What is left of the journal's records once it is known what the database holds.
#[derive(Debug, Default)]
pub struct Judged {
    /// Those that the database still needs.
    pub records: Vec<(Place, What)>,
    /// Sessions that lost events, and why.
    pub damaged: BTreeMap<SessionId, String>,
    pub touched: Touched,
    /// Deleted, as far as the journal knows.
    pub deleted: HashSet<SessionId>,
    /// Where the sessions end that the journal has something of.
    pub ends: HashMap<SessionId, Seq>,
}

/// Where a session ends in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `Seq::ZERO`: it is not there.
    At(Seq),
    /// Its row is damaged: it will be restored, from these records too.
    Unknown,
}

impl Replayed {
    /// The last record's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.position.number.saturating_sub(1)
    }

    /// Weighs the damage against a database that holds everything up to record `applied`, and in which each session ends
    /// at `end_of`.
    ///
    /// # Errors
    /// Of `end_of`.
    pub fn judge<E>(&self, applied: u64, mut end_of: impl FnMut(SessionId) -> Result<End, E>) -> Result<Judged, E> {
        let mut judged = Judged::default();
        for suspect in self.suspects.iter().filter(|suspect| suspect.number > applied) {
            // What a later record of the session goes on from shows whether anything is missing.
            let goes_on = |(place, what): &(Place, What)| place.number > suspect.number && what.session() == suspect.session;
            if !self.records.iter().any(goes_on) {
                judged.damaged.entry(suspect.session).or_insert_with(|| suspect.why.clone());
            }
        }
        for (place, what) in &self.records {
            match *what {
                What::Deleted { session } => {
                    judged.damaged.remove(&session);
                    judged.touched.delete(session);
                    judged.deleted.insert(session);
                    judged.records.push((*place, *what));
                }
                What::Events { session, .. } if judged.deleted.contains(&session) || judged.damaged.contains_key(&session) => {}
                What::Events { session, first, count } => {
                    judged.touched.write(session, first);
                    let end = match judged.ends.get(&session) {
                        Some(end) => *end,
                        None => match end_of(session)? {
                            End::At(end) => end,
                            End::Unknown => Seq(first.0 - 1),
                        },
                    };
                    let last = Seq(first.0 + u64::from(count) - 1);
                    if first > end.next() {
                        let suspect = self.suspects.iter().find(|suspect| suspect.session == session).map(|it| it.why.clone());
                        let gap = || format!("event {first} follows event {end}; those between are damaged");
                        judged.damaged.insert(session, suspect.unwrap_or_else(gap));
                    } else if last > end {
                        judged.records.push((*place, *what));
                    }
                    judged.ends.insert(session, last.max(end));
                }
            }
        }
        judged.drop_damaged();
        Ok(judged)
    }
}

impl Judged {
    /// Nothing of this session goes into the database any more.
    pub fn set_apart(&mut self, session: SessionId, why: String) {
        self.damaged.entry(session).or_insert(why);
        self.drop_damaged();
    }

    fn drop_damaged(&mut self) {
        let Judged { records, damaged, deleted, touched, ends: _ } = self;
        records.retain(|(_, what)| match what {
            What::Events { session, .. } => !damaged.contains_key(session) && !deleted.contains(session),
            What::Deleted { .. } => true,
        });
        touched.written.retain(|session, _| !damaged.contains_key(session));
    }
}

/// Replays the journal in `dir`, making the folder if it is missing. Blocks.
pub fn replay(files: &dyn FileSystem, dir: &Path, boot: BootId, limits: &Limits) -> Result<Replayed, OpenError> {
    let mut replay = Replay::default();
    let mut last = None;
    let mut numbers = find_segments(files, dir)?;
    for (at, number) in numbers.iter().enumerate() {
        let found = Found::read(files, dir, *number)?;
        replay.enter(&found);
        let scanned = scan(*number, &found.bytes, replay.expected.unwrap_or(0));
        if at + 1 < numbers.len() {
            replay.apply(&found, &scanned, scanned.pieces.len());
        } else {
            last = Some(replay.settle(found, &scanned, boot, limits)?);
        }
    }
    let segment = match last {
        Some(segment) => segment,
        None => first_segment(files, dir, boot, limits)?,
    };
    numbers.pop();
    Ok(replay.finish(segment, numbers))
}

/// The readable records of all segments as they are at this moment, in order; the journal may be in use.
///
/// # Errors
/// The folder, or a segment that cannot be read.
pub fn records(files: &dyn FileSystem, dir: &Path) -> Result<Vec<(Place, What)>, OpenError> {
    let mut numbers: Vec<u32> = Vec::new();
    for name in files.list(dir).map_err(|source| OpenError::Folder { path: dir.to_owned(), source })? {
        match segment::named(&name) {
            Named::Segment(number) => numbers.push(number),
            Named::Unfinished | Named::Foreign => {}
        }
    }
    numbers.sort_unstable();
    read_records(files, dir, &numbers)
}

/// Those of one segment.
///
/// # Errors
/// It cannot be read.
pub fn records_of(files: &dyn FileSystem, dir: &Path, number: u32) -> Result<Vec<(Place, What)>, OpenError> {
    read_records(files, dir, &[number])
}

fn read_records(files: &dyn FileSystem, dir: &Path, numbers: &[u32]) -> Result<Vec<(Place, What)>, OpenError> {
    let mut replay = Replay::default();
    for number in numbers.iter().copied() {
        let found = Found::read(files, dir, number)?;
        replay.enter(&found);
        let scanned = scan(number, &found.bytes, replay.expected.unwrap_or(0));
        replay.apply(&found, &scanned, scanned.pieces.len());
    }
    Ok(replay.records)
}

/// The numbers of the segments, ascending; what was left of a cut creation is removed.
fn find_segments(files: &dyn FileSystem, dir: &Path) -> Result<Vec<u32>, OpenError> {
    let folder = |source| OpenError::Folder { path: dir.to_owned(), source };
    files.create_dir(dir).map_err(folder)?;
    let mut numbers = Vec::new();
    for name in files.list(dir).map_err(folder)? {
        match segment::named(&name) {
            Named::Segment(number) => numbers.push(number),
            Named::Unfinished => files.remove(&dir.join(name)).map_err(folder)?,
            Named::Foreign => {}
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn first_segment(files: &dyn FileSystem, dir: &Path, boot: BootId, limits: &Limits) -> Result<Segment, OpenError> {
    let start = Start { number: 1, first_record: 1, previous: None };
    let segment = start_segment(files, dir, start, boot, limits, 0).map_err(|error| match error {
        WriteError::Create { source, .. } => OpenError::Folder { path: dir.to_owned(), source },
        WriteError::Write { .. } | WriteError::Folder { .. } | WriteError::Sync { .. } | WriteError::Exhausted => error.into(),
    })?;
    // The folder itself may be new.
    if let Some(parent) = dir.parent()
        && let Err(error) = files.sync_dir(parent)
    {
        tracing::warn!(folder = %parent.display(), %error, "could not sync the folder above the journal's");
    }
    Ok(segment)
}

/// A segment's file and content.
struct Found {
    number: u32,
    path: PathBuf,
    file: Arc<dyn File>,
    bytes: Vec<u8>,
    /// Absent when it is damaged.
    header: Option<SegmentHeader>,
}

impl Found {
    fn read(files: &dyn FileSystem, dir: &Path, number: u32) -> Result<Found, OpenError> {
        let path = path_of(dir, number);
        let read = files.open(&path).and_then(|file| {
            let bytes = read_all(file.as_ref())?;
            Ok((file, bytes))
        });
        let (file, bytes) = read.map_err(|source| OpenError::Read { path: path.clone(), source })?;
        let header = SegmentHeader::decode(&bytes).filter(|header| header.segment == number);
        if let Some(SegmentHeader { format: found, .. }) = header.filter(|header| header.format > FORMAT) {
            return Err(OpenError::Newer { path, found });
        }
        Ok(Found { number, path, file, bytes, header })
    }

    fn rules(&self, boot: BootId) -> Rules {
        match &self.header {
            Some(header) if header.boot.is_same_as(&boot) => Rules::Kill,
            Some(_) | None => Rules::PowerLoss,
        }
    }
}

/// The whole file; blocks the disk cannot read become zeros, so that they are damage and not the end of everything.
fn read_all(file: &dyn File) -> io::Result<Vec<u8>> {
    const BLOCK: usize = 4096;
    let size = u32::try_from(file.size()?).map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "no segment is that long"))?;
    let mut bytes = vec![0; size as usize];
    if let Err(error) = file.read_at(&mut bytes, 0) {
        tracing::warn!(%error, "a journal segment is unreadable in part");
        for (at, block) in bytes.chunks_mut(BLOCK).enumerate() {
            if file.read_at(block, (at * BLOCK) as u64).is_err() {
                block.fill(0);
            }
        }
    }
    Ok(bytes)
}

/// What replay knows so far.
#[derive(Default)]
struct Replay {
    /// The next record's number; unknown before the first.
    expected: Option<u64>,
    previous: Option<SessionId>,
    /// The first record there should be.
    first: Option<u64>,
    records: Vec<(Place, What)>,
    suspects: Vec<Suspect>,
    damage: Vec<Damage>,
    damaged: BTreeSet<u32>,
    cut: Option<Cut>,
}

impl Replay {
    /// A segment's header tells what must have come before it.
    fn enter(&mut self, found: &Found) {
        match &found.header {
            Some(header) => self.arrive(found, 0, header.first_record, header.previous),
            None => self.note(found, Damage { segment: found.path.clone(), offset: 0, records: 0, unnamed: 0 }),
        }
    }

    fn note(&mut self, found: &Found, damage: Damage) {
        self.damage.push(damage);
        self.damaged.insert(found.number);
    }

    /// Goes on at record `number`; those that are missing before it are damage, the last of them of session `previous`.
    fn arrive(&mut self, found: &Found, offset: u64, number: u64, previous: Option<SessionId>) {
        let records = number.saturating_sub(self.expected.unwrap_or(number));
        if records > 0 {
            self.note(found, Damage { segment: found.path.clone(), offset, records, unnamed: records - 1 });
            if let Some(session) = previous {
                let why = format!("a record before byte {offset} of {} is damaged", found.path.display());
                self.suspects.push(Suspect { session, number: number - 1, why });
            }
        }
        self.first.get_or_insert(number);
        self.expected = Some(number);
        self.previous = previous;
    }

    fn apply(&mut self, found: &Found, scanned: &Scanned, count: usize) {
        for piece in &scanned.pieces[..count] {
            match piece {
                Piece::Good { offset, header } => {
                    self.arrive(found, *offset, header.before.number, header.before.previous);
                    self.take(found, *offset, header);
                    self.pass(header);
                }
                Piece::BadPayload { offset, header, why } => {
                    self.arrive(found, *offset, header.before.number, header.before.previous);
                    self.note(found, Damage { segment: found.path.clone(), offset: *offset, records: 1, unnamed: 0 });
                    if let Some(session) = header.kind.session() {
                        let why = format!("byte {offset} of {}: {why}", found.path.display());
                        self.suspects.push(Suspect { session, number: header.before.number, why });
                    }
                    self.pass(header);
                }
                // What it was shows in the numbers around it.
                Piece::Unreadable { .. } => {}
            }
        }
    }

    fn pass(&mut self, header: &Header) {
        self.expected = Some(header.before.number + 1);
        self.previous = header.kind.session();
    }

    fn take(&mut self, found: &Found, offset: u64, header: &Header) {
        let what = match header.kind {
            Kind::Mark => return,
            Kind::Deleted { session } => What::Deleted { session },
            Kind::Events { session, first, count } => What::Events { session, first, count },
        };
        // A segment is below 4 GiB: `read_all`.
        let (offset, len) = (offset as u32, header.record_len() as u32);
        self.records.push((Place { segment: found.number, offset, len, number: header.before.number }, what));
    }

    /// The last segment: cuts what is torn, makes the rest durable, and hands it on for writing.
    fn settle(&mut self, found: Found, scanned: &Scanned, boot: BootId, limits: &Limits) -> Result<Segment, OpenError> {
        let torn = tear(scanned, found.rules(boot));
        let keep = torn.unwrap_or(scanned.pieces.len());
        let end = torn.map_or(scanned.end, |at| scanned.pieces[at].offset());
        self.apply(&found, scanned, keep);
        if scanned.extent > end {
            self.cut = Some(Cut { segment: found.path.clone(), offset: end, bytes: scanned.extent - end });
        }
        let allocated = self.make_durable(&found, scanned, end).map_err(|source| OpenError::Write { path: found.path.clone(), source })?;
        let limit = u64::from(limits.segment).max(end);
        Ok(Segment::reopened(found.number, found.path, found.file, end, allocated, limit))
    }

    /// Zeros behind the end, and a sync before anything is served. What was never synced for sure is written again first:
    /// a sync that had failed left pages that look clean and are not on the disk.
    fn make_durable(&self, found: &Found, scanned: &Scanned, end: u64) -> io::Result<u64> {
        let size = found.bytes.len() as u64;
        segment::zero(found.file.as_ref(), end, scanned.extent.min(size).max(end))?;
        let (from, to) = (scanned.synced.min(end).min(size), end.min(size));
        if let Ok(unsure) = usize::try_from(from).and_then(|from| usize::try_from(to).map(|to| &found.bytes[from..to])) {
            found.file.write_at(unsure, from)?;
        }
        found.file.sync_data()?;
        Ok(size.max(end).max(SEGMENT_HEADER))
    }

    fn finish(self, segment: Segment, full: Vec<u32>) -> Replayed {
        let Replay { expected, previous, first, records, suspects, damage, damaged, cut } = self;
        let position = Position { segment, number: expected.unwrap_or(1), previous };
        Replayed { records, suspects, first: first.unwrap_or(1), cut, damage, damaged, full, position }
    }
}

#[cfg(test)]
mod tests;
