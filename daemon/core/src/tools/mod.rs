//! What a tool is to the engine: its description and what a call of it would do. It never runs one.

pub mod edit;
pub mod spec;

pub use spec::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
