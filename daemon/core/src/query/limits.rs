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
