//! Large values: each a file of its own in its session's folder, named by its content. The journal and the database hold a
//! reference instead. A file is durable before anything names it, and never changes.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use agentd_types::SessionId;
use bytes::Bytes;

use super::file::FileSystem;
use super::places::Places;

/// A reference begins so. An event that happens to begin so too is kept in a file whatever its size.
const MARK: [u8; 8] = [0, b'b', b'l', b'o', b'b', 0, 0, 1];
const LEN: usize = MARK.len() + 8 + 32;
const UNFINISHED: &str = ".new";

/// Why a large value was not kept, or not found again.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("cannot keep a large value in {}: {source}; free some space or check the disk", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read the large value {}: {source}; check the disk", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the large value {} is {what}", .path.display())]
    Damaged { path: PathBuf, what: &'static str },
}

/// What a reference says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reference {
    len: u64,
    hash: [u8; 32],
}

impl Reference {
    fn of(event: &[u8]) -> Reference {
        Reference { len: event.len() as u64, hash: *blake3::hash(event).as_bytes() }
    }

    fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(LEN);
        out.extend_from_slice(&MARK);
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.hash);
        out.into()
    }

    fn decode(stored: &[u8]) -> Option<Reference> {
        let rest = stored.strip_prefix(&MARK).filter(|_| stored.len() == LEN)?;
        let (len, hash) = rest.split_first_chunk::<8>()?;
        Some(Reference { len: u64::from_le_bytes(*len), hash: *hash.first_chunk()? })
    }

    fn name(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }
}

/// Whether an event goes into a file: it is larger than `bound`, or looks like a reference.
#[must_use]
pub fn is_large(event: &[u8], bound: usize) -> bool {
    event.len() > bound || event.starts_with(&MARK)
}

/// Bytes of the event that is stored so.
#[must_use]
pub fn len_of(stored: &[u8]) -> usize {
    Reference::decode(stored).map_or(stored.len(), |reference| usize::try_from(reference.len).unwrap_or(usize::MAX))
}

/// A session's folder of large values.
#[must_use]
pub fn folder_of(places: &Places, session: SessionId) -> PathBuf {
    places.blobs.join(session.to_string())
}

/// What is stored for an event: itself, or the reference to the file it is in by now, durably.
///
/// # Errors
/// The file cannot be made.
pub fn keep(files: &dyn FileSystem, places: &Places, session: SessionId, event: &Bytes, bound: usize) -> Result<Bytes, BlobError> {
    if !is_large(event, bound) {
        return Ok(event.clone());
    }
    let reference = Reference::of(event);
    let folder = folder_of(places, session);
    let path = folder.join(reference.name());
    let unfinished = folder.join(format!("{}{UNFINISHED}", reference.name()));
    let failed = |source| BlobError::Write { path: path.clone(), source };
    // What is there may not have reached the disk, or be damaged: it is written again.
    files.create_dir(&folder).map_err(failed)?;
    let written = files.create(&unfinished).and_then(|file| {
        file.write_at(event, 0)?;
        file.sync_data()?;
        files.rename(&unfinished, &path)
    });
    if let Err(source) = written {
        // Only room is lost if this fails too.
        let _ = files.remove(&unfinished);
        return Err(failed(source));
    }
    for dir in [folder.as_path(), places.blobs.as_path()] {
        files.sync_dir(dir).map_err(failed)?;
    }
    if let Some(parent) = places.blobs.parent() {
        files.sync_dir(parent).map_err(failed)?;
    }
    Ok(reference.encode())
}

/// The event that is stored so, checked.
///
/// # Errors
/// Its file is gone, damaged, or cannot be read.
pub fn fetch(files: &dyn FileSystem, places: &Places, session: SessionId, stored: &Bytes) -> Result<Bytes, BlobError> {
    let Some(reference) = Reference::decode(stored) else { return Ok(stored.clone()) };
    let path = folder_of(places, session).join(reference.name());
    let read = || -> io::Result<Vec<u8>> {
        let file = files.open(&path)?;
        let mut event = vec![0; usize::try_from(file.size()?).map_err(|_| ErrorKind::FileTooLarge)?];
        file.read_at(&mut event, 0)?;
        Ok(event)
    };
    match read() {
        Ok(event) if Reference::of(&event) == reference => Ok(event.into()),
        Ok(_) => Err(BlobError::Damaged { path, what: "damaged" }),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => {
            Err(BlobError::Damaged { path, what: "gone" })
        }
        Err(source) => Err(BlobError::Read { path, source }),
    }
}

/// Removes a session's large values, durably.
///
/// # Errors
/// The folder cannot be read or removed.
pub fn remove_all(files: &dyn FileSystem, places: &Places, session: SessionId) -> io::Result<()> {
    let folder = folder_of(places, session);
    let names = match files.list(&folder) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in names {
        files.remove(&folder.join(name))?;
    }
    files.sync_dir(&folder)?;
    files.remove_dir(&folder)?;
    files.sync_dir(&places.blobs)
}

/// An event as it is, and as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub real: Bytes,
    pub stored: Bytes,
}

/// An event read from elsewhere (a cold copy), its file made only if it is not there as it should be.
///
/// # Errors
/// The file cannot be made.
pub fn ensure(files: &dyn FileSystem, places: &Places, session: SessionId, real: Bytes, bound: usize) -> Result<Kept, BlobError> {
    let stored = if !is_large(&real, bound) {
        real.clone()
    } else {
        let reference = Reference::of(&real).encode();
        match fetch(files, places, session, &reference) {
            Ok(_) => reference,
            Err(_) => keep(files, places, session, &real, bound)?,
        }
    };
    Ok(Kept { real, stored })
}

#[cfg(test)]
mod tests;
