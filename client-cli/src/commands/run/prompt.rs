//! The prompt: what was given, what is piped in, or both. It never waits for ever for somebody to say something.

use std::io::{IsTerminal, Read};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::Failure;
use crate::output::Out;

/// Bytes of stdin at most: 10 MB.
const MAX_STDIN: u64 = 10 * 1024 * 1024;
/// How long a prompt that was given waits for the first byte of what goes with it.
const WAIT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The prompt with what is piped in below it; without a prompt, what is piped in. `None` when there is neither.
pub fn with_stdin(prompt: Option<String>) -> Result<Option<String>, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(prompt);
    }
    if prompt.is_some() && !says_something() {
        Out::note("· stdin is open and says nothing: going on without it (give it </dev/null to spare the wait)");
        return Ok(prompt);
    }
    Ok(joined(prompt, read(stdin.lock())?))
}

/// Whether stdin has something to read, or its end, within the wait. Where that cannot be known, reading it will tell.
fn says_something() -> bool {
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut fds, Some(&WAIT)).map_or(true, |ready| ready > 0)
}

fn read(stdin: impl Read) -> Result<String, Failure> {
    let mut piped = String::new();
    stdin.take(MAX_STDIN + 1).read_to_string(&mut piped).map_err(|error| Failure::Usage(format!("stdin is no text: {error}")))?;
    if piped.len() as u64 > MAX_STDIN {
        return Err(Failure::Usage("stdin holds more than 10 MB: put it into a file and name the file".to_owned()));
    }
    Ok(piped)
}

fn joined(prompt: Option<String>, piped: String) -> Option<String> {
    match (prompt, piped.trim().is_empty()) {
        (Some(prompt), true) => Some(prompt),
        (Some(prompt), false) => Some(format!("{prompt}\n\n{piped}")),
        (None, true) => None,
        (None, false) => Some(piped),
    }
}

#[cfg(test)]
mod tests;
