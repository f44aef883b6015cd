//! What daemon and shim tell each other: one JSON line a message. It never carries output.

use serde::{Deserialize, Serialize};

use super::limits::Limits;

/// Bytes of an order at most.
pub const MAX_ORDER: usize = 16 * 1024 * 1024;
/// Bytes of a report at most; a longer line is no report.
pub const MAX_REPORT: usize = 64 * 1024;
/// Pids named in a report at most.
pub const MAX_PIDS: usize = 64;

/// What a shim is told at its start; afterwards any byte, or the end of the pipe, means: end the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub program: String,
    pub args: Vec<String>,
    pub cwd: String,
    pub environment: Vec<(String, String)>,
    pub limits: Limits,
    /// The folder of the shims' lock files.
    pub locks: String,
}

/// What a shim reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The direct child runs.
    Started { pid: u32 },
    /// It could not be started.
    Failed { why: Failure },
    /// The direct child has ended; who of its tree still runs (the first [`MAX_PIDS`]).
    Exited { status: Status, survivors: Vec<u32> },
    /// These were sent KILL and are still there; the shim goes on trying.
    Stubborn { pids: Vec<u32> },
    /// Nobody of the tree is left.
    Gone,
}

/// Why a shim started nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The working folder cannot be entered.
    Folder {
        why: String,
    },
    /// There is no such program.
    NotFound,
    Other {
        why: String,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Code(i32),
    Signal(i32),
}

/// Who holds a lock file: written into it, so that a tree can be found whose shim was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// What the kernel calls the boot it ran in.
    pub boot: String,
    /// When it started, in clock ticks after boot.
    pub started: u64,
}

/// `message` as a line, its end included.
///
/// # Errors
/// Never for the messages above; serde's signature says it may.
pub fn line<T: Serialize>(message: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests;
