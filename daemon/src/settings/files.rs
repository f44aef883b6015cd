//! Reads a settings file: strict JSON, every mistake with its place. It never writes one, and never shows a key's value.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use agentd_types::config::Settings;
use serde_json::{Map, Value};

use super::place::{key_at, offset_of};

/// Bytes of a settings file at most.
const MAX_BYTES: u64 = 4 << 20;

/// What is known of each part of the file; other keys are warned of.
const KNOWN: &[&str] = &["$schema", "model", "fallbackModels", "permissions", "provider", "resume", "env", "maxTurns", "maxBudgetUsd"];
const KNOWN_PERMISSIONS: &[&str] = &["allow", "deny", "ask", "defaultMode", "additionalDirectories"];
const KNOWN_PROVIDER: &[&str] = &["anthropicBaseUrl", "anthropicApiKey", "anthropicAuthToken", "retryBaseMs", "silenceMs"];

const KNOWN_RESUME: &[&str] = &["interrupted"];

/// Settings, and what a person should know about their file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    pub settings: Settings,
    /// Keys that mean nothing here, one line each.
    pub warnings: Vec<String>,
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{}: cannot be read: {why}", .path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}: line {line}, column {column}{}: {why}", .path.display(), at(key))]
    Broken {
        path: PathBuf,
        line: usize,
        column: usize,
        /// Like `permissions.allow[2]`; empty at the top.
        key: String,
        why: String,
    },
}

fn at(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(", `{key}`") }
}

/// Reads the file at `path`; a missing one is the defaults. Blocks.
///
/// # Errors
/// When it is there and cannot be read, or holds a mistake.
pub fn read(path: &Path) -> Result<Loaded, SettingsError> {
    match text(path)? {
        Some(text) => parse(path, &text),
        None => Ok(Loaded::default()),
    }
}

/// The text of the file at `path`; none when it is missing. Blocks.
///
/// # Errors
/// When it is there and cannot be read.
pub(super) fn text(path: &Path) -> Result<Option<String>, SettingsError> {
    let unreadable = |why: String| SettingsError::Unreadable { path: path.to_owned(), why };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if !metadata.is_file() {
        // Opening a FIFO would wait for its writer.
        return Err(unreadable("it is no regular file".to_owned()));
    }
    if metadata.len() > MAX_BYTES {
        return Err(unreadable(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
    Ok(Some(text))
}

/// A file's text as `T`.
///
/// # Errors
/// The first mistake: line, column, key.
pub(super) fn typed<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, SettingsError> {
    serde_json::from_str(text).map_err(|error| broken(path, text, &error))
}

/// Reads a file's text; an empty one is the defaults.
///
/// # Errors
/// The first mistake: line, column, key.
pub fn parse(path: &Path, text: &str) -> Result<Loaded, SettingsError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Loaded::default());
    }
    // The syntax first: a missing comma must not be reported as a missing field.
    let value: Value = serde_json::from_str(text).map_err(|error| broken(path, text, &error))?;
    let Value::Object(fields) = &value else {
        let why = "a settings file is a JSON object: { … }".to_owned();
        return Err(SettingsError::Broken { path: path.to_owned(), line: 1, column: 1, key: String::new(), why });
    };
    let settings: Settings = serde_json::from_str(text).map_err(|error| broken(path, text, &error))?;
    Ok(Loaded { settings, warnings: warnings(path, fields) })
}

fn broken(path: &Path, text: &str, error: &serde_json::Error) -> SettingsError {
    let (line, column) = (error.line(), error.column());
    let key = key_at(text, offset_of(text, line, column));
    let why = if key.starts_with("provider") && key.ends_with("Ms") && error.is_data() {
        "it must be a whole number of milliseconds".to_owned()
    } else if key.starts_with("provider") && error.is_data() {
        // serde quotes what it found, and here that may be a key.
        "it must be a text in quotes".to_owned()
    } else {
        let whole = error.to_string();
        whole.rsplit_once(" at line ").map_or(whole.clone(), |(why, _)| why.to_owned())
    };
    SettingsError::Broken { path: path.to_owned(), line, column, key, why }
}

fn warnings(path: &Path, fields: &Map<String, Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |prefix: &str, fields: &Map<String, Value>, known: &[&str]| {
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            warnings.push(format!("{}: `{prefix}{key}` is no setting that is known here; it is ignored", path.display()));
        }
    };
    warn("", fields, KNOWN);
    for (part, known) in [("permissions", KNOWN_PERMISSIONS), ("provider", KNOWN_PROVIDER), ("resume", KNOWN_RESUME)] {
        if let Some(Value::Object(inner)) = fields.get(part) {
            warn(&format!("{part}."), inner, known);
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
