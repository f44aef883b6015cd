//! What is printed: lines to stdout, notes to stderr. It never asks the daemon.

pub mod printer;

pub mod ordered;
pub mod partials;
pub mod result;
pub mod stream;

pub mod rows;
pub mod text;

use std::io::Write;

use agentd_client::printable;

use crate::exit::Failure;

/// stdout and stderr, as lines. A reader that went away is no error to shout about.
pub struct Out;

impl Out {
    pub fn line(text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        Ok(out.flush()?)
    }

    /// A piece of a line.
    pub fn piece(text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    pub fn json(value: &serde_json::Value) -> Result<(), Failure> {
        Self::line(&value.to_string())
    }

    /// For a person, on stderr; nobody may be there.
    pub fn note(text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{}", printable(text));
    }

    /// A question, without a line feed.
    pub fn ask(text: &str) {
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "{}", printable(text)).and_then(|()| err.flush());
    }
}

/// RFC 3339, UTC.
pub fn timestamp(at: agentd_types::Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
