//! After the calls of an answer: stopped, parked, or one round further. It never runs a call.

use super::act::{Act, Next};
use super::limits::Limits;
use super::seen::{ToolEnd, ToolRun};
use super::state::LoopState;
use super::step::{Continue, Gathered, Step, Terminal};

pub(super) fn after_tools(run: ToolRun) -> Next {
    match run.end {
        ToolEnd::Done => Next::Do(Act::Gather),
        ToolEnd::HookStopped { reason } => Next::Go(Step::Stop(Terminal::HookStopped { reason })),
        ToolEnd::Fatal(failure) => Next::Go(Step::Stop(Terminal::ModelError(failure))),
        ToolEnd::Open(calls) => Next::Go(Step::Park(calls)),
    }
}

/// What was gathered goes into the next round, if there may be one; else its leases are returned.
pub(super) fn after_gather(state: &LoopState, limits: &Limits, gathered: Gathered) -> Next {
    Next::Go(match limits.max_turns {
        Some(limit) if state.round >= limit => Step::Stop(Terminal::MaxTurns { limit }),
        Some(_) | None => Step::Continue(Continue::NextTurn { gathered }),
    })
}

#[cfg(test)]
mod tests;
