//! What a session wants done: data, in the order it is to be done. Nothing here does it.

use std::sync::Arc;

use agentd_types::outcome::Denial;
use agentd_types::permission::PermissionResolved;
use agentd_types::question::Answered;
use agentd_types::queue::{QueuedCommand, RunOptions};
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::system::InterruptReason;
use agentd_types::task::Task;
use agentd_types::{CommandId, Event, Json, Origin, RequestId, Seq, SubmissionId, TaskId, Timestamp, ToolUseId, Usage};

use super::event::{Durability, Ticket};
use super::fold::{OpenCall, Point};
use crate::query::StoreFailure;
use crate::queue::Bound;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// One journal record.
    Append {
        events: Vec<Arc<Event>>,
        durability: Durability,
    },
    /// These are on disk: show them.
    Publish {
        upto: Seq,
    },
    Start(Start),
    Cancel {
        submission: SubmissionId,
        reason: InterruptReason,
        by: Option<Origin>,
    },
    /// Answer a client.
    Answer {
        ticket: Ticket,
        outcome: Result<Outcome, Refusal>,
    },
    /// Answer the submission's append.
    Receipt {
        ticket: Ticket,
        result: Result<Vec<Arc<Event>>, StoreFailure>,
    },
    /// Answer the submission's question.
    Settle {
        ticket: Ticket,
        outcome: AskOutcome,
    },
    /// Answer gate A.
    Leased {
        ticket: Ticket,
        commands: Vec<QueuedCommand>,
    },
    /// Answer who started a task: its work is taken over, or dropped.
    TaskStart {
        ticket: Ticket,
        result: Result<TaskId, NotStarted>,
    },
    /// End its work; `TaskOver` follows when nothing of it runs.
    StopTask {
        task: TaskId,
    },
    /// Tell the call that it is to go on in the background.
    MoveCall {
        tool_use: ToolUseId,
    },
    /// The conversation in memory no longer matches the log: read it again.
    Reload,
    /// Nothing more will come of this session.
    Close,
}

/// A submission to drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub submission: SubmissionId,
    pub options: RunOptions,
    pub commands: Vec<CommandId>,
    pub started_at: Timestamp,
    pub from: StartFrom,
}

/// Where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartFrom {
    /// With a prompt that is on disk.
    Prompt,
    /// In the middle: after an answer or a restart.
    Reopen {
        calls: Vec<OpenCall>,
        point: Point,
        loop_state: Option<Json>,
        /// What answers since that record used, by model.
        unpaid: Vec<(String, Usage)>,
        /// Calls denied so far.
        denials: Vec<Denial>,
    },
}

/// A client's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Accepted {
        command: CommandId,
        seq: Seq,
    },
    Ended {
        submission: SubmissionId,
        seq: Seq,
    },
    AlreadyEnded {
        submission: SubmissionId,
    },
    NothingRunning,
    Resolved(Box<PermissionResolved>),
    Answered(Box<Answered>),
    Info(Box<SessionInfo>),
    /// As they are now: ended, or in the background.
    Tasks(Vec<Task>),
    Deleted,
}

/// Why a client's call changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    QueueFull(Bound),
    KeyReused {
        key: String,
    },
    NoSuchRequest {
        id: RequestId,
    },
    AlreadyAnswered {
        resolved: Box<PermissionResolved>,
        at: Timestamp,
    },
    AlreadyReplied {
        answered: Box<Answered>,
        at: Timestamp,
    },
    BadChoice(super::choice::BadChoice),
    Precondition {
        state: SessionState,
        why: String,
    },
    NoSuchTask {
        id: String,
    },
    /// No such call runs, or it is none that can go on in the background.
    NotRunning {
        call: String,
    },
    Draining,
    Store(StoreFailure),
}

/// Why a task did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    #[error("the session or its loop is ending")]
    Ended,
    #[error("{most} run already, no more may; wait until one has ended, or stop one, and do not try again at once")]
    TooMany { most: usize },
    #[error("subagents go {most} levels deep, no further; do the work here")]
    TooDeep { most: usize },
    #[error("{0}")]
    Unknown(String),
    #[error("the store did not take it: {0}")]
    Store(String),
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskOutcome {
    Resolved(Box<PermissionResolved>),
    /// All questions of the call, in order.
    Replied(Vec<Answered>),
    /// It stays open and the submission parks.
    Open,
    /// Nobody is asked in this submission.
    Denied {
        by: Origin,
    },
    Withdrawn,
    StoreFailed(StoreFailure),
}
