//! How a submission ended, as clients see it; the rules that lead there are `core::query`.

use serde::{Deserialize, Serialize};

use crate::{CommandId, Json, Money, SubmissionId, ToolUseId, Usage};

/// The twelve ways out of the query loop, by their names on the wire and in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalName {
    Completed,
    MaxTurns,
    MaxBudget,
    PromptTooLong,
    ImageError,
    ModelError,
    AbortedStreaming,
    AbortedTools,
    HookStopped,
    StopHookPrevented,
    BlockingLimit,
    StructuredOutputRetries,
}

impl TerminalName {
    pub const ALL: [TerminalName; 12] = [
        TerminalName::Completed,
        TerminalName::MaxTurns,
        TerminalName::MaxBudget,
        TerminalName::PromptTooLong,
        TerminalName::ImageError,
        TerminalName::ModelError,
        TerminalName::AbortedStreaming,
        TerminalName::AbortedTools,
        TerminalName::HookStopped,
        TerminalName::StopHookPrevented,
        TerminalName::BlockingLimit,
        TerminalName::StructuredOutputRetries,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TerminalName::Completed => "completed",
            TerminalName::MaxTurns => "max_turns",
            TerminalName::MaxBudget => "max_budget",
            TerminalName::PromptTooLong => "prompt_too_long",
            TerminalName::ImageError => "image_error",
            TerminalName::ModelError => "model_error",
            TerminalName::AbortedStreaming => "aborted_streaming",
            TerminalName::AbortedTools => "aborted_tools",
            TerminalName::HookStopped => "hook_stopped",
            TerminalName::StopHookPrevented => "stop_hook_prevented",
            TerminalName::BlockingLimit => "blocking_limit",
            TerminalName::StructuredOutputRetries => "structured_output_retries",
        }
    }

    /// The name's variant.
    #[must_use]
    pub fn from_name(name: &str) -> Option<TerminalName> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// A call that was denied, for the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    pub tool_name: String,
    pub tool_use: ToolUseId,
    pub input: Json,
}

/// What a cost is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// By the model's own rates.
    #[default]
    Listed,
    /// The model is newer than the price list: by its family's newest row.
    Family,
    /// Nobody told us what the model costs: counted as nothing.
    Unknown,
}

/// One model's share of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShare {
    pub model: String,
    pub usage: Usage,
    pub cost: Money,
    #[serde(default)]
    pub basis: CostBasis,
}

/// The last event of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionResult {
    pub submission: SubmissionId,
    pub terminal: TerminalName,
    /// What a person needs to know beyond the name; empty when there is nothing.
    pub detail: String,
    /// The error's class, for `model_error` (`authentication_error`, `output_limit`, `expect_failed`, …).
    pub error_kind: Option<String>,
    /// HTTP status of the provider's last error.
    pub error_status: Option<u16>,
    /// The text of the last answer.
    pub text: String,
    pub stop_reason: Option<String>,
    /// Rounds: model requests that were followed by tools, and the answer.
    pub num_turns: u32,
    pub duration_ms: u64,
    /// Time spent waiting for the model.
    pub duration_api_ms: u64,
    pub usage: Usage,
    pub cost: Money,
    /// The whole session so far.
    pub session_cost: Money,
    pub models: Vec<ModelShare>,
    pub denials: Vec<Denial>,
    /// The commands it answered.
    pub answered: Vec<CommandId>,
}
