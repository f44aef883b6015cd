//! Tasks and their changes.

use agentd_types::task::{Task, TaskChange, TaskEnd, TaskStart};

use super::{number, path, text};
use crate::v1;

impl From<&TaskStart> for v1::TaskStart {
    fn from(start: &TaskStart) -> Self {
        v1::TaskStart {
            id: start.id.to_string(),
            kind: number::<v1::TaskKind>(start.kind),
            description: start.description.clone(),
            tool_use_id: start.tool_use.to_string(),
            owner_agent_id: text(&start.owner),
            agent_id: text(&start.agent),
            placement: number::<v1::Placement>(start.placement),
            output_file: path(&start.output_file),
        }
    }
}

impl From<&TaskEnd> for v1::TaskEnd {
    fn from(end: &TaskEnd) -> Self {
        v1::TaskEnd {
            outcome: number::<v1::TaskOutcome>(end.outcome),
            exit_code: end.exit_code,
            signal: end.signal,
            by: end.by.as_ref().map(Into::into),
            summary: end.summary.clone(),
            usage: Some((&end.usage).into()),
            cost_nanos: end.cost.0,
        }
    }
}

impl From<&Task> for v1::Task {
    fn from(task: &Task) -> Self {
        v1::Task {
            start: Some((&task.start).into()),
            started_at_ms: task.started_at.0,
            end: task.end.as_ref().map(|(end, _)| end.into()),
            ended_at_ms: task.end.as_ref().map(|(_, at)| at.0),
        }
    }
}

impl From<&TaskChange> for v1::TaskChange {
    fn from(change: &TaskChange) -> Self {
        use v1::task_change::Change;
        let change = match change {
            TaskChange::Started(start) => Change::Started(start.into()),
            TaskChange::Moved { id } => Change::Moved(v1::TaskMoved { id: id.to_string() }),
            TaskChange::Finished { id, end } => Change::Finished(v1::TaskFinished { id: id.to_string(), end: Some(end.into()) }),
        };
        v1::TaskChange { change: Some(change) }
    }
}
