//! Exit codes, and failures that lead to one. It never prints.

use agentd_client::{ClientError, Kind};
use agentd_types::outcome::TerminalName;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    Done,
    /// The submission failed, or a call was refused.
    Failed,
    Usage,
    /// A limit ended it.
    Limit,
    /// It waits for an answer that nobody here can give.
    Parked,
    Unreachable,
    NoSession,
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Limit => 3,
            Exit::Parked => 4,
            Exit::Unreachable => 5,
            Exit::NoSession => 6,
            Exit::Interrupted => 130,
        }
    }

    /// A submission's end as an exit.
    pub const fn of(terminal: TerminalName) -> Exit {
        match terminal {
            TerminalName::Completed => Exit::Done,
            TerminalName::ModelError
            | TerminalName::PromptTooLong
            | TerminalName::BlockingLimit
            | TerminalName::ImageError
            | TerminalName::HookStopped
            | TerminalName::StopHookPrevented => Exit::Failed,
            TerminalName::MaxTurns | TerminalName::MaxBudget | TerminalName::StructuredOutputRetries => Exit::Limit,
            TerminalName::AbortedStreaming | TerminalName::AbortedTools => Exit::Interrupted,
        }
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    Client(ClientError),
    Usage(String),
    Other(String),
    /// The reader of our output went away.
    Closed,
}

impl Failure {
    pub fn message(&self) -> Option<String> {
        match self {
            Failure::Client(error) => Some(error.message.clone()),
            Failure::Usage(text) | Failure::Other(text) => Some(text.clone()),
            Failure::Closed => None,
        }
    }

    pub fn hints(&self) -> &[String] {
        match self {
            Failure::Client(error) => &error.hints,
            Failure::Usage(_) | Failure::Other(_) | Failure::Closed => &[],
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Failure::Client(error) => match error.kind {
                Kind::Unreachable | Kind::CannotStart => Exit::Unreachable,
                Kind::NoSuchSession => Exit::NoSession,
                Kind::Invalid | Kind::Ambiguous => Exit::Usage,
                Kind::NameTaken
                | Kind::AlreadyAnswered
                | Kind::NoSuchRequest
                | Kind::Precondition
                | Kind::Exhausted
                | Kind::Denied
                | Kind::Draining
                | Kind::Store
                | Kind::Protocol
                | Kind::Internal => Exit::Failed,
            },
            Failure::Usage(_) => Exit::Usage,
            Failure::Other(_) => Exit::Failed,
            Failure::Closed => Exit::Done,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Failure::Client(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Other(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
