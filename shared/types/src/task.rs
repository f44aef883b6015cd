//! Work with a life of its own inside a session: commands in the background, subagents. It runs nothing.

use serde::{Deserialize, Serialize};

use crate::{AbsPath, AgentId, Money, Origin, TaskId, Timestamp, ToolUseId, Usage};

/// What does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A command line.
    Bash,
    /// A subagent.
    Agent,
}

impl TaskKind {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TaskKind::Bash => "bash",
            TaskKind::Agent => "agent",
        }
    }
}

/// Whether the call that made it waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// It ends with its call; the call's result says how.
    Foreground,
    /// It goes on by itself; a note says how it ended.
    Background,
}

/// A task as it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStart {
    pub id: TaskId,
    pub kind: TaskKind,
    /// For people, and for the note.
    pub description: String,
    /// The call that made it.
    pub tool_use: ToolUseId,
    /// Whose call that was; absent = the main loop's.
    pub owner: Option<AgentId>,
    /// The subagent that works, if one does.
    pub agent: Option<AgentId>,
    pub placement: Placement,
    /// Where its output goes.
    pub output_file: AbsPath,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    Completed,
    Failed,
    /// Somebody, or a signal, ended it before its time. Never a success.
    Killed,
    /// Its daemon died: nobody knows what came of it, and nothing of it runs.
    Lost,
}

impl TaskOutcome {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TaskOutcome::Completed => "completed",
            TaskOutcome::Failed => "failed",
            TaskOutcome::Killed => "killed",
            TaskOutcome::Lost => "lost",
        }
    }
}

/// A task's end, confirmed: nothing of it runs any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnd {
    pub outcome: TaskOutcome,
    /// Of a command that exited by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Who ended it, if somebody did.
    pub by: Option<Origin>,
    /// For people and for the note: a subagent's report, or why it ended.
    pub summary: String,
    /// What it used.
    pub usage: Usage,
    pub cost: Money,
}

impl TaskEnd {
    /// An end that used nothing and says nothing.
    #[must_use]
    pub fn of(outcome: TaskOutcome) -> TaskEnd {
        TaskEnd { outcome, exit_code: None, signal: None, by: None, summary: String::new(), usage: Usage::default(), cost: Money::ZERO }
    }
}

/// A durable change of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum TaskChange {
    Started(TaskStart),
    /// Its call no longer waits for it.
    Moved {
        id: TaskId,
    },
    Finished {
        id: TaskId,
        end: TaskEnd,
    },
}

/// A task, folded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub start: TaskStart,
    pub started_at: Timestamp,
    /// How and when it ended; absent = it runs.
    pub end: Option<(TaskEnd, Timestamp)>,
}

impl Task {
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.start.id
    }

    #[must_use]
    pub fn is_running(&self) -> bool {
        self.end.is_none()
    }

    /// `running`, or how it ended.
    #[must_use]
    pub fn status(&self) -> &'static str {
        self.end.as_ref().map_or("running", |(end, _)| end.outcome.name())
    }
}
