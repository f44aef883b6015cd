//! Tools as far as pure functions go: how they are described to a model, which run together, and how a string is edited.
//! It never runs one.

pub mod batch;
pub mod edit;
pub mod spec;

pub use batch::{Batch, Manner, Stage};
pub use spec::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
