//! A session's row in the list, folded from the same events as its state but from nothing else, so that it can be stored and
//! folded on without reading the session. It holds no more than the list shows and what that takes.

use agentd_types::event::UserKind;
use agentd_types::queue::QueueChange;
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::system::{RecoveryOutcome, SessionChanges, System};
use agentd_types::task::{Placement, TaskChange, TaskKind};
use agentd_types::{Body, CommandId, Event, RequestId, TaskId};
use serde::{Deserialize, Serialize};

use super::fold::{Ending, Unfoldable, ending_of, last_text};

/// What the list shows of a session, and what it takes to keep it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The row; its `state`, `queued` and `permissions_open` always follow from the rest.
    pub info: SessionInfo,
    /// The key it was created with.
    pub creation_key: Option<String>,
    ending: Ending,
    running: Running,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queue: Vec<CommandId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<RequestId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    questions: Vec<RequestId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<(TaskId, Paid)>,
}

/// Who pays for a task: whoever waits for it, or the session by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Paid {
    ByItsCall,
    BySession,
}

/// Whether a submission has no result yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Running {
    Yes,
    No,
}

impl Summary {
    /// The row after `created`, a session's first event.
    ///
    /// # Errors
    /// [`Unfoldable`] when it is anything else.
    pub fn open(created: &Event) -> Result<Summary, Unfoldable> {
        let Body::System(System::Created { meta, idempotency_key }) = &created.body else {
            return Err(Unfoldable { found: created.body.type_name() });
        };
        let info = SessionInfo {
            id: created.session,
            name: meta.name.clone(),
            state: SessionState::Idle,
            cwd: meta.cwd.clone(),
            model: meta.model.clone(),
            permission_mode: meta.permission_mode,
            created_at: created.time,
            updated_at: created.time,
            cost: agentd_types::Money::ZERO,
            queued: 0,
            tasks_running: 0,
            permissions_open: 0,
            last_text: String::new(),
            last_seq: created.seq,
        };
        let creation_key = idempotency_key.clone();
        let (queue, open, questions, tasks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Summary { info, creation_key, ending: Ending::Whole, running: Running::No, queue, open, questions, tasks })
    }

    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        self.info.last_seq = event.seq;
        self.info.updated_at = event.time;
        match &event.body {
            Body::User(user) => {
                if user.kind == UserKind::Prompt && event.submission.is_some() && event.agent.is_none() {
                    (self.ending, self.running) = (Ending::Whole, Running::Yes);
                }
            }
            Body::Assistant(assistant) => {
                if event.agent.is_none()
                    && let Some(text) = last_text(&assistant.content)
                {
                    self.info.last_text = text;
                }
            }
            Body::System(system) => {
                if event.agent.is_none() {
                    self.fold_system(system);
                }
            }
            Body::PermissionRequest(request) => self.open.push(request.id),
            Body::PermissionResolved(resolved) => {
                if let Some(at) = self.open.iter().position(|id| *id == resolved.id) {
                    self.open.remove(at);
                }
            }
            Body::Question(question) => self.questions.push(question.id),
            Body::Answer(answered) => {
                if let Some(at) = self.questions.iter().position(|id| *id == answered.id) {
                    self.questions.remove(at);
                }
            }
            Body::Queue(change) => self.fold_queue(change),
            Body::Task(change) => self.fold_task(change),
            Body::Result(result) => {
                if event.agent.is_none() {
                    self.info.cost += result.cost;
                    self.ending = ending_of(result.terminal, self.ending);
                    self.running = Running::No;
                }
            }
            Body::Attachment(_) | Body::Tombstone { .. } => {}
        }
        self.info.state = self.state();
        self.info.queued = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        self.info.tasks_running = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        self.info.permissions_open = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
    }

    /// Whether it has something to do when the daemon starts: a submission without a result, commands that
    /// wait, or tasks that its last daemon lost.
    #[must_use]
    pub fn wants_to_run(&self) -> bool {
        self.running == Running::Yes || !self.queue.is_empty() || !self.tasks.is_empty()
    }

    /// Whether `system: deleted` is its last event.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.ending == Ending::Deleted
    }

    fn state(&self) -> SessionState {
        match (self.running, self.ending) {
            (_, Ending::Deleted) => SessionState::Archived,
            (_, Ending::Failed) => SessionState::Failed,
            _ if !self.open.is_empty() => SessionState::WaitingPermission,
            _ if !self.questions.is_empty() => SessionState::WaitingAnswer,
            (Running::Yes, _) => SessionState::Running,
            (Running::No, Ending::Interrupted) => SessionState::Interrupted,
            (Running::No, Ending::Whole) => SessionState::Idle,
        }
    }

    fn fold_system(&mut self, system: &System) {
        match system {
            System::SessionUpdated { changes } => self.change(changes),
            System::Interrupted { .. } => self.ending = Ending::Interrupted,
            System::Recovered { outcome, .. } => match outcome {
                RecoveryOutcome::Dropped => self.ending = Ending::Interrupted,
                RecoveryOutcome::Continued | RecoveryOutcome::Waiting => {}
            },
            System::Failed { .. } => {
                (self.ending, self.running) = (Ending::Failed, Running::No);
                self.open.clear();
                self.questions.clear();
            }
            System::Deleted => self.ending = Ending::Deleted,
            System::Created { .. }
            | System::Init(_)
            | System::Frame(_)
            | System::Partial(_)
            | System::ModelFallback(_)
            | System::LoopState(_)
            | System::ToolStarted(_)
            | System::ApiRetry(_)
            | System::Parked { .. }
            | System::Notice { .. } => {}
        }
    }

    fn change(&mut self, changes: &SessionChanges) {
        let SessionChanges { name, model, permission_mode, limits: _, notes: _ } = changes;
        if let Some(name) = name {
            self.info.name = Some(name.clone()).filter(|name| !name.is_empty());
        }
        if let Some(model) = model {
            self.info.model.clone_from(model);
        }
        if let Some(mode) = permission_mode {
            self.info.permission_mode = *mode;
        }
    }

    fn fold_task(&mut self, change: &TaskChange) {
        let paid = |kind, placement| match (kind, placement) {
            (TaskKind::Agent, Placement::Background) => Paid::BySession,
            (TaskKind::Agent, Placement::Foreground) | (TaskKind::Bash, Placement::Foreground | Placement::Background) => Paid::ByItsCall,
        };
        match change {
            TaskChange::Started(start) => self.tasks.push((start.id, paid(start.kind, start.placement))),
            // Only subagents are moved after their start.
            TaskChange::Moved { id } => {
                self.tasks.iter_mut().filter(|(task, _)| task == id).for_each(|(_, paid)| *paid = Paid::BySession);
            }
            TaskChange::Finished { id, end } => {
                let Some(at) = self.tasks.iter().position(|(task, _)| task == id) else { return };
                match self.tasks.remove(at).1 {
                    Paid::BySession => self.info.cost += end.cost,
                    Paid::ByItsCall => {}
                }
            }
        }
    }

    fn fold_queue(&mut self, change: &QueueChange) {
        match change {
            QueueChange::Enqueued { command } => self.queue.push(command.id),
            QueueChange::Delivered { id }
            | QueueChange::Returned { id }
            | QueueChange::Removed { id }
            | QueueChange::Refused { id, .. } => {
                if let Some(at) = self.queue.iter().position(|it| it == id) {
                    self.queue.remove(at);
                }
            }
            QueueChange::Edited { .. } | QueueChange::Promoted { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
