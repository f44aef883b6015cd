//! A text file that was read, changed: checked to be as it was, and written back in its own encoding. How it changes is the caller's.

use super::tool::ToolFailure;
use crate::files::SeenFile;
use crate::files::open::{self, Place, Target};
use crate::files::text::decode;

/// Whether a file is as it was when it was last read; what to do if not.
pub fn is_fresh(now: &SeenFile, known: Option<&SeenFile>) -> Result<(), ToolFailure> {
    match known {
        None => Err(tell(format!("{} exists and was not read yet; read it first", now.path))),
        Some(known) if known.crc == now.crc && known.len == now.len => Ok(()),
        Some(_) => Err(tell(format!("{} changed since it was read; read it again", now.path))),
    }
}

/// Changes the file's text by `how`, which says what it did. Blocks.
pub fn change<T>(
    place: &Place,
    known: Option<&SeenFile>,
    how: impl FnOnce(&str) -> Result<(String, T), String>,
) -> Result<(SeenFile, T), ToolFailure> {
    let path = &place.path;
    let content = open::read(place).map_err(|error| tell(error.to_string()))?;
    is_fresh(&content.seen, known)?;
    let old = decode(&content.bytes).map_err(|why| tell(format!("{path} {why}; it was left alone")))?;
    let (new, done) = how(&old.text).map_err(|why| tell(format!("{path}: {why}")))?;
    let bytes = old.coding.encode(&new).map_err(|why| tell(format!("{path} was left alone: {why}")))?;
    let seen = open::replace(place, &bytes, Target::Existing(content.standing)).map_err(|error| tell(error.to_string()))?;
    Ok((seen, done))
}

fn tell(text: String) -> ToolFailure {
    ToolFailure::TellModel(text)
}
