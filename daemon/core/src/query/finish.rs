//! The end of an answer without calls: Stop hooks, then the token budget. It never runs a hook.

use super::act::{Act, Next};
use super::limits::Limits;
use super::seen::StopVerdict;
use super::state::LoopState;
use super::step::{Blocker, Continue, Nudge, Step, Terminal};

/// The answer stands. A token budget is asked about where Stop hooks have spoken, so it takes that way also without hooks.
pub(super) fn conclude(limits: &Limits) -> Next {
    if limits.abilities.stop_hooks || limits.token_budget.is_some() {
        Next::Do(Act::RunStopHooks)
    } else {
        Next::Go(Step::Stop(Terminal::Completed))
    }
}

/// Blocks have ceilings: a hook that still blocks at its own is overruled (`completed`; whoever ran the hooks gives the notice).
pub(super) fn after_stop_hooks(state: &LoopState, limits: &Limits, verdict: StopVerdict) -> Next {
    let tries = state.structured_output_tries;
    Next::Go(match verdict {
        StopVerdict::Prevented { reason } => Step::Stop(Terminal::StopHookPrevented { reason }),
        StopVerdict::Blocked { by: Blocker::StructuredOutput, errors: _ } if tries >= limits.structured_output_tries => {
            Step::Stop(Terminal::StructuredOutputRetries { tries })
        }
        StopVerdict::Blocked { by: Blocker::Hook, errors: _ } if state.stop_hook_blocks >= limits.stop_hook_blocks => {
            Step::Stop(Terminal::Completed)
        }
        StopVerdict::Blocked { by, errors } => Step::Continue(Continue::StopHookBlocking { by, errors }),
        StopVerdict::Passed => match nudge(state, limits) {
            Some(nudge) => Step::Continue(Continue::TokenBudgetContinuation { nudge }),
            None => Step::Stop(Terminal::Completed),
        },
    })
}

/// What is left of the token budget, while spending it still yields something.
fn nudge(state: &LoopState, limits: &Limits) -> Option<Nudge> {
    let budget = limits.token_budget?;
    let spent = state.spend.usage.output;
    let enough = u128::from(spent) * 100 >= u128::from(budget) * u128::from(limits.token_budget_percent);
    let diminishing = state.budget_nudges >= limits.nudges_before_yield && state.yields().iter().all(|it| *it < limits.low_yield);
    let used_up = state.budget_nudges >= limits.budget_nudges;
    (!enough && !diminishing && !used_up).then(|| Nudge { spent, left: budget.saturating_sub(spent) })
}

#[cfg(test)]
mod tests;
