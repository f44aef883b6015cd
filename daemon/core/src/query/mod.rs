//! The query loop as a decision table: something is seen, one act is chosen. It never performs an act.

pub mod act;
pub mod limits;
pub mod seen;
pub mod state;
pub mod step;

pub use act::{Act, CallPlan, CompactPlan, Next, PreparePlan, ToolBatch};
pub use limits::{Abilities, Limits};
pub use seen::{
    AutoCompact, Budget, Compaction, CompactionEnd, Cut, Drained, Observed, Prepared, Reply, ReplyEnd, Resume, Room, Seen, StopVerdict,
    ToolEnd, ToolRun, Withheld,
};
pub use state::{LoopState, Spend};
pub use step::{
    Blocker, CompactBoundary, Continue, ContinueName, FailureKind, Gathered, HookMessage, ModelFailure, Nudge, OpenCalls, OutputCap, Step,
    StoreFailure, Terminal,
};
