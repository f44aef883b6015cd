//! Why a call failed: a closed kind, a sentence, and what to do. It never decides an exit code.

use agentd_proto::{WireError, reason};
use tonic_types::StatusExt;

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Unreachable,
    CannotStart,
    NoSuchSession,
    Ambiguous,
    NameTaken,
    AlreadyAnswered,
    NoSuchRequest,
    Invalid,
    Precondition,
    Exhausted,
    Denied,
    Draining,
    Store,
    /// The daemon speaks otherwise than we do.
    Protocol,
    Internal,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClientError {
    pub kind: Kind,
    pub message: String,
    pub hints: Vec<String>,
}

impl ClientError {
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> ClientError {
        ClientError { kind, message: message.into(), hints: Vec::new() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> ClientError {
        self.hints.push(hint.into());
        self
    }

    /// Whether a new link may help.
    #[must_use]
    pub fn is_lost_link(&self) -> bool {
        self.kind == Kind::Unreachable
    }
}

impl From<tonic::Status> for ClientError {
    fn from(status: tonic::Status) -> ClientError {
        let code = status.get_details_error_info().map(|info| info.reason);
        let kind = match code.as_deref() {
            Some(reason::SESSION_NOT_FOUND | reason::SESSION_GONE) => Kind::NoSuchSession,
            Some(reason::SESSION_AMBIGUOUS) => Kind::Ambiguous,
            Some(reason::NAME_TAKEN) => Kind::NameTaken,
            Some(reason::ALREADY_ANSWERED) => Kind::AlreadyAnswered,
            Some(reason::REQUEST_NOT_FOUND) => Kind::NoSuchRequest,
            Some(reason::TASK_NOT_FOUND) => Kind::Precondition,
            Some(reason::DRAINING) => Kind::Draining,
            Some(reason::STORE_FAILED) => Kind::Store,
            // It shares its status with a taken name, and is none.
            Some(reason::IDEMPOTENCY_KEY_REUSED) => Kind::Precondition,
            Some(_) => by_code(status.code()),
            // Made on this side: the daemon never got to answer.
            None if std::error::Error::source(&status).is_some() => Kind::Unreachable,
            None => by_code(status.code()),
        };
        ClientError { kind, message: status.message().to_owned(), hints: what_to_do(kind).map(str::to_owned).into_iter().collect() }
    }
}

/// What helps against failures of a kind, whatever was asked.
const fn what_to_do(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::NoSuchSession => Some("`agent ls --all` lists the sessions"),
        Kind::Ambiguous => Some("give more of the id, or the name"),
        Kind::NoSuchRequest => Some("`agent permissions SESSION --all` lists the requests"),
        Kind::Draining => Some("the daemon is going down; try again in a moment"),
        Kind::Protocol => Some("client and daemon may be of different versions: `agent daemon status` shows the daemon's"),
        Kind::Store => Some("`agent daemon status` shows the data folder; look at its disk"),
        Kind::Unreachable
        | Kind::CannotStart
        | Kind::NameTaken
        | Kind::AlreadyAnswered
        | Kind::Invalid
        | Kind::Precondition
        | Kind::Exhausted
        | Kind::Denied
        | Kind::Internal => None,
    }
}

const fn by_code(code: tonic::Code) -> Kind {
    use tonic::Code;
    match code {
        Code::Unavailable | Code::Cancelled => Kind::Unreachable,
        Code::NotFound => Kind::NoSuchSession,
        Code::AlreadyExists => Kind::NameTaken,
        Code::InvalidArgument | Code::OutOfRange => Kind::Invalid,
        Code::FailedPrecondition | Code::Aborted => Kind::Precondition,
        Code::ResourceExhausted => Kind::Exhausted,
        Code::PermissionDenied | Code::Unauthenticated => Kind::Denied,
        Code::Unimplemented => Kind::Protocol,
        Code::Ok | Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::DataLoss => Kind::Internal,
    }
}

impl From<WireError> for ClientError {
    fn from(error: WireError) -> ClientError {
        ClientError::new(Kind::Protocol, format!("the daemon said something this client cannot read: {error}"))
            .hint("client and daemon may be of different versions: `agent daemon status` shows the daemon's")
    }
}

impl From<tonic::transport::Error> for ClientError {
    fn from(error: tonic::transport::Error) -> ClientError {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text = cause.to_string();
            source = cause.source();
        }
        ClientError::new(Kind::Unreachable, text)
    }
}

#[cfg(test)]
pub(crate) mod tests;
