//! What Glob and Grep share: walking a folder with ignore rules, patterns of file names, bounds. It opens no file.

mod bounds;
mod pattern;

use std::path::{Path, PathBuf};

use agentd_core::permission::Subject;
use agentd_types::AbsPath;
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkBuilder};

pub use bounds::{Bounds, Stop};
pub use pattern::Pattern;

use super::input;
use super::tool::{CallContext, ToolContext, ToolFailure};
use crate::files::open;

/// Entries one walk visits.
const MAX_ENTRIES: usize = 500_000;

/// The folder a call is about: the session's own where none is named.
pub fn place(context: &ToolContext, path: Option<&String>) -> AbsPath {
    path.map_or_else(|| context.cwd.clone(), |path| context.cwd.join(path))
}

/// Searching is reading that folder.
pub async fn reading(place: AbsPath) -> Result<Subject, ToolFailure> {
    input::blocking(move || Subject::Read { real: open::resolve(&place), path: place }).await
}

/// Runs `work` off the runtime's threads; a cancel ends it at its next look at its bounds.
pub async fn bounded<T: Send + 'static>(
    call: &CallContext<'_>,
    work: impl FnOnce(&Bounds) -> T + Send + 'static,
) -> Result<T, ToolFailure> {
    let bounds = Bounds::new();
    let inside = bounds.clone();
    let working = input::blocking(move || work(&inside));
    tokio::pin!(working);
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => {
            bounds.cancel();
            Err(ToolFailure::TellModel("the search was cancelled".to_owned()))
        }
        done = &mut working => done,
    }
}

/// Files of one of ripgrep's types.
pub fn types(name: Option<&String>) -> Result<Option<Types>, ToolFailure> {
    let Some(name) = name else { return Ok(None) };
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let built = builder.select(name).build();
    built.map(Some).map_err(|_| {
        ToolFailure::TellModel(format!("there is no file type `{name}`; `rust`, `py`, `js`, `ts`, `go` are some; or use glob"))
    })
}

/// The regular files below `root`, by path, ignore rules applied; links are not followed, `.git` is left out. Ends early when
/// the bounds say so, and tells why.
pub fn walk(root: &Path, types: Option<Types>, bounds: &Bounds, mut each: impl FnMut(PathBuf, &DirEntry)) -> Option<Stop> {
    let mut builder = WalkBuilder::new(root);
    builder.hidden(false).require_git(false).follow_links(false).filter_entry(|entry| entry.file_name() != ".git");
    builder.sort_by_file_path(Path::cmp);
    if let Some(types) = types {
        builder.types(types);
    }
    for (at, entry) in builder.build().enumerate() {
        if at >= MAX_ENTRIES {
            return Some(Stop::Entries(MAX_ENTRIES));
        }
        if let Some(stop) = bounds.reached() {
            return Some(stop);
        }
        // What cannot be listed has no files for us.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            each(entry.path().to_path_buf(), &entry);
        }
    }
    None
}

/// The path as it is shown: relative to the working folder where it lies below.
pub fn shown(path: &Path, cwd: &AbsPath) -> String {
    path.strip_prefix(cwd.as_path()).unwrap_or(path).display().to_string()
}

/// The folder is there and is one.
pub fn is_folder(place: &AbsPath) -> Result<(), ToolFailure> {
    match std::fs::metadata(place.as_path()) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(ToolFailure::TellModel(format!("{place} is not a folder"))),
        Err(error) => Err(ToolFailure::TellModel(format!("{place} cannot be searched: {error}"))),
    }
}

#[cfg(test)]
mod tests;
