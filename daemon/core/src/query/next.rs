//! The table of the loop: what was seen chooses one act, or how the iteration ends. It never performs an act and changes no state.

use agentd_types::Money;

use super::act::{Act, AutoCompactPlan, CallPlan, Next, PreparePlan};
use super::finish::{after_stop_hooks, conclude};
use super::limits::Limits;
use super::reply::{after_compact, after_drain, after_reply};
use super::seen::{Budget, Cut, Observed, Prepared, Resume, Room, Seen};
use super::state::LoopState;
use super::step::{Step, Terminal};
use super::tools::{after_gather, after_tools};

/// Decides. `state` has folded `seen` already ([`LoopState::note`]).
#[must_use]
pub fn next(state: &LoopState, limits: &Limits, seen: Seen) -> Next {
    table(state, limits, seen).unwrap_or_else(|(part, why)| Next::Go(end_of(part, why)))
}

/// The nine arms. `whole` comes before each of them: what was cut short is never decided upon.
fn table(state: &LoopState, limits: &Limits, seen: Seen) -> Result<Next, (Part, Cut)> {
    use Part::{Streaming, Tools};
    Ok(match seen {
        Seen::Opened => prepare(state, limits),
        Seen::Reopened(resume) => reopen(state, limits, resume),
        Seen::Prepared(it) => gate(state, limits, whole(Streaming, it)?),
        Seen::Replied(it) => after_reply(state, limits, whole(Streaming, it)?),
        Seen::Drained(it) => after_drain(state, limits, whole(Streaming, it)?),
        Seen::Compacted(it) => after_compact(whole(Streaming, it)?),
        Seen::HooksRan(it) => after_stop_hooks(state, limits, whole(Streaming, it)?),
        Seen::ToolsRan(it) => after_tools(whole(Tools, it)?),
        Seen::Collected(it) => after_gather(state, limits, whole(Tools, it)?),
    })
}

/// The part of an iteration: an interrupt is named after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Preparing, the stream, its recoveries and Stop hooks.
    Streaming,
    /// Tools, their hooks and attachments.
    Tools,
}

fn whole<T>(part: Part, seen: Observed<T>) -> Result<T, (Part, Cut)> {
    seen.map_err(|why| (part, why))
}

/// How a cut ends the submission. The only place that names the two aborts.
fn end_of(part: Part, why: Cut) -> Step {
    match (why, part) {
        (Cut::StoreFailed(failure), Part::Streaming | Part::Tools) => Step::Fail(failure),
        (Cut::Interrupted, Part::Streaming) => Step::Stop(Terminal::AbortedStreaming),
        (Cut::Interrupted, Part::Tools) => Step::Stop(Terminal::AbortedTools),
    }
}

fn prepare(state: &LoopState, limits: &Limits) -> Next {
    let may_compact = limits.abilities.compact && state.auto_compact.failures < limits.auto_compact_failures;
    let auto_compact = if may_compact { AutoCompactPlan::Allowed } else { AutoCompactPlan::Off };
    Next::Do(Act::Prepare(PreparePlan { round: state.round, cap: state.output_cap, auto_compact }))
}

/// Goes on in the middle of a round. No calls in `Calls` is not nothing: all results are durable, and they still have to be sent.
fn reopen(state: &LoopState, limits: &Limits, resume: Resume) -> Next {
    match resume {
        Resume::Calls(batch) => Next::Do(Act::RunTools(batch)),
        Resume::Answered => conclude(limits),
        Resume::Nothing => prepare(state, limits),
    }
}

/// The last look before the request: is there room, is there money.
fn gate(state: &LoopState, limits: &Limits, prepared: Prepared) -> Next {
    let over = limits.max_budget.filter(|limit| state.spend.cost >= *limit);
    match (prepared.room, prepared.budget, over) {
        (Room::Full, Budget::Reserved | Budget::Reached { .. }, _) => Next::Go(Step::Stop(Terminal::BlockingLimit)),
        (Room::Fits, Budget::Reached { spent, limit }, _) => over_budget(spent, limit),
        (Room::Fits, Budget::Reserved, Some(limit)) => over_budget(state.spend.cost, limit),
        (Room::Fits, Budget::Reserved, None) => Next::Do(Act::CallModel(CallPlan { cap: state.output_cap })),
    }
}

/// No money for another request.
pub(super) fn over_budget(spent: Money, limit: Money) -> Next {
    Next::Go(Step::Stop(Terminal::MaxBudget { spent, limit }))
}

#[cfg(test)]
mod tests;
