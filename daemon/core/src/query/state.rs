//! What one iteration hands to the next. Only `note` and `advance` make a new one.

use agentd_types::{Money, Usage};
use serde::{Deserialize, Serialize};

use super::seen::{AutoCompact, Compaction, CompactionEnd, Seen, ToolEnd};
use super::step::{Blocker, Continue, ContinueName, OutputCap};

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
    /// Output tokens of the last two nudged answers before the present one, newest last.
    pub last_yields: [u64; 2],
    pub spend: Spend,
}

/// The auto-compact breaker's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AutoCompactState {
    /// In a row.
    pub failures: u8,
    /// Rounds since the last compaction, or since the submission began.
    pub rounds_since: u32,
}

/// What this submission used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spend {
    pub usage: Usage,
    pub cost: Money,
    /// Output tokens of the newest reply.
    pub last_output: u64,
    /// Output tokens since the last nudge, or since the start: what a nudged answer comes to, tool rounds included.
    #[serde(default)]
    pub since_nudge: u64,
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
    /// Folds what was measured, before [`next`](super::next()) decides: decisions see the reply just made.
    #[must_use]
    pub fn note(mut self, seen: &Seen) -> LoopState {
        match seen {
            Seen::Prepared(Ok(prepared)) => self.auto_compact.note(prepared.auto_compact),
            Seen::Replied(Ok(reply)) => {
                self.spend.pay(reply.usage, reply.cost);
                self.spend.last_output = reply.usage.output;
                self.spend.since_nudge = self.spend.since_nudge.saturating_add(reply.usage.output);
            }
            Seen::Compacted(Ok(Compaction { end, usage, cost, withheld: _ })) => {
                self.spend.pay(*usage, *cost);
                self.auto_compact.rounds_since = match end {
                    CompactionEnd::Shrunk(_) => 0,
                    CompactionEnd::Failed => self.auto_compact.rounds_since,
                };
            }
            Seen::ToolsRan(Ok(run)) => {
                self.spend.pay(run.usage, run.cost);
                match run.end {
                    ToolEnd::Done => self.auto_compact.rounds_since = self.auto_compact.rounds_since.saturating_add(1),
                    ToolEnd::HookStopped { .. } | ToolEnd::Fatal(_) | ToolEnd::Open(_) => {}
                }
            }
            Seen::Opened | Seen::Reopened(_) | Seen::Drained(_) | Seen::HooksRan(_) | Seen::Collected(_) => {}
            Seen::Prepared(Err(_)) | Seen::Replied(Err(_)) | Seen::Compacted(Err(_)) | Seen::ToolsRan(Err(_)) => {}
        }
        self
    }

    /// The state of the next iteration. Every arm says what it resets; what it does not name is kept.
    #[must_use]
    pub fn advance(self, why: &Continue) -> LoopState {
        let transition = Some(why.name());
        match why {
            Continue::NextTurn { gathered: _ } => LoopState {
                transition,
                round: self.round.saturating_add(1),
                output_cap: OutputCap::Default,
                output_recoveries: 0,
                attempted_reactive_compact: false,
                ..self
            },
            Continue::CollapseDrainRetry { committed: _ } => LoopState { transition, ..self },
            Continue::ReactiveCompactRetry { boundary: _ } => LoopState { transition, attempted_reactive_compact: true, ..self },
            Continue::MaxOutputTokensEscalate { cap } => LoopState { transition, output_cap: *cap, ..self },
            Continue::MaxOutputTokensRecovery { attempt: _ } => {
                LoopState { transition, output_recoveries: self.output_recoveries.saturating_add(1), ..self }
            }
            // `attempted_reactive_compact` is kept: else a compaction and a blocking hook could take turns for ever.
            Continue::StopHookBlocking { by, errors: _ } => {
                LoopState { transition, output_cap: OutputCap::Default, output_recoveries: 0, stop_hook_active: true, ..self.blocked(*by) }
            }
            Continue::TokenBudgetContinuation { nudge: _ } => LoopState {
                transition,
                output_cap: OutputCap::Default,
                output_recoveries: 0,
                attempted_reactive_compact: false,
                budget_nudges: self.budget_nudges.saturating_add(1),
                last_yields: self.yields(),
                spend: Spend { since_nudge: 0, ..self.spend },
                ..self
            },
        }
    }

    /// Output tokens of the last two nudged answers with the present one, newest last.
    #[must_use]
    pub fn yields(&self) -> [u64; 2] {
        [self.last_yields[1], self.spend.since_nudge]
    }

    fn blocked(self, by: Blocker) -> LoopState {
        match by {
            Blocker::Hook => LoopState { stop_hook_blocks: self.stop_hook_blocks.saturating_add(1), ..self },
            Blocker::StructuredOutput => LoopState { structured_output_tries: self.structured_output_tries.saturating_add(1), ..self },
        }
    }
}

impl AutoCompactState {
    fn note(&mut self, outcome: AutoCompact) {
        match outcome {
            AutoCompact::NotNeeded => {}
            AutoCompact::Done => *self = AutoCompactState::default(),
            AutoCompact::Failed => self.failures = self.failures.saturating_add(1),
        }
    }
}

impl Spend {
    fn pay(&mut self, usage: Usage, cost: Money) {
        self.usage += usage;
        self.cost += cost;
    }
}

#[cfg(test)]
mod tests;
