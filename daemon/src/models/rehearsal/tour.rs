//! The built-in tour: its script, and the small project it works on. It never overwrites a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::script::{Script, ScriptError};

const SCRIPT: &str = include_str!("tour/tour.toml");
const NO_MODEL: &str = include_str!("tour/no-model.toml");

/// The tour's project: name, content, mode.
const FILES: &[(&str, &str, u32)] = &[("greet.sh", include_str!("tour/greet.sh"), 0o755), ("test.sh", include_str!("tour/test.sh"), 0o755)];

/// The files the tour works on, for whoever starts it: name below the session's folder, content, mode.
#[must_use]
pub fn files() -> &'static [(&'static str, &'static str, u32)] {
    FILES
}

/// Writes the project into `folder`, which is made if it is missing. Blocks.
///
/// # Errors
/// When a file cannot be written, or is there already.
pub fn lay_down(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, content, mode) in files() {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(*mode).open(folder.join(name))?;
        file.write_all(content.as_bytes())?;
    }
    Ok(())
}

/// Whether the tour's project is in `folder`. Blocks.
#[must_use]
pub fn is_laid_down(folder: &Path) -> bool {
    files().iter().all(|(name, _, _)| folder.join(name).is_file())
}

/// The tour.
///
/// # Errors
/// Never, as its test says.
pub fn script() -> Result<Script, ScriptError> {
    Script::parse("of the built-in tour", SCRIPT)
}

/// What is said where no model is set up and the tour's project is not there: how to go on.
///
/// # Errors
/// Never, as its test says.
pub fn no_model() -> Result<Script, ScriptError> {
    Script::parse("for no model", NO_MODEL)
}

#[cfg(test)]
mod tests;
