//! What a call may do with work that outlives it; implemented by `sessions`. No work is named here.

use std::sync::Arc;

use agentd_core::prompt::AgentKind;
use agentd_core::queue::Waits;
use agentd_core::session::NotStarted;
use agentd_types::task::{Placement, Task, TaskEnd, TaskKind};
use agentd_types::{AbsPath, AgentId, SubmissionId, TaskId, ToolUseId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::tool::Boxed;

/// Runs until it has ended, or is told to; returns when nothing of it runs.
pub type Work = Box<dyn FnOnce(CancellationToken) -> Boxed<'static, TaskEnd> + Send + Sync>;

/// A task as a call wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWish {
    pub kind: TaskKind,
    pub description: String,
    /// The call.
    pub tool_use: ToolUseId,
    pub placement: Placement,
    pub output_file: AbsPath,
    /// The subagent that works, and the submission it runs as.
    pub lane: Option<(AgentId, SubmissionId)>,
}

/// A subagent as a call wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentWish {
    pub kind: AgentKind,
    /// Go on with this one.
    pub continues: Option<AgentId>,
    pub description: String,
    pub prompt: String,
    /// Absent = the session's.
    pub model: Option<String>,
    /// The call.
    pub tool_use: ToolUseId,
    pub placement: Placement,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spawned {
    Started {
        task: TaskId,
        agent: AgentId,
    },
    /// It runs already: the prompt waits in the queue for it.
    Told,
}

/// The tasks of a loop's session.
pub trait TaskHost: Send + Sync {
    /// Starts a task: on disk before `work` runs.
    ///
    /// # Errors
    /// Why it did not start; the work is dropped then.
    fn start(&self, wish: TaskWish, work: Work) -> Boxed<'_, Result<TaskId, NotStarted>>;

    /// Gives work to a subagent: a task too.
    ///
    /// # Errors
    /// Why it did not start.
    fn agent(&self, wish: AgentWish) -> Boxed<'_, Result<Spawned, NotStarted>>;

    /// The call that started it no longer waits for it.
    fn moved(&self, task: TaskId) -> Boxed<'_, ()>;

    /// Tells it to end, in the name of the session's own model; returns when nothing of it runs.
    fn stop(&self, task: TaskId) -> Boxed<'_, ()>;

    /// Calls that somebody wants in the background.
    fn wishes(&self) -> watch::Receiver<Vec<ToolUseId>>;

    /// The session's tasks as they are on disk.
    fn tasks(&self) -> watch::Receiver<Arc<[Task]>>;

    /// What waits for this loop.
    fn waits(&self) -> watch::Receiver<Waits>;
}

/// Returns when somebody wants `call` in the background; never if nobody can any more. Cancel-safe.
pub async fn wished_away(host: &dyn TaskHost, call: &ToolUseId) {
    if host.wishes().wait_for(|wishes| wishes.contains(call)).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns the task when it has ended; `None` if there is none of that id. Cancel-safe.
pub async fn ended(host: &dyn TaskHost, task: TaskId) -> Option<Task> {
    let of = |tasks: &Arc<[Task]>| tasks.iter().find(|it| it.id() == task).cloned();
    let mut tasks = host.tasks();
    let over = tasks.wait_for(|tasks| of(tasks).is_none_or(|task| !task.is_running())).await.ok()?;
    of(&over)
}

/// The task of that id, or of that unique beginning of one.
///
/// # Errors
/// What to tell the model.
pub fn find(host: &dyn TaskHost, id: &str) -> Result<Task, String> {
    let tasks = host.tasks().borrow().clone();
    let found: Vec<&Task> = tasks.iter().filter(|task| !id.is_empty() && task.id().to_string().starts_with(id)).collect();
    match found.as_slice() {
        [task] => Ok((*task).clone()),
        [] => {
            let names: Vec<String> = tasks.iter().rev().take(8).map(|task| format!("{} ({})", task.id(), task.status())).collect();
            let there = if names.is_empty() { "there are none".to_owned() } else { format!("there are: {}", names.join(", ")) };
            Err(format!("There is no task `{id}`; {there}."))
        }
        several => Err(format!("`{id}` fits {} tasks; give more of it.", several.len())),
    }
}

/// For calls outside of any session: no task is started, nothing is wished, nothing waits.
#[derive(Default)]
pub struct NoTasks {
    wishes: watch::Sender<Vec<ToolUseId>>,
    tasks: watch::Sender<Arc<[Task]>>,
    waits: watch::Sender<Waits>,
}

impl TaskHost for NoTasks {
    fn start(&self, _wish: TaskWish, _work: Work) -> Boxed<'_, Result<TaskId, NotStarted>> {
        Box::pin(std::future::ready(Err(NotStarted::Ended)))
    }

    fn agent(&self, _wish: AgentWish) -> Boxed<'_, Result<Spawned, NotStarted>> {
        Box::pin(std::future::ready(Err(NotStarted::Ended)))
    }

    fn moved(&self, _task: TaskId) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn stop(&self, _task: TaskId) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn wishes(&self) -> watch::Receiver<Vec<ToolUseId>> {
        self.wishes.subscribe()
    }

    fn tasks(&self) -> watch::Receiver<Arc<[Task]>> {
        self.tasks.subscribe()
    }

    fn waits(&self) -> watch::Receiver<Waits> {
        self.waits.subscribe()
    }
}
