//! What a permission decision is about: a call's effect, with every path already resolved by the edge.

use agentd_types::AbsPath;

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Reads below a path. `real` has links resolved.
    Read { path: AbsPath, real: AbsPath },
    /// Writes or edits a file. `real` has links resolved (its deepest existing ancestor's, if the file is new).
    Edit { path: AbsPath, real: AbsPath },
    /// Runs a shell command line.
    Command { line: String },
    /// Gives work to a subagent of this kind: what that does is asked about call by call.
    Agent { kind: String },
    /// Anything else, by the tool's name alone.
    Other,
}
