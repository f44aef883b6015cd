//! A tool's descriptor as the model sees it, and a call's traits as the executor sees them.

use agentd_types::Json;

/// What the model is told of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the input: an object.
    pub input_schema: Json,
}

/// Whether a call changes anything outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effects {
    ReadOnly,
    SideEffects,
}

/// Whether a call may run beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concurrency {
    Safe,
    Alone,
}

/// What typing does to a running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterruptBehavior {
    /// Nothing: real work goes on.
    Block,
    /// Ends it: it only waits.
    Cancel,
}

/// What is known of a call from its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTraits {
    pub effects: Effects,
    pub concurrency: Concurrency,
    pub interrupt: InterruptBehavior,
}
