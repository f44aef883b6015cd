//! What clients ask of sessions, after the wire and before the actor.

use std::sync::Arc;

use agentd_types::permission::{Decision, PermissionRequest, PermissionResolved};
use agentd_types::question::{Answered, Question};
use agentd_types::queue::{Batching, CommandMode, Priority, RunOptions};
use agentd_types::session::{SessionInfo, SessionMeta};
use agentd_types::task::Task;
use agentd_types::{Block, CommandId, Origin, RequestId, Seq, SessionId, SubmissionId, Timestamp};
use bytes::Bytes;
use tokio::sync::watch;

pub use crate::store::{Status as StoreStatus, Weight};

/// A new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateSession {
    /// `model` empty = the daemon's default; `permission_mode` as asked.
    pub meta: SessionMeta,
    /// The same key gives the same session, for 7 days.
    pub idempotency_key: Option<String>,
    pub by: Origin,
}

/// A command for the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submit {
    pub content: Vec<Block>,
    pub priority: Priority,
    pub mode: CommandMode,
    pub origin: Origin,
    pub idempotency_key: Option<String>,
    pub batching: Batching,
    pub options: RunOptions,
}

/// Given after the command is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmitReceipt {
    pub command: CommandId,
    pub seq: Seq,
}

/// What an interrupt did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// The submission has ended; its result is at `seq`.
    Ended {
        submission: SubmissionId,
        seq: Seq,
    },
    AlreadyEnded {
        submission: SubmissionId,
    },
    NothingRunning,
}

/// An answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respond {
    pub request: RequestId,
    pub decision: Decision,
    pub by: Origin,
}

/// A request as `agent permissions` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRow {
    pub request: PermissionRequest,
    /// Absent = open.
    pub resolved: Option<(PermissionResolved, Timestamp)>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerQuestion {
    pub question: RequestId,
    /// Each an option's number or label, or a text.
    pub choices: Vec<String>,
    pub by: Origin,
}

/// A question as `agent permissions` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    pub question: Question,
    /// Absent = open.
    pub answered: Option<(Answered, Timestamp)>,
}

/// Which tasks to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPick {
    /// By id, or its unique beginning.
    One(String),
    /// All that run.
    All,
}

/// A task, and all of its session's as they change.
#[derive(Debug)]
pub struct WatchedTask {
    pub task: Task,
    pub tasks: watch::Receiver<Arc<[Task]>>,
}

/// Where in the history to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// Events with seq > this, ascending.
    After(Seq),
    /// Events with seq < this, the newest of them; returned ascending. `None` = from the end.
    Before(Option<Seq>),
}

/// A page of history: encoded events, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub events: Vec<(Seq, Bytes)>,
    /// The last acknowledged seq of the session.
    pub last_seq: Seq,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListFilter {
    /// Only this folder.
    pub cwd: Option<agentd_types::AbsPath>,
    /// Archived ones too.
    pub all: bool,
    /// In name or last text, case-insensitive.
    pub text: Option<String>,
}

/// Which of those that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Those behind this one; the newest come first.
    pub after: Option<SessionId>,
    /// At most this many.
    pub size: usize,
}

/// A slice of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub rows: Vec<SessionInfo>,
    /// Whether others follow.
    pub more: bool,
}
