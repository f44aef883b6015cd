//! Why a session refused; each variant becomes one status code with one stable reason in `rpc`.

use agentd_core::query::StoreFailure;
use agentd_types::permission::PermissionResolved;
use agentd_types::question::Answered;
use agentd_types::session::SessionState;
use agentd_types::{SessionId, Timestamp};

/// Nothing was changed when one of these is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("no session `{what}`{}", near_names(.near))]
    NotFound { what: String, near: Vec<String> },
    #[error("`{what}` fits several sessions: {}", .matches.join(", "))]
    Ambiguous { what: String, matches: Vec<String> },
    #[error("a session named `{name}` exists already ({id}); choose another name, or go on with it")]
    NameTaken { name: String, id: SessionId },
    #[error("idempotency key `{key}` was used with other content")]
    KeyReused { key: String },
    #[error("no open request or question `{id}` in this session")]
    NoSuchRequest { id: String },
    #[error("already answered: {}, by {}", .resolved.decision.word(), .resolved.by)]
    AlreadyAnswered { resolved: Box<PermissionResolved>, at: Timestamp },
    #[error("already answered: {}, by {}", .answered.reply.words(), .answered.by)]
    AlreadyReplied { answered: Box<Answered>, at: Timestamp },
    #[error("the call is allowed, and what is like it in this session; but the rule {rule} could not be kept for its folder: {why}")]
    RuleNotWritten { rule: String, why: String },
    #[error("the queue is full: {bound}")]
    QueueFull { bound: String },
    #[error("the content is too large: {size} bytes, at most {bound}")]
    TooLarge { size: u64, bound: u64 },
    #[error("too many subscriptions to this session: at most {bound}")]
    TooManySubscribers { bound: u32 },
    #[error("{field}: {why}")]
    Invalid { field: &'static str, why: String },
    #[error("the session is {}: {why}", .state.name())]
    Precondition { state: SessionState, why: String },
    #[error("no task `{id}` in this session; `agent tasks SESSION` lists them")]
    NoSuchTask { id: String },
    #[error("no call `{call}` runs here that could go on in the background (Bash and Agent can, while they run)")]
    NotRunning { call: String },
    #[error("the daemon is shutting down; start it again and repeat the call")]
    Draining,
    #[error(transparent)]
    Store(#[from] StoreFailure),
    #[error("the session ended unexpectedly; its log says why")]
    Gone,
}

fn near_names(near: &[String]) -> String {
    match near {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}
