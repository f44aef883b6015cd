//! Cold copies: one file of JSON lines per session, appended to at every checkpoint, read when the database is lost. It never
//! knows what a line means.
//!
//! A line is one event's JSON object with a field `crc` added as the last: eight hex digits, the CRC-32C of everything before
//! `,"crc"`. Only the last line can be torn.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::file::{File, FileSystem};
use super::index::Projector;

const SUFFIX: &str = ".jsonl";
const CRC: &[u8] = b",\"crc\":\"";
const CRC_DIGITS: usize = 8;
const END: &[u8] = b"\"}";
/// Bytes read at once.
const BLOCK: usize = 256 * 1024;
/// The longest line that is believed to be one: above every batch.
const LONGEST_LINE: usize = 512 * 1024 * 1024;
/// Bytes of its end that are looked at first, and at most: without a good line in them it is set aside and written anew.
const FIRST_LOOK: u64 = 8 * 1024;
const LONGEST_LOOK: u64 = 64 * 1024 * 1024;
/// What is added to the name of a copy that is set aside.
const ASIDE: &str = ".damaged";

/// The cold copy of a session.
#[must_use]
pub fn path_of(dir: &Path, session: SessionId) -> PathBuf {
    dir.join(format!("{session}{SUFFIX}"))
}

/// Whose cold copy a name is.
#[must_use]
pub fn named(name: &str) -> Option<SessionId> {
    let text = name.strip_suffix(SUFFIX)?;
    text.parse::<SessionId>().ok().filter(|session| session.to_string() == text)
}

/// Why a cold copy could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the cold copy {}: {source}; check the disk and free some space", .path.display())]
pub struct ColdError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// A line of the object `json`, its line break included.
#[must_use]
pub fn seal(mut json: Vec<u8>) -> Vec<u8> {
    if json.last() == Some(&b'}') {
        json.pop();
    }
    let sum = crc32c::crc32c(&json);
    json.extend_from_slice(CRC);
    json.extend_from_slice(format!("{sum:08x}").as_bytes());
    json.extend_from_slice(END);
    json.push(b'\n');
    json
}

/// The object of a line (without its line break) if its CRC is right.
#[must_use]
pub fn unseal(line: &[u8]) -> Option<Vec<u8>> {
    let (body, tail) = line.split_at_checked(line.len().checked_sub(CRC.len() + CRC_DIGITS + END.len())?)?;
    let digits = tail.strip_prefix(CRC)?.strip_suffix(END)?;
    let sum = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let well = sum == crc32c::crc32c(body) && digits.iter().all(|digit| !digit.is_ascii_uppercase());
    well.then(|| [body, b"}"].concat())
}

/// How a cold copy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a whole line, or there is none.
    Whole,
    /// Its end is torn at this byte; nothing readable follows.
    Torn(u64),
    /// A line is damaged, and there are readable ones behind it: damage, or an end that never reached the disk as a whole,
    /// which the journal then still has.
    Damaged {
        at: u64,
        /// The highest event of a readable line.
        known: Seq,
    },
}

/// Calls `each` with every event of the cold copy, from its beginning up to what cannot be read.
///
/// # Errors
/// The file cannot be read, or `each` says no.
pub fn each_event<E: From<ColdError>>(
    files: &dyn FileSystem,
    dir: &Path,
    session: SessionId,
    projector: &dyn Projector,
    mut each: impl FnMut(Seq, Bytes) -> Result<(), E>,
) -> Result<Ending, E> {
    let path = path_of(dir, session);
    let failed = |source| E::from(ColdError { path: path.clone(), source });
    let file = match files.open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ending::Whole),
        Err(error) => return Err(failed(error)),
    };
    let (mut lines, mut last) = (Lines::new(file.as_ref()).map_err(failed)?, Seq::ZERO);
    let (mut bad, mut known) = (None, Seq::ZERO);
    while let Some((at, line)) = lines.next().map_err(failed)? {
        let event = line.whole().and_then(unseal).and_then(|json| projector.read_line(&json).ok());
        match (event, bad) {
            (Some((seq, event)), None) if seq == last.next() => {
                last = seq;
                each(seq, event)?;
            }
            // It is there twice.
            (Some((seq, _)), _) if seq <= last => {}
            (Some((seq, _)), from) => {
                bad = Some(from.unwrap_or(at));
                known = known.max(seq);
            }
            (None, from) => bad = Some(from.unwrap_or(at)),
        }
    }
    Ok(match bad {
        None => Ending::Whole,
        Some(at) if known == Seq::ZERO => Ending::Torn(at),
        Some(at) => Ending::Damaged { at, known },
    })
}

/// Where appending goes on.
struct End {
    offset: u64,
    last: Seq,
}

/// Reads events after a number, in pages; an empty one is the end.
pub type Pages<'a, E> = &'a mut dyn FnMut(Seq) -> Result<Vec<(Seq, Bytes)>, E>;

/// Brings the cold copy up to what `pages` gives, synced. Lines of `from` and later ones may be there and may not have
/// reached the disk: they are written anew. Everything before is, if it is there at all. The folder is the caller's to sync.
///
/// # Errors
/// The file, or `pages`.
pub fn append<E: From<ColdError>>(
    files: &dyn FileSystem,
    dir: &Path,
    session: SessionId,
    projector: &dyn Projector,
    from: Seq,
    pages: Pages<'_, E>,
) -> Result<(), E> {
    let path = path_of(dir, session);
    let failed = |source| E::from(ColdError { path: path.clone(), source });
    let (mut file, mut end) = match files.open(&path) {
        Ok(file) => match end_before(file.as_ref(), from, projector).map_err(failed)? {
            Some(end) => (Some(file), end),
            None => {
                let mut aside = path.clone().into_os_string();
                aside.push(ASIDE);
                tracing::error!(copy = %path.display(), "the cold copy is damaged: it is set aside and written anew");
                files.rename(&path, Path::new(&aside)).map_err(failed)?;
                (None, End { offset: 0, last: Seq::ZERO })
            }
        },
        Err(error) if error.kind() == ErrorKind::NotFound => (None, End { offset: 0, last: Seq::ZERO }),
        Err(error) => return Err(failed(error)),
    };
    let mut cut = Cut::Due;
    loop {
        let page = pages(end.last)?;
        let Some((last, _)) = page.last() else { break };
        let file = match &file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(file.insert(files.create(&path).map_err(failed)?)),
        };
        // Not before there is something to put in its place.
        if let Cut::Due = cut {
            file.set_len(end.offset).map_err(failed)?;
            cut = Cut::Done;
        }
        let mut lines = Vec::new();
        for (seq, event) in &page {
            lines.extend_from_slice(&seal(projector.write_line(*seq, event)));
        }
        file.write_at(&lines, end.offset).map_err(failed)?;
        end = End { offset: end.offset + lines.len() as u64, last: *last };
    }
    if let (Some(file), Cut::Done) = (&file, cut) {
        file.sync_data().map_err(failed)?;
    }
    Ok(())
}

/// Whether what lies behind the good end is gone.
#[derive(Clone, Copy)]
enum Cut {
    Due,
    Done,
}

/// The end of the last good line before event `from`, looked for from the end; nothing when there is none over a long way.
fn end_before(file: &dyn File, from: Seq, projector: &dyn Projector) -> io::Result<Option<End>> {
    let size = file.size()?;
    let mut span = FIRST_LOOK.min(size);
    loop {
        let start = size - span;
        let mut bytes = vec![0; usize::try_from(span).map_err(|_| ErrorKind::FileTooLarge)?];
        file.read_at(&mut bytes, start)?;
        if let Some(end) = last_before(&bytes, start, from, projector) {
            return Ok(Some(end));
        }
        if start == 0 {
            return Ok(Some(End { offset: 0, last: Seq::ZERO }));
        }
        if span > LONGEST_LOOK {
            return Ok(None);
        }
        span = (span * 4).min(size);
    }
}

/// The last good line before event `from` in a part of the file that begins at `start`.
fn last_before(bytes: &[u8], start: u64, from: Seq, projector: &dyn Projector) -> Option<End> {
    let mut stop = bytes.iter().rposition(|byte| *byte == b'\n')?;
    loop {
        let begin = match bytes[..stop].iter().rposition(|byte| *byte == b'\n') {
            Some(before) => before + 1,
            None if start == 0 => 0,
            None => return None,
        };
        let line = unseal(&bytes[begin..stop]).and_then(|json| projector.read_line(&json).ok());
        if let Some((last, _)) = line.filter(|(seq, _)| *seq < from) {
            return Some(End { offset: start + stop as u64 + 1, last });
        }
        stop = begin.checked_sub(1)?;
    }
}

/// A file's lines, read in blocks.
struct Lines<'a> {
    file: &'a dyn File,
    size: u64,
    /// Where `buffer` begins in the file.
    at: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are used up.
    used: usize,
}

enum Line {
    Whole(Vec<u8>),
    /// Without a line break, or too long.
    Rest,
}

impl Line {
    fn whole(&self) -> Option<&[u8]> {
        match self {
            Line::Whole(bytes) => Some(bytes),
            Line::Rest => None,
        }
    }
}

impl<'a> Lines<'a> {
    fn new(file: &'a dyn File) -> io::Result<Lines<'a>> {
        Ok(Lines { file, size: file.size()?, at: 0, buffer: Vec::new(), used: 0 })
    }

    /// The next line and where it starts.
    fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
        let start = self.at + self.used as u64;
        let mut searched = self.used;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer[self.used..searched + at].to_vec();
                self.used = searched + at + 1;
                return Ok(Some((start, Line::Whole(line))));
            }
            self.buffer.drain(..self.used);
            (self.at, self.used, searched) = (start, 0, self.buffer.len());
            let from = self.at + self.buffer.len() as u64;
            let more = self.size.saturating_sub(from).min(BLOCK as u64);
            if more == 0 || self.buffer.len() > LONGEST_LINE {
                let rest = !self.buffer.is_empty();
                (self.at, self.buffer) = (self.size, Vec::new());
                return Ok(rest.then_some((start, Line::Rest)));
            }
            let old = self.buffer.len();
            self.buffer.resize(old + usize::try_from(more).unwrap_or(0), 0);
            self.file.read_at(&mut self.buffer[old..], from)?;
        }
    }
}

#[cfg(test)]
mod tests;
