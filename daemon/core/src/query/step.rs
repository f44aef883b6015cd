//! The loop's vocabulary: seven ways round, twelve ways out, one pause. It never says when each applies.

use agentd_types::outcome::TerminalName;
use agentd_types::{Money, ToolUseId};
use serde::{Deserialize, Serialize};

/// What an iteration comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Continue(Continue),
    /// Not an end: calls wait for answers that nobody here gives.
    Park(OpenCalls),
    Stop(Terminal),
    /// The store cannot append; not a terminal.
    Fail(StoreFailure),
}

/// Why the loop goes round once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Continue {
    /// Tools ran; their results are appended already.
    NextTurn {
        gathered: Gathered,
    },
    CollapseDrainRetry {
        committed: u32,
    },
    ReactiveCompactRetry {
        boundary: CompactBoundary,
    },
    MaxOutputTokensEscalate {
        cap: OutputCap,
    },
    /// From 1.
    MaxOutputTokensRecovery {
        attempt: u8,
    },
    StopHookBlocking {
        by: Blocker,
        errors: Vec<HookMessage>,
    },
    TokenBudgetContinuation {
        nudge: Nudge,
    },
}

/// A [`Continue`] without what it carries: kept in the state and in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContinueName {
    NextTurn,
    CollapseDrainRetry,
    ReactiveCompactRetry,
    MaxOutputTokensEscalate,
    MaxOutputTokensRecovery,
    StopHookBlocking,
    TokenBudgetContinuation,
}

impl ContinueName {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ContinueName::NextTurn => "next_turn",
            ContinueName::CollapseDrainRetry => "collapse_drain_retry",
            ContinueName::ReactiveCompactRetry => "reactive_compact_retry",
            ContinueName::MaxOutputTokensEscalate => "max_output_tokens_escalate",
            ContinueName::MaxOutputTokensRecovery => "max_output_tokens_recovery",
            ContinueName::StopHookBlocking => "stop_hook_blocking",
            ContinueName::TokenBudgetContinuation => "token_budget_continuation",
        }
    }
}

impl Continue {
    #[must_use]
    pub const fn name(&self) -> ContinueName {
        match self {
            Continue::NextTurn { .. } => ContinueName::NextTurn,
            Continue::CollapseDrainRetry { .. } => ContinueName::CollapseDrainRetry,
            Continue::ReactiveCompactRetry { .. } => ContinueName::ReactiveCompactRetry,
            Continue::MaxOutputTokensEscalate { .. } => ContinueName::MaxOutputTokensEscalate,
            Continue::MaxOutputTokensRecovery { .. } => ContinueName::MaxOutputTokensRecovery,
            Continue::StopHookBlocking { .. } => ContinueName::StopHookBlocking,
            Continue::TokenBudgetContinuation { .. } => ContinueName::TokenBudgetContinuation,
        }
    }
}

/// Why a submission ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Terminal {
    Completed,
    MaxTurns { limit: u32 },
    MaxBudget { spent: Money, limit: Money },
    PromptTooLong,
    ImageError,
    ModelError(ModelFailure),
    AbortedStreaming,
    AbortedTools,
    HookStopped { reason: String },
    StopHookPrevented { reason: String },
    BlockingLimit,
    StructuredOutputRetries { tries: u8 },
}

impl Terminal {
    #[must_use]
    pub const fn name(&self) -> TerminalName {
        match self {
            Terminal::Completed => TerminalName::Completed,
            Terminal::MaxTurns { .. } => TerminalName::MaxTurns,
            Terminal::MaxBudget { .. } => TerminalName::MaxBudget,
            Terminal::PromptTooLong => TerminalName::PromptTooLong,
            Terminal::ImageError => TerminalName::ImageError,
            Terminal::ModelError(_) => TerminalName::ModelError,
            Terminal::AbortedStreaming => TerminalName::AbortedStreaming,
            Terminal::AbortedTools => TerminalName::AbortedTools,
            Terminal::HookStopped { .. } => TerminalName::HookStopped,
            Terminal::StopHookPrevented { .. } => TerminalName::StopHookPrevented,
            Terminal::BlockingLimit => TerminalName::BlockingLimit,
            Terminal::StructuredOutputRetries { .. } => TerminalName::StructuredOutputRetries,
        }
    }
}

/// What was gathered after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gathered {
    /// Queued commands leased for the next round.
    pub commands: u32,
    /// Attachments beside them.
    pub attachments: u32,
}

/// The cap on one answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCap {
    /// 8k.
    #[default]
    Default,
    /// 64k, or the model's maximum.
    Raised,
}

/// What a compaction replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactBoundary {
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// Who blocked the end of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blocker {
    Hook,
    StructuredOutput,
}

/// A hook's feedback for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMessage(pub String);

/// Tokens spent and left of a token budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nudge {
    pub spent: u64,
    pub left: u64,
}

/// Calls without a result that wait for an answer; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCalls(pub Vec<ToolUseId>);

/// The class of a model failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The provider's error, by its class name (`authentication_error`, `stream_cut`, …).
    Api(String),
    /// Recoveries of the output limit are used up; the partial text is kept.
    OutputLimit,
    /// The model refused; the provider's category where it gave one.
    Refusal(Option<String>),
    /// A tool failed in a way that must end the submission.
    ToolFatal,
    /// A rehearsal script's expectation did not hold.
    ExpectFailed,
}

impl FailureKind {
    /// The class's name in results.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            FailureKind::Api(class) => class,
            FailureKind::OutputLimit => "output_limit",
            FailureKind::Refusal(_) => "refusal",
            FailureKind::ToolFatal => "tool_fatal",
            FailureKind::ExpectFailed => "expect_failed",
        }
    }
}

/// Why the model gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFailure {
    pub kind: FailureKind,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// For a person.
    pub message: String,
}

/// The store did not take an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store cannot append: {reason}")]
pub struct StoreFailure {
    pub reason: String,
}
