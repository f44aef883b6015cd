//! The built-in tour's project and first words, for whoever starts it. It writes into a folder that it is given, and overwrites nothing.
//!
//! The script itself is the daemon's; these files are the ones it works on, byte for byte (a test compares them).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The tour's model.
pub const MODEL: &str = "rehearsal:tour";
/// What is said to it.
pub const PROMPT: &str = "Show me what you can do.";
/// How the client calls itself that answers where no person does.
pub const GUIDE: &str = "tour guide";

/// Name below the session's folder, and content.
pub const FILES: [(&str, &str); 2] = [
    (
        "greet.sh",
        r#"#!/bin/sh
# Prints a greeting for each name it is given.
for name in "$@"; do
    echo "Hello, $name"
done
"#,
    ),
    (
        "test.sh",
        r#"#!/bin/sh
# A greeting ends with an exclamation mark.
want="Hello, Ada!"
got=$(sh greet.sh Ada)
if [ "$got" = "$want" ]; then
    echo "passed: $got"
else
    echo "FAILED: wanted '$want', got '$got'"
    exit 1
fi
"#,
    ),
];

/// Writes the project into `folder`. Blocks.
///
/// # Errors
/// When a file cannot be written, or is there already.
pub fn lay_down(folder: &Path) -> io::Result<()> {
    for (name, content) in FILES {
        OpenOptions::new().write(true).create_new(true).mode(0o755).open(folder.join(name))?.write_all(content.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
