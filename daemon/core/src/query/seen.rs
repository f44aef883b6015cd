//! Observations: what has just been learnt. No variant holds a future or a handle.

use agentd_types::{Money, Usage};

use super::act::ToolBatch;
use super::step::{Blocker, CompactBoundary, Gathered, HookMessage, ModelFailure, OpenCalls, StoreFailure};

/// An observation, or why it was cut short.
pub type Observed<T> = Result<T, Cut>;

/// Why an act was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    Interrupted,
    StoreFailed(StoreFailure),
}

/// What has just been learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// An iteration begins.
    Opened,
    /// After a restart or an answer.
    Reopened(Resume),
    /// The context pipeline ran and the gauge was read.
    Prepared(Observed<Prepared>),
    /// The stream ended.
    Replied(Observed<Reply>),
    /// Staged collapses were committed.
    Drained(Observed<Drained>),
    /// A reactive compaction ended.
    Compacted(Observed<Compaction>),
    /// Stop hooks have spoken.
    HooksRan(Observed<StopVerdict>),
    /// Tools ended.
    ToolsRan(Observed<ToolRun>),
    /// Attachments and queued input.
    Collected(Observed<Gathered>),
}

/// Where a submission goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// Calls of a stored message without results.
    Calls(ToolBatch),
    /// The final answer is durable, the result is not.
    Answered,
    Nothing,
}

/// The context is ready to be sent, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub room: Room,
    pub budget: Budget,
    pub auto_compact: AutoCompact,
}

/// Whether the request fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Room {
    Fits,
    /// Above the blocking limit, and nothing can shrink.
    Full,
}

/// Whether there is money for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// The estimated input is reserved (or there is no limit).
    Reserved,
    Reached {
        spent: Money,
        limit: Money,
    },
}

/// What autocompact did while preparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AutoCompact {
    NotNeeded,
    Done,
    Failed,
}

/// A model's answer, as far as the loop cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub end: ReplyEnd,
    /// Of this call, retries included.
    pub usage: Usage,
    pub cost: Money,
}

/// How the answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyEnd {
    /// Ended by itself; `calls` may be empty.
    Whole {
        calls: ToolBatch,
    },
    /// Cut at the output limit; `calls` are the complete ones.
    OutputLimit {
        calls: ToolBatch,
    },
    /// A recoverable error, not shown yet.
    Withheld(Withheld),
    Failed(ModelFailure),
    /// The request had to be repeated, and there was no money for it.
    OverBudget {
        spent: Money,
        limit: Money,
    },
}

/// Errors that may be recovered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Withheld {
    PromptTooLong,
    MediaTooLarge,
    OutputLimit,
}

/// How many staged collapses were committed, and what waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    pub committed: u32,
    pub withheld: Withheld,
}

/// How a reactive compaction ended, and what waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    pub end: CompactionEnd,
    pub withheld: Withheld,
    pub usage: Usage,
    pub cost: Money,
}

/// Whether the compaction helped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionEnd {
    Shrunk(CompactBoundary),
    Failed,
}

/// What Stop hooks (and the structured-output check) said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopVerdict {
    Passed,
    Blocked { by: Blocker, errors: Vec<HookMessage> },
    Prevented { reason: String },
}

/// How a batch of calls ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRun {
    pub end: ToolEnd,
    /// What subagents used that calls of the batch waited for.
    pub usage: Usage,
    pub cost: Money,
}

impl ToolRun {
    /// One without subagents.
    #[must_use]
    pub fn of(end: ToolEnd) -> ToolRun {
        ToolRun { end, usage: Usage::default(), cost: Money::ZERO }
    }
}

/// What the batch came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEnd {
    /// Every call has its result.
    Done,
    HookStopped {
        reason: String,
    },
    /// A tool failure that ends the submission.
    Fatal(ModelFailure),
    /// Some calls wait for answers; all others have results.
    Open(OpenCalls),
}

impl Seen {
    /// Why this observation was cut short, if it was.
    #[must_use]
    pub fn cut(&self) -> Option<&Cut> {
        match self {
            Seen::Opened | Seen::Reopened(_) => None,
            Seen::Prepared(it) => it.as_ref().err(),
            Seen::Replied(it) => it.as_ref().err(),
            Seen::Drained(it) => it.as_ref().err(),
            Seen::Compacted(it) => it.as_ref().err(),
            Seen::HooksRan(it) => it.as_ref().err(),
            Seen::ToolsRan(it) => it.as_ref().err(),
            Seen::Collected(it) => it.as_ref().err(),
        }
    }
}
