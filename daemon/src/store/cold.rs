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
/// So many bad lines at its end are no tear: the copy is set aside and written anew.
const WORST_END: usize = 64;
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
    /// A line at this byte is damaged, and there are readable ones behind it.
    Damaged(u64),
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
    let (mut lines, mut last, mut bad) = (Lines::new(file.as_ref()).map_err(failed)?, Seq::ZERO, None);
    while let Some((at, line)) = lines.next().map_err(failed)? {
        let event = line.whole().and_then(unseal).and_then(|json| projector.read_line(&json).ok());
        match (event, bad) {
            (Some((seq, event)), None) if seq == last.next() => {
                last = seq;
                each(seq, event)?;
            }
            // What a restored copy holds twice.
            (Some((seq, _)), None) if seq <= last => {}
            (Some(_), Some(from)) => return Ok(Ending::Damaged(from)),
            (Some(_), None) => return Ok(Ending::Damaged(at)),
            (None, from) => bad = Some(from.unwrap_or(at)),
        }
    }
    Ok(bad.map_or(Ending::Whole, Ending::Torn))
}

/// Where appending goes on.
struct End {
    offset: u64,
    last: Seq,
}

/// Reads events after a number, in pages; an empty one is the end.
pub type Pages<'a, E> = &'a mut dyn FnMut(Seq) -> Result<Vec<(Seq, Bytes)>, E>;

/// Brings the cold copy up to what `pages` gives: a torn end is cut, what is there is not written again. Synced.
/// Returns the last event in it. The folder is synced by the caller if this made the file.
///
/// # Errors
/// The file, or `pages`.
pub fn append<E: From<ColdError>>(
    files: &dyn FileSystem,
    dir: &Path,
    session: SessionId,
    projector: &dyn Projector,
    pages: Pages<'_, E>,
) -> Result<Appended, E> {
    let path = path_of(dir, session);
    let failed = |source| E::from(ColdError { path: path.clone(), source });
    let (mut file, mut end) = match files.open(&path) {
        Ok(file) => match end_of(file.as_ref(), projector).map_err(failed)? {
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
    let mut made = Made::Nothing;
    loop {
        let page = pages(end.last)?;
        let Some((last, _)) = page.last() else { break };
        let file = match &file {
            Some(file) => Arc::clone(file),
            None => {
                made = Made::File;
                Arc::clone(file.insert(files.create(&path).map_err(failed)?))
            }
        };
        if file.size().map_err(failed)? > end.offset {
            file.set_len(end.offset).map_err(failed)?;
        }
        let mut lines = Vec::new();
        for (seq, event) in &page {
            lines.extend_from_slice(&seal(projector.write_line(*seq, event)));
        }
        file.write_at(&lines, end.offset).map_err(failed)?;
        end = End { offset: end.offset + lines.len() as u64, last: *last };
        made = match made {
            Made::Nothing => Made::Lines,
            other => other,
        };
    }
    if let (Some(file), Made::Lines | Made::File) = (&file, made) {
        file.sync_data().map_err(failed)?;
    }
    Ok(Appended { made })
}

/// What appending did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub made: Made,
}

/// What is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    Nothing,
    Lines,
    /// The file itself: its name must be made durable.
    File,
}

/// The end of the last good line, looked for from the end; nothing when the end is damaged over many lines.
fn end_of(file: &dyn File, projector: &dyn Projector) -> io::Result<Option<End>> {
    let mut to = file.size()?;
    for _ in 0..WORST_END {
        let Some((start, line, stop)) = last_line(file, to)? else { return Ok(Some(End { offset: 0, last: Seq::ZERO })) };
        if let Some((last, _)) = unseal(&line).and_then(|json| projector.read_line(&json).ok()) {
            return Ok(Some(End { offset: stop, last }));
        }
        to = start;
    }
    Ok(None)
}

/// The last line before `to` that ends with a line break: where it starts, its content, and where the next one would start.
fn last_line(file: &dyn File, to: u64) -> io::Result<Option<(u64, Vec<u8>, u64)>> {
    let (mut from, mut bytes) = (to, Vec::new());
    loop {
        let stop = bytes.iter().rposition(|byte| *byte == b'\n');
        let start = stop.and_then(|stop| bytes[..stop].iter().rposition(|byte| *byte == b'\n').map(|at| at + 1));
        match (stop, start) {
            (Some(stop), Some(start)) => {
                return Ok(Some((from + start as u64, bytes[start..stop].to_vec(), from + stop as u64 + 1)));
            }
            (Some(stop), None) if from == 0 => return Ok(Some((0, bytes[..stop].to_vec(), stop as u64 + 1))),
            (None, _) if from == 0 => return Ok(None),
            _ => {}
        }
        let more = from.min(bytes.len().max(BLOCK) as u64);
        from -= more;
        let mut block = vec![0; usize::try_from(more).unwrap_or(BLOCK)];
        file.read_at(&mut block, from)?;
        // Zeros of a torn end take no memory: no line holds one.
        if stop.is_none() && block.iter().all(|byte| *byte == 0) && bytes.iter().all(|byte| *byte == 0) {
            bytes.clear();
        } else {
            block.extend_from_slice(&bytes);
            bytes = block;
        }
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
