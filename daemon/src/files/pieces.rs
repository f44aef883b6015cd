//! A file that grows, read by pieces: its end, or from an offset. It never follows a link and never writes.

use std::io::{Read as _, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use agentd_types::AbsPath;
use rustix::fs::OFlags;

/// The end of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Bytes that are no UTF-8 are U+FFFD.
    pub text: String,
    /// Bytes there are.
    pub total: u64,
    /// Where `text` begins.
    pub from: u64,
}

/// The last `most` bytes, from a whole character on. A file that is not there yet is empty.
///
/// # Errors
/// Why it cannot be read, for people.
pub async fn tail(file: &AbsPath, most: u64) -> Result<Read, String> {
    let file = file.clone();
    blocking(move || {
        let Some(total) = length(&file)? else { return Ok(Read { text: String::new(), total: 0, from: 0 }) };
        let from = total.saturating_sub(most);
        let bytes = bytes(&file, from, most)?;
        // Not in the middle of a character.
        let cut = if from == 0 { 0 } else { bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count() };
        Ok(Read { text: String::from_utf8_lossy(&bytes[cut..]).into_owned(), total, from: from + cut as u64 })
    })
    .await
}

/// At most `most` bytes from `offset`; none at or behind the end.
///
/// # Errors
/// Why it cannot be read, for people.
pub async fn piece(file: &AbsPath, offset: u64, most: u64) -> Result<Vec<u8>, String> {
    let file = file.clone();
    blocking(move || match length(&file)? {
        Some(total) if total > offset => bytes(&file, offset, most),
        Some(_) | None => Ok(Vec::new()),
    })
    .await
}

fn length(file: &AbsPath) -> std::io::Result<Option<u64>> {
    match std::fs::symlink_metadata(file.as_path()) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn bytes(file: &AbsPath, from: u64, most: u64) -> std::io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file.as_path())?;
    opened.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    opened.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

async fn blocking<T: Send + 'static>(read: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, String> {
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
