//! Every ceiling of the loop by name, with its default. It never reads settings.

use agentd_types::Money;

/// What this loop can do: from its source, and from what is built. What is absent is never proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Reactive and automatic compaction.
    pub compact: bool,
    /// Staged collapses can be committed.
    pub collapse: bool,
    pub stop_hooks: bool,
    /// The model's own maximum lies above the default output cap.
    pub escalate: bool,
}

/// The bounds of one model call: its repeats, and how patient it is. Settings may change the two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Repeats of one request at most.
    pub retries: u32,
    /// Repeats of an answer that was no answer (a proxy's page, say): it seldom gets better.
    pub protocol_retries: u32,
    /// The first wait, in milliseconds; it doubles with each repeat (`provider.retryBaseMs`).
    pub retry_base_ms: u64,
    /// The longest wait that we choose ourselves: this many times the first one.
    pub retry_cap_times: u64,
    /// The longest wait a server may ask for, in milliseconds: beyond it we give up rather than come too early or wait for hours.
    pub max_retry_after_ms: u64,
    /// How long a model may say nothing but pings, in milliseconds (`provider.silenceMs`). Models that think without showing it
    /// are silent for minutes; one that is silent for five is gone, and waiting longer costs a person more than asking again.
    pub silence_ms: u64,
    /// How often an answer that paused itself (`pause_turn`) is sent back within one call.
    pub pauses: u8,
    /// How often an answer without a word after tool results is asked for again within one call.
    pub empty_repeats: u8,
    /// Models that may be gone over to within one submission.
    pub fallbacks: usize,
}

impl CallLimits {
    /// The defaults; the settings replace the two times.
    pub const DEFAULT: CallLimits = CallLimits {
        retries: 10,
        protocol_retries: 2,
        retry_base_ms: 500,
        retry_cap_times: 64,
        max_retry_after_ms: 15 * 60 * 1000,
        silence_ms: 5 * 60 * 1000,
        pauses: 10,
        empty_repeats: 1,
        fallbacks: 3,
    };

    /// With what the settings say. A base or a silence of zero would hammer the server, or give up before it can speak: at
    /// least one millisecond.
    #[must_use]
    pub fn with(retry_base_ms: Option<u64>, silence_ms: Option<u64>) -> CallLimits {
        CallLimits {
            retry_base_ms: retry_base_ms.unwrap_or(Self::DEFAULT.retry_base_ms).clamp(1, Self::DEFAULT.max_retry_after_ms),
            silence_ms: silence_ms.unwrap_or(Self::DEFAULT.silence_ms).max(1),
            ..Self::DEFAULT
        }
    }
}

/// The brakes of one submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub abilities: Abilities,
    /// Rounds; `None` = unlimited.
    pub max_turns: Option<u32>,
    /// Of this submission's tree; the session's own is checked by the actor.
    pub max_budget: Option<Money>,
    /// Output tokens the user wants spent.
    pub token_budget: Option<u64>,
    /// `max_output_tokens_recovery` between two rounds.
    pub output_recoveries: u8,
    /// Stop-hook blocks of a submission.
    pub stop_hook_blocks: u8,
    pub structured_output_tries: u8,
    /// Token-budget nudges of a submission.
    pub budget_nudges: u8,
    /// A nudged answer below this many tokens yields little.
    pub low_yield: u64,
    /// Nudges before low yields may stop the nudging.
    pub nudges_before_yield: u8,
    /// Percent of the token budget at which nudging stops.
    pub token_budget_percent: u64,
    /// Auto-compaction failures in a row before it is left alone.
    pub auto_compact_failures: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            abilities: Abilities { compact: false, collapse: false, stop_hooks: false, escalate: false },
            max_turns: None,
            max_budget: None,
            token_budget: None,
            output_recoveries: 3,
            stop_hook_blocks: 8,
            structured_output_tries: 5,
            budget_nudges: 50,
            low_yield: 500,
            nudges_before_yield: 3,
            token_budget_percent: 90,
            auto_compact_failures: 3,
        }
    }
}
