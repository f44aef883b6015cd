//! Commands and what happens to them.

use agentd_types::Timestamp;
use agentd_types::queue::{QueueChange, QueuedCommand, RunOptions};

use super::{all, enum_of, enum_or_default, id, maybe_id, money, required};
use crate::{WireError, v1};

impl TryFrom<v1::RunOptions> for RunOptions {
    type Error = WireError;
    fn try_from(options: v1::RunOptions) -> Result<Self, WireError> {
        Ok(RunOptions {
            on_ask: enum_or_default::<v1::OnAsk, _>("options.on_ask", options.on_ask)?,
            max_turns: options.max_turns,
            max_budget: money(options.max_budget_nanos),
            fallback_models: options.fallback_models,
        })
    }
}

impl TryFrom<v1::QueuedCommand> for QueuedCommand {
    type Error = WireError;
    fn try_from(command: v1::QueuedCommand) -> Result<Self, WireError> {
        Ok(QueuedCommand {
            id: id("command.id", &command.id)?,
            version: command.version,
            mode: enum_of::<v1::CommandMode, _>("command.mode", command.mode)?,
            priority: enum_of::<v1::Priority, _>("command.priority", command.priority)?,
            content: all(command.content)?,
            origin: required("command.origin", command.origin)?.try_into()?,
            agent: maybe_id("command.agent_id", command.agent_id.as_deref())?,
            idempotency_key: command.idempotency_key,
            batching: enum_of::<v1::Batching, _>("command.batching", command.batching)?,
            options: required("command.options", command.options)?.try_into()?,
            enqueued_at: Timestamp(command.enqueued_at_ms),
        })
    }
}

impl TryFrom<v1::QueueChange> for QueueChange {
    type Error = WireError;
    fn try_from(change: v1::QueueChange) -> Result<Self, WireError> {
        use v1::queue_change::Change;
        let of = |text: &str| id("queue.command_id", text);
        Ok(match required("queue.change", change.change)? {
            Change::Enqueued(it) => QueueChange::Enqueued { command: required("enqueued.command", it.command)?.try_into()? },
            Change::Delivered(it) => QueueChange::Delivered { id: of(&it.command_id)? },
            Change::Edited(it) => QueueChange::Edited { id: of(&it.command_id)?, version: it.version, content: all(it.content)? },
            Change::Promoted(it) => {
                QueueChange::Promoted { id: of(&it.command_id)?, priority: enum_of::<v1::Priority, _>("promoted.priority", it.priority)? }
            }
            Change::Returned(it) => QueueChange::Returned { id: of(&it.command_id)? },
            Change::Removed(it) => QueueChange::Removed { id: of(&it.command_id)? },
            Change::Refused(it) => QueueChange::Refused { id: of(&it.command_id)?, reason: it.reason },
        })
    }
}
