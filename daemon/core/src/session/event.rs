//! Everything that can wake a session: a closed set. It never carries a handle; who waits is a [`Ticket`].

use agentd_types::permission::{Decision, PermissionRequest};
use agentd_types::question::Question;
use agentd_types::queue::{OnAsk, QueuedCommand};
use agentd_types::system::SessionChanges;
use agentd_types::task::{TaskEnd as End, TaskStart};
use agentd_types::{Entry, MessageId, Origin, RequestId, Seq, SubmissionId, TaskId, ToolUseId};

use crate::query::StoreFailure;
use crate::queue::Slept;

/// Who waits for an answer; the edge keeps what stands behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// How far an append must have come before its caller goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    Written,
    Synced,
}

/// Fresh ids for one step: the core makes none itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    /// If a submission starts.
    pub submission: SubmissionId,
    /// If a prompt is appended.
    pub message: MessageId,
    /// If synthetic results are appended.
    pub results: MessageId,
    /// If the marker of a cancel is appended.
    pub marker: MessageId,
    /// If results of what is left are appended.
    pub leftover: MessageId,
    /// If the session itself asks something.
    pub question: RequestId,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A client enqueues.
    Submit {
        ticket: Ticket,
        command: QueuedCommand,
    },
    /// A person's cancel; `None` = whatever runs.
    Interrupt {
        ticket: Ticket,
        submission: Option<SubmissionId>,
        by: Origin,
    },
    /// A client answers a permission request.
    Respond {
        ticket: Ticket,
        request: RequestId,
        decision: Decision,
        by: Origin,
    },
    /// A client answers a question.
    Answer {
        ticket: Ticket,
        question: RequestId,
        choices: Vec<String>,
        by: Origin,
    },
    Update {
        ticket: Ticket,
        changes: SessionChanges,
        by: Origin,
    },
    Delete {
        ticket: Ticket,
        by: Origin,
    },
    /// The running submission hands entries in.
    Handed {
        from: SubmissionId,
        ticket: Ticket,
        entries: Vec<Entry>,
        durability: Durability,
    },
    /// A call of it needs an answer.
    Asked {
        from: SubmissionId,
        ticket: Ticket,
        request: PermissionRequest,
        on_ask: OnAsk,
    },
    /// A call of it asks whoever is attached.
    AskedPerson {
        from: SubmissionId,
        ticket: Ticket,
        /// All of one call.
        questions: Vec<Question>,
        on_ask: OnAsk,
    },
    /// Gate A: which commands join the next round.
    Lease {
        from: SubmissionId,
        ticket: Ticket,
        slept: Slept,
    },
    /// `absorb(next_turn)`: leased commands become attachments; with `entries` in one record.
    Absorb {
        from: SubmissionId,
        ticket: Ticket,
        attachments: Vec<MessageId>,
        entries: Vec<Entry>,
    },
    /// A call of a loop starts work with a life of its own; `lane` = the submission a subagent runs as.
    TaskStarts {
        from: SubmissionId,
        ticket: Ticket,
        start: TaskStart,
        lane: Option<SubmissionId>,
    },
    /// Its call no longer waits for it.
    TaskMoved {
        from: SubmissionId,
        task: TaskId,
    },
    /// Nothing of it runs any more.
    TaskOver {
        task: TaskId,
        end: End,
    },
    /// Somebody wants tasks to end.
    StopTasks {
        ticket: Ticket,
        scope: TaskScope,
        by: Origin,
    },
    /// A client wants a running call to go on in the background.
    MoveCall {
        ticket: Ticket,
        tool_use: ToolUseId,
    },
    /// The submission's task is over; its last entries came before.
    Ended {
        from: SubmissionId,
        how: TaskEnd,
    },
    /// Events up to here are with the operating system.
    Written {
        upto: Seq,
    },
    /// Events up to here are on disk.
    Synced {
        upto: Seq,
    },
    /// Events from here on were not taken.
    AppendFailed {
        from: Seq,
        failure: StoreFailure,
    },
    /// The session was read back; nothing of it runs.
    Loaded,
    /// Start nothing any more; `Cut` also ends what runs.
    Drain(DrainStage),
}

/// How a submission's task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    /// Its `result` was appended.
    Stopped,
    /// `system: parked` was appended.
    Parked,
    /// The store did not take its entries.
    Failed(StoreFailure),
    /// It panicked; the message.
    Panicked(String),
}

/// Which tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskScope {
    One(TaskId),
    /// All that run.
    All,
}

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DrainStage {
    Stop,
    Cut,
}
