//! The words of the command queue; the rules are in `core::queue`.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Block, CommandId, Origin, Timestamp};

/// Delivered order is now, next, later; first in, first out within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Ends the running submission and goes first.
    Now,
    /// Waits for the next gate.
    #[default]
    Next,
    /// Never starves a prompt: background notes.
    Later,
}

/// What a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandMode {
    #[default]
    Prompt,
    TaskNotification,
    Shell,
}

/// Whether a command may share its submission with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Batching {
    /// May be folded with others of the same mode and priority.
    #[default]
    Fold,
    /// A submission of its own (`--wait`, a line of stream-json input).
    Alone,
}

/// What a submission does when a call needs an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// Waits for any client.
    #[default]
    Wait,
    /// Parks at once; an answer resumes it at that call.
    Park,
    /// Denies and goes on.
    Deny,
}

/// What a submission is started with besides its content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunOptions {
    pub on_ask: OnAsk,
    /// Rounds at most; absent = the session's limit.
    pub max_turns: Option<u32>,
    /// Nano-dollars at most for this submission.
    pub max_budget: Option<crate::Money>,
    /// Models that are asked instead when the session's own stays overloaded or refuses, in this order; empty = the settings'.
    #[serde(default)]
    pub fallback_models: Vec<String>,
}

/// An accepted command that was not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedCommand {
    pub id: CommandId,
    /// Counts edits, from 1.
    pub version: u32,
    pub mode: CommandMode,
    pub priority: Priority,
    pub content: Vec<Block>,
    pub origin: Origin,
    /// Whose loop; absent = main.
    pub agent: Option<AgentId>,
    pub idempotency_key: Option<String>,
    pub batching: Batching,
    pub options: RunOptions,
    pub enqueued_at: Timestamp,
}

/// A durable change of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum QueueChange {
    Enqueued {
        command: QueuedCommand,
    },
    /// Taken; its content stands in the event after this one, in the same journal record.
    Delivered {
        id: CommandId,
    },
    /// Same id, next version.
    Edited {
        id: CommandId,
        version: u32,
        content: Vec<Block>,
    },
    Promoted {
        id: CommandId,
        priority: Priority,
    },
    /// Back to its sender for editing, after a user cancel.
    Returned {
        id: CommandId,
    },
    Removed {
        id: CommandId,
    },
    /// A hook or a rule refused it; the sender is told why.
    Refused {
        id: CommandId,
        reason: String,
    },
}
