//! One segment file: its header, its zero-filled room, and writing into it so that a failure leaves nothing behind.
//! It never reads a record.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentd_types::SessionId;

use super::file::{File, FileSystem};

/// Bytes of a segment's header; the first record follows.
pub const SEGMENT_HEADER: u64 = 128;

/// The newest format this code reads and the one it writes.
pub const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"agentdJ\n";
const BOOT_LEN: usize = 64;
const SUFFIX: &str = ".journal";
const UNFINISHED: &str = ".journal.new";

/// Which start of the machine this is; a value the caller has read (`/proc/sys/kernel/random/boot_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootId([u8; BOOT_LEN]);

impl BootId {
    /// From its text; what is longer than 64 bytes is cut. An empty one means "unknown".
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; BOOT_LEN];
        for (to, from) in bytes.iter_mut().zip(text.trim().bytes()) {
            *to = from;
        }
        Self(bytes)
    }

    /// Nobody knows: every opening counts as one after a power loss.
    #[must_use]
    pub const fn unknown() -> Self {
        Self([0; BOOT_LEN])
    }

    /// Whether both are known and the same.
    #[must_use]
    pub fn is_same_as(&self, other: &BootId) -> bool {
        self == other && *self != BootId::unknown()
    }
}

/// What a segment's header says. Its place and its CRC's stay the same in every format to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub format: u32,
    pub segment: u32,
    /// The number of the first record in it.
    pub first_record: u64,
    /// The session of the record before that one.
    pub previous: Option<SessionId>,
    pub boot: BootId,
}

impl SegmentHeader {
    /// Its bytes: magic 8, format 4, segment 4, first record 8, previous session 16, boot id 64, zeros, CRC-32C in the last 4.
    #[must_use]
    pub fn encode(&self) -> [u8; SEGMENT_HEADER as usize] {
        let mut out = [0; SEGMENT_HEADER as usize];
        out[0..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&self.format.to_le_bytes());
        out[12..16].copy_from_slice(&self.segment.to_le_bytes());
        out[16..24].copy_from_slice(&self.first_record.to_le_bytes());
        if let Some(previous) = self.previous {
            out[24..40].copy_from_slice(previous.as_bytes());
        }
        out[40..40 + BOOT_LEN].copy_from_slice(&self.boot.0);
        let sum = crc32c::crc32c(&out[..124]);
        out[124..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// `None` when the bytes are no whole header.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<SegmentHeader> {
        let (body, sum) = bytes.get(..SEGMENT_HEADER as usize)?.split_last_chunk::<4>()?;
        if !body.starts_with(&MAGIC) || crc32c::crc32c(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let previous = *body[24..].first_chunk::<16>()?;
        Some(SegmentHeader {
            format: u32::from_le_bytes(*body[8..].first_chunk()?),
            segment: u32::from_le_bytes(*body[12..].first_chunk()?),
            first_record: u64::from_le_bytes(*body[16..].first_chunk()?),
            previous: (previous != [0; 16]).then(|| SessionId::from_bytes(previous)),
            boot: BootId(*body[40..].first_chunk()?),
        })
    }
}

/// The file of segment `number`.
#[must_use]
pub fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number:010}{SUFFIX}"))
}

/// What a name in the journal's folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Segment(u32),
    /// Its creation was cut; it holds nothing.
    Unfinished,
    /// Not ours: left alone.
    Foreign,
}

#[must_use]
pub fn named(name: &str) -> Named {
    if name.ends_with(UNFINISHED) {
        return Named::Unfinished;
    }
    let digits = name.strip_suffix(SUFFIX).filter(|digits| digits.len() == 10);
    digits.and_then(|digits| digits.parse().ok()).map_or(Named::Foreign, Named::Segment)
}

/// The segment that is being written. Only the commit thread has it.
pub struct Segment {
    pub number: u32,
    pub path: PathBuf,
    file: Arc<dyn File>,
    /// Where the next record goes.
    end: u64,
    /// Everything below is on the disk for sure.
    synced: u64,
    /// The file's length; from `end` to here there are zeros.
    allocated: u64,
    /// It is never filled beyond this.
    limit: u64,
    /// A failed write may have left bytes from `end` to here.
    dirty_to: Option<u64>,
}

/// Creation failed, at a point where the name may or may not be there already.
pub enum CreateFailure {
    /// Nothing has changed.
    Before(io::Error),
    /// The name is there, but not for sure.
    Unsure(io::Error),
}

impl Segment {
    /// Makes the file under another name, syncs it, renames it and syncs the folder: a segment's header is never torn.
    pub fn create(files: &dyn FileSystem, dir: &Path, header: &SegmentHeader, sizes: Sizes) -> Result<Segment, CreateFailure> {
        let path = path_of(dir, header.segment);
        let unfinished = dir.join(format!("{:010}{UNFINISHED}", header.segment));
        let made = (|| {
            let file = files.create(&unfinished)?;
            let mut start = vec![0; usize::try_from(sizes.chunk.max(SEGMENT_HEADER)).unwrap_or(SEGMENT_HEADER as usize)];
            start[..SEGMENT_HEADER as usize].copy_from_slice(&header.encode());
            file.write_at(&start, 0)?;
            file.sync_data()?;
            files.rename(&unfinished, &path)?;
            Ok((file, start.len() as u64))
        })();
        let (file, allocated) = match made {
            Ok(made) => made,
            Err(error) => {
                // It holds nothing; if it stays, opening removes it.
                let _ = files.remove(&unfinished);
                return Err(CreateFailure::Before(error));
            }
        };
        files.sync_dir(dir).map_err(CreateFailure::Unsure)?;
        let (end, limit) = (SEGMENT_HEADER, sizes.limit);
        Ok(Segment { number: header.segment, path, file, end, synced: end, allocated, limit, dirty_to: None })
    }

    /// An existing one, all of it synced and zeros behind `end`.
    #[must_use]
    pub fn reopened(number: u32, path: PathBuf, file: Arc<dyn File>, end: u64, allocated: u64, limit: u64) -> Segment {
        Segment { number, path, file, end, synced: end, allocated, limit, dirty_to: None }
    }

    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    #[must_use]
    pub fn synced(&self) -> u64 {
        self.synced
    }

    #[must_use]
    pub fn fits(&self, len: u64) -> bool {
        self.end + len <= self.limit
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end == SEGMENT_HEADER
    }

    /// An empty segment takes one batch of any size.
    pub fn widen(&mut self, len: u64) {
        self.limit = self.limit.max(self.end + len);
    }

    /// Writes `bytes` at the end, all or nothing: after an error they are zeroed again, at the latest before the next write.
    pub fn write(&mut self, bytes: &[u8], chunk: u64) -> io::Result<()> {
        self.clean()?;
        let end = self.end + bytes.len() as u64;
        self.make_room(end, chunk)?;
        if let Err(error) = self.file.write_at(bytes, self.end) {
            self.dirty_to = Some(end);
            // If this fails too, the next write tries again before it writes.
            let _ = self.clean();
            return Err(error);
        }
        self.end = end;
        Ok(())
    }

    /// One fdatasync. An error is final: see `File::sync_data`.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.synced < self.end {
            self.file.sync_data()?;
            self.synced = self.end;
        }
        Ok(())
    }

    /// Gives the unused room back. Nothing depends on it: zeros behind the last record mean the same as the file's end.
    pub fn trim(&self) -> io::Result<()> {
        self.file.set_len(self.end)
    }

    fn clean(&mut self) -> io::Result<()> {
        if let Some(to) = self.dirty_to {
            let to = to.min(self.file.size()?);
            zero(self.file.as_ref(), self.end, to)?;
            self.dirty_to = None;
        }
        Ok(())
    }

    /// Lengthens the zero-filled room up to `end`, by whole chunks if the disk has room for one. Zeros are really written,
    /// so that a record's sync later changes nothing but data, and a full disk shows here, before a record is begun.
    fn make_room(&mut self, end: u64, chunk: u64) -> io::Result<()> {
        if end <= self.allocated {
            return Ok(());
        }
        let ahead = end.next_multiple_of(chunk.max(1)).min(self.limit.max(end));
        match zero(self.file.as_ref(), self.allocated, ahead) {
            Ok(()) => self.allocated = ahead,
            Err(_) if ahead > end => {
                // Room that was got in part is zeros behind the end: harmless, and used below.
                zero(self.file.as_ref(), self.allocated, end)?;
                self.allocated = end;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// How long a segment may become and by how much it grows, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub limit: u64,
    pub chunk: u64,
}

/// Writes zeros in pieces of bounded size.
pub fn zero(file: &dyn File, from: u64, to: u64) -> io::Result<()> {
    const PIECE: u64 = 256 * 1024;
    let zeros = vec![0; usize::try_from(PIECE.min(to.saturating_sub(from))).unwrap_or(0)];
    let mut at = from;
    while at < to {
        let len = PIECE.min(to - at);
        file.write_at(&zeros[..usize::try_from(len).unwrap_or(zeros.len())], at)?;
        at += len;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
