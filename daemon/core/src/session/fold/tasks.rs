//! Tasks, folded: which run, how the newest ended, whose loop a command is for. It starts and ends none.

use agentd_types::queue::{CommandMode, QueuedCommand};
use agentd_types::session::NotesMode;
use agentd_types::task::{Placement, Task, TaskChange, TaskKind};
use agentd_types::{AgentId, CommandId, Event, TaskId};

use super::Projection;

/// Ended tasks that are kept for lists.
const ENDED_KEPT: usize = 256;

/// Who may start a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Floor {
    /// Whoever comes.
    #[default]
    Open,
    /// A person cancelled: notes of tasks wait until one speaks again.
    Person,
}

impl Projection {
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id() == id)
    }

    /// The task in which `agent` works.
    #[must_use]
    pub fn task_of(&self, agent: AgentId) -> Option<&Task> {
        self.tasks.iter().rev().find(|task| task.start.agent == Some(agent))
    }

    /// Those that run, oldest first.
    pub fn running_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.is_running())
    }

    /// Whose loop a command for `agent` reaches: the agent while it works, else whoever started it, in the end the main loop.
    #[must_use]
    pub fn addressee(&self, agent: Option<AgentId>) -> Option<AgentId> {
        let mut agent = agent?;
        // A chain of owners is as short as agents may be deep.
        for _ in 0..super::super::tasks::MAX_DEPTH + 1 {
            let task = self.task_of(agent)?;
            if task.is_running() {
                return Some(agent);
            }
            agent = task.start.owner?;
        }
        None
    }

    /// Whether a command may start a submission of the main loop.
    #[must_use]
    pub fn may_start(&self, command: &QueuedCommand) -> bool {
        self.addressee(command.agent).is_none() && !self.silent.contains(&command.id)
    }

    /// Whether `agent`'s loop waits for an answer of its own: notes for it are held.
    #[must_use]
    pub fn asks(&self, agent: Option<AgentId>) -> bool {
        self.open.iter().any(|open| open.agent == agent) || self.questions.iter().any(|question| question.agent == agent)
    }

    pub(super) fn fold_task(&mut self, event: &Event, change: &TaskChange) {
        match change {
            TaskChange::Started(start) => {
                let ended = self.tasks.iter().filter(|task| !task.is_running()).count();
                if ended >= ENDED_KEPT
                    && let Some(oldest) = self.tasks.iter().position(|task| !task.is_running())
                {
                    self.tasks.remove(oldest);
                }
                self.tasks.push(Task { start: start.clone(), started_at: event.time, end: None });
            }
            TaskChange::Moved { id } => {
                if let Some(task) = self.tasks.iter_mut().find(|task| task.id() == *id) {
                    task.start.placement = Placement::Background;
                }
            }
            TaskChange::Finished { id, end } => {
                let Some(task) = self.tasks.iter_mut().find(|task| task.id() == *id) else { return };
                if task.start.kind == TaskKind::Agent && task.start.placement == Placement::Background {
                    // What a foreground one used is in the bill of whoever waited for it.
                    self.cost += end.cost;
                }
                task.end = Some((end.clone(), event.time));
            }
        }
    }

    /// A command came: a note that must not start anything now is remembered as such.
    pub(super) fn fold_silence(&mut self, command: &QueuedCommand) {
        let silent = self.floor == Floor::Person || self.meta.notes == NotesMode::Record;
        if command.mode == CommandMode::TaskNotification && silent {
            self.silent.insert(command.id);
        }
    }

    /// A person cancelled: notes that wait start nothing until one speaks again.
    pub(super) fn silence_notes(&mut self) {
        self.floor = Floor::Person;
        let notes: Vec<CommandId> =
            self.queue.commands().iter().filter(|it| it.mode == CommandMode::TaskNotification).map(|it| it.id).collect();
        self.silent.extend(notes);
    }

    /// A person spoke.
    pub(super) fn end_silence(&mut self) {
        self.floor = Floor::Open;
        self.silent.clear();
    }
}
