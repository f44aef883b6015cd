//! After the model's answer: follow-up, the recoveries in their order, or the error shown at last. It never repeats a request itself.

use super::act::{Act, CompactPlan, Next};
use super::finish::conclude;
use super::limits::Limits;
use super::next::over_budget;
use super::seen::{Compaction, CompactionEnd, Drained, Reply, ReplyEnd, Withheld};
use super::state::LoopState;
use super::step::{Continue, ContinueName, FailureKind, ModelFailure, OutputCap, Step, Terminal};

/// Calls make a follow-up, also of an answer cut at the output limit; no stop reason is asked. Stop hooks do not see a failure:
/// an error, its hook and the retry would go round for ever.
pub(super) fn after_reply(state: &LoopState, limits: &Limits, reply: Reply) -> Next {
    match reply.end {
        ReplyEnd::OverBudget { spent, limit } => over_budget(spent, limit),
        ReplyEnd::Failed(failure) => Next::Go(Step::Stop(Terminal::ModelError(failure))),
        ReplyEnd::Whole { calls } | ReplyEnd::OutputLimit { calls } if !calls.calls.is_empty() => Next::Do(Act::RunTools(calls)),
        ReplyEnd::Whole { calls: _ } => conclude(limits),
        ReplyEnd::OutputLimit { calls: _ } => recover(state, limits, Withheld::OutputLimit),
        ReplyEnd::Withheld(withheld) => recover(state, limits, withheld),
    }
}

/// The ladder: each rung has its guard, and the first one that is free is taken.
fn recover(state: &LoopState, limits: &Limits, withheld: Withheld) -> Next {
    match withheld {
        Withheld::PromptTooLong if may_drain(state, limits) => Next::Do(Act::DrainCollapses(withheld)),
        Withheld::PromptTooLong | Withheld::MediaTooLarge if may_compact(state, limits) => Next::Do(Act::Compact(CompactPlan { withheld })),
        Withheld::PromptTooLong => Next::Go(Step::Stop(Terminal::PromptTooLong)),
        Withheld::MediaTooLarge => Next::Go(Step::Stop(Terminal::ImageError)),
        Withheld::OutputLimit if may_escalate(state, limits) => {
            Next::Go(Step::Continue(Continue::MaxOutputTokensEscalate { cap: OutputCap::Raised }))
        }
        Withheld::OutputLimit if state.output_recoveries < limits.output_recoveries => {
            let attempt = state.output_recoveries.saturating_add(1);
            Next::Go(Step::Continue(Continue::MaxOutputTokensRecovery { attempt }))
        }
        Withheld::OutputLimit => Next::Go(Step::Stop(Terminal::ModelError(cut_for_good(state)))),
    }
}

/// A drain that committed something is worth a retry; else the next rung. Only a prompt too long leads here.
pub(super) fn after_drain(state: &LoopState, limits: &Limits, drained: Drained) -> Next {
    let Drained { committed, withheld } = drained;
    if committed > 0 {
        Next::Go(Step::Continue(Continue::CollapseDrainRetry { committed }))
    } else if may_compact(state, limits) {
        Next::Do(Act::Compact(CompactPlan { withheld }))
    } else {
        Next::Go(Step::Stop(Terminal::PromptTooLong))
    }
}

/// The last rung for what is too large: smaller now, or the withheld error is shown.
pub(super) fn after_compact(compaction: Compaction) -> Next {
    match (compaction.end, compaction.withheld) {
        (CompactionEnd::Shrunk(boundary), Withheld::PromptTooLong | Withheld::MediaTooLarge | Withheld::OutputLimit) => {
            Next::Go(Step::Continue(Continue::ReactiveCompactRetry { boundary }))
        }
        (CompactionEnd::Failed, Withheld::MediaTooLarge) => Next::Go(Step::Stop(Terminal::ImageError)),
        // An output limit is never compacted for.
        (CompactionEnd::Failed, Withheld::PromptTooLong | Withheld::OutputLimit) => Next::Go(Step::Stop(Terminal::PromptTooLong)),
    }
}

/// Twice in a row would find nothing staged.
fn may_drain(state: &LoopState, limits: &Limits) -> bool {
    limits.abilities.collapse && state.transition != Some(ContinueName::CollapseDrainRetry)
}

fn may_compact(state: &LoopState, limits: &Limits) -> bool {
    limits.abilities.compact && !state.attempted_reactive_compact
}

fn may_escalate(state: &LoopState, limits: &Limits) -> bool {
    limits.abilities.escalate && state.output_cap == OutputCap::Default
}

fn cut_for_good(state: &LoopState) -> ModelFailure {
    let tries = state.output_recoveries;
    let message = format!(
        "the answer was cut at the output limit, and {tries} continuations did not finish it; what it wrote is kept. Ask for smaller pieces."
    );
    ModelFailure { kind: FailureKind::OutputLimit, status: None, message }
}

#[cfg(test)]
mod tests;
