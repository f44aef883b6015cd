//! Tasks and their changes.

use agentd_types::task::{Task, TaskChange, TaskEnd, TaskStart};
use agentd_types::{AbsPath, Money, Timestamp, ToolUseId};

use super::{enum_of, id, maybe, maybe_id, path, required};
use crate::{WireError, v1};

impl TryFrom<v1::TaskStart> for TaskStart {
    type Error = WireError;
    fn try_from(start: v1::TaskStart) -> Result<Self, WireError> {
        let output_file: AbsPath = path("task.output_file", start.output_file)?;
        Ok(TaskStart {
            id: id("task.id", &start.id)?,
            kind: enum_of::<v1::TaskKind, _>("task.kind", start.kind)?,
            description: start.description,
            tool_use: ToolUseId(start.tool_use_id),
            owner: maybe_id("task.owner_agent_id", start.owner_agent_id.as_deref())?,
            agent: maybe_id("task.agent_id", start.agent_id.as_deref())?,
            placement: enum_of::<v1::Placement, _>("task.placement", start.placement)?,
            output_file,
        })
    }
}

impl TryFrom<v1::TaskEnd> for TaskEnd {
    type Error = WireError;
    fn try_from(end: v1::TaskEnd) -> Result<Self, WireError> {
        Ok(TaskEnd {
            outcome: enum_of::<v1::TaskOutcome, _>("task.outcome", end.outcome)?,
            exit_code: end.exit_code,
            signal: end.signal,
            by: maybe(end.by)?,
            summary: end.summary,
            usage: required("task.usage", end.usage)?.into(),
            cost: Money(end.cost_nanos),
        })
    }
}

impl TryFrom<v1::Task> for Task {
    type Error = WireError;
    fn try_from(task: v1::Task) -> Result<Self, WireError> {
        let end = match (task.end, task.ended_at_ms) {
            (Some(end), at) => Some((TaskEnd::try_from(end)?, Timestamp(required("task.ended_at_ms", at)?))),
            (None, _) => None,
        };
        Ok(Task { start: required("task.start", task.start)?.try_into()?, started_at: Timestamp(task.started_at_ms), end })
    }
}

impl TryFrom<v1::TaskChange> for TaskChange {
    type Error = WireError;
    fn try_from(change: v1::TaskChange) -> Result<Self, WireError> {
        use v1::task_change::Change;
        Ok(match required("task.change", change.change)? {
            Change::Started(start) => TaskChange::Started(start.try_into()?),
            Change::Moved(v1::TaskMoved { id: task }) => TaskChange::Moved { id: id("task.id", &task)? },
            Change::Finished(v1::TaskFinished { id: task, end }) => {
                TaskChange::Finished { id: id("task.id", &task)?, end: required("task.end", end)?.try_into()? }
            }
        })
    }
}
