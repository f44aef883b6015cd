//! Acts: what is to be done next. Each has one pair of hands in the shell; none is performed here.

use agentd_types::ToolUseId;

use super::seen::Withheld;
use super::step::{OutputCap, Step};

/// What the table decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Do(Act),
    Go(Step),
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Prepare(PreparePlan),
    CallModel(CallPlan),
    DrainCollapses(Withheld),
    Compact(CompactPlan),
    RunStopHooks,
    RunTools(ToolBatch),
    Gather,
}

/// How to prepare a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparePlan {
    pub round: u32,
    pub cap: OutputCap,
    /// Whether autocompact may still be tried.
    pub auto_compact: AutoCompactPlan,
}

/// The auto-compact breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AutoCompactPlan {
    Allowed,
    /// Failed too often in a row, or this source never compacts.
    Off,
}

/// How to ask the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlan {
    pub cap: OutputCap,
}

/// What to compact for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactPlan {
    pub withheld: Withheld,
}

/// Calls to run, in the order the model asked for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolBatch {
    pub calls: Vec<ToolUseId>,
}
