//! What one iteration hands to the next. Only `note` and `advance` make a new one.

use agentd_types::{Money, Usage};
use serde::{Deserialize, Serialize};

use super::step::{ContinueName, OutputCap};

/// The loop's state; written to the log at every iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopState {
    /// From 1.
    pub round: u32,
    /// Why the last iteration continued.
    pub transition: Option<ContinueName>,
    pub output_cap: OutputCap,
    pub output_recoveries: u8,
    pub attempted_reactive_compact: bool,
    pub stop_hook_active: bool,
    pub stop_hook_blocks: u8,
    pub auto_compact: AutoCompactState,
    pub structured_output_tries: u8,
    pub budget_nudges: u8,
    /// Output tokens of the last two nudged answers, newest last.
    pub last_yields: [u64; 2],
    pub spend: Spend,
}

/// The auto-compact breaker's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AutoCompactState {
    /// In a row.
    pub failures: u8,
    /// Rounds since the last compaction of this submission.
    pub rounds_since: u32,
}

/// What this submission used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spend {
    pub usage: Usage,
    pub cost: Money,
    /// Output tokens of the newest answer.
    pub last_output: u64,
}

impl LoopState {
    /// A submission begins.
    #[must_use]
    pub fn start() -> LoopState {
        LoopState {
            round: 1,
            transition: None,
            output_cap: OutputCap::Default,
            output_recoveries: 0,
            attempted_reactive_compact: false,
            stop_hook_active: false,
            stop_hook_blocks: 0,
            auto_compact: AutoCompactState::default(),
            structured_output_tries: 0,
            budget_nudges: 0,
            last_yields: [0, 0],
            spend: Spend::default(),
        }
    }
}
