//! The query loop as a decision table: something is seen, one act is chosen. It never performs an act.

pub mod act;
mod finish;
pub mod limits;
pub mod next;
mod reply;
pub mod seen;
pub mod state;
pub mod step;
mod tools;
pub mod trace;

pub use act::{Act, AutoCompactPlan, CallPlan, CompactPlan, Next, PreparePlan, ToolBatch};
pub use limits::{Abilities, CallLimits, Limits};
pub use next::next;
pub use seen::{
    AutoCompact, Budget, Compaction, CompactionEnd, Cut, Drained, Observed, Prepared, Reply, ReplyEnd, Resume, Room, Seen, StopVerdict,
    ToolEnd, ToolRun, Withheld,
};
pub use state::{AutoCompactState, LoopState, Spend};
pub use step::{
    Blocker, CompactBoundary, Continue, ContinueName, FailureKind, Gathered, HookMessage, ModelFailure, Nudge, OpenCalls, OutputCap, Step,
    StoreFailure, Terminal,
};
pub use trace::trace;

#[cfg(test)]
mod tests;
