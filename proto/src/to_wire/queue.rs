//! Commands and what happens to them.

use agentd_types::queue::{QueueChange, QueuedCommand, RunOptions};

use super::{all, number, text};
use crate::v1;

impl From<&RunOptions> for v1::RunOptions {
    fn from(options: &RunOptions) -> Self {
        v1::RunOptions {
            on_ask: number::<v1::OnAsk>(options.on_ask),
            max_turns: options.max_turns,
            max_budget_nanos: options.max_budget.map(|money| money.0),
            fallback_models: options.fallback_models.clone(),
        }
    }
}

impl From<&QueuedCommand> for v1::QueuedCommand {
    fn from(command: &QueuedCommand) -> Self {
        v1::QueuedCommand {
            id: command.id.to_string(),
            version: command.version,
            mode: number::<v1::CommandMode>(command.mode),
            priority: number::<v1::Priority>(command.priority),
            content: all(&command.content),
            origin: Some((&command.origin).into()),
            agent_id: text(&command.agent),
            idempotency_key: command.idempotency_key.clone(),
            batching: number::<v1::Batching>(command.batching),
            options: Some((&command.options).into()),
            enqueued_at_ms: command.enqueued_at.0,
        }
    }
}

impl From<&QueueChange> for v1::QueueChange {
    fn from(change: &QueueChange) -> Self {
        use v1::queue_change::{Change, Delivered, Edited, Enqueued, Promoted, Refused, Removed, Returned};
        let change = match change {
            QueueChange::Enqueued { command } => Change::Enqueued(Enqueued { command: Some(command.into()) }),
            QueueChange::Delivered { id } => Change::Delivered(Delivered { command_id: id.to_string() }),
            QueueChange::Edited { id, version, content } => {
                Change::Edited(Edited { command_id: id.to_string(), version: *version, content: all(content) })
            }
            QueueChange::Promoted { id, priority } => {
                Change::Promoted(Promoted { command_id: id.to_string(), priority: number::<v1::Priority>(*priority) })
            }
            QueueChange::Returned { id } => Change::Returned(Returned { command_id: id.to_string() }),
            QueueChange::Removed { id } => Change::Removed(Removed { command_id: id.to_string() }),
            QueueChange::Refused { id, reason } => Change::Refused(Refused { command_id: id.to_string(), reason: reason.clone() }),
        };
        v1::QueueChange { change: Some(change) }
    }
}
