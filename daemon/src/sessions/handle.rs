//! A session's handle: a cheap clone that sends messages to the actor. It holds no state of the session.

use agentd_types::live::{ClientInfo, Snapshot};
use agentd_types::permission::PermissionResolved;
use agentd_types::question::Answered;
use agentd_types::queue::QueuedCommand;
use agentd_types::session::SessionInfo;
use agentd_types::system::SessionChanges;
use agentd_types::task::Task;
use agentd_types::{Origin, Seq, SessionId, SubmissionId, ToolUseId};
use tokio::sync::{mpsc, oneshot};

use super::error::SessionError;
use super::feed::Subscription;
use super::request::{
    AnswerQuestion, Interrupted, Page, PermissionRow, QuestionRow, ReadFrom, Respond, Submit, SubmitReceipt, TaskPick, WatchedTask,
};

/// The answer to one call.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// What reaches a session from clients.
pub(crate) enum Call {
    Submit { submit: Submit, reply: Reply<SubmitReceipt> },
    Queue { reply: Reply<Vec<QueuedCommand>> },
    Interrupt { submission: Option<SubmissionId>, by: Origin, reply: Reply<Interrupted> },
    Respond { respond: Respond, reply: Reply<PermissionResolved> },
    Permissions { all: bool, reply: Reply<Vec<PermissionRow>> },
    Answer { answer: AnswerQuestion, reply: Reply<Answered> },
    Questions { all: bool, reply: Reply<Vec<QuestionRow>> },
    Info { reply: Reply<SessionInfo> },
    Snapshot { reply: Reply<Snapshot> },
    Update { changes: SessionChanges, by: Origin, reply: Reply<SessionInfo> },
    Tasks { reply: Reply<Vec<Task>> },
    WatchTask { task: String, reply: Reply<WatchedTask> },
    StopTasks { pick: TaskPick, by: Origin, reply: Reply<Vec<Task>> },
    Background { tool_use: ToolUseId, reply: Reply<Vec<Task>> },
    Delete { by: Origin, reply: Reply<()> },
    Subscribe { from: Option<Seq>, partials: bool, client: ClientInfo, reply: Reply<Subscription> },
    Read { from: ReadFrom, limit: u32, reply: Reply<Page> },
}

/// One session, loaded.
#[derive(Clone)]
pub struct SessionHandle {
    id: SessionId,
    calls: mpsc::Sender<Call>,
}

impl SessionHandle {
    pub(crate) fn new(id: SessionId, calls: mpsc::Sender<Call>) -> Self {
        Self { id, calls }
    }

    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Whether the actor behind it has ended.
    #[must_use]
    pub(crate) fn is_gone(&self) -> bool {
        self.calls.is_closed()
    }

    /// Whether nobody else holds one.
    #[must_use]
    pub(crate) fn is_only_one(&self) -> bool {
        self.calls.strong_count() == 1
    }

    async fn ask<T>(&self, call: impl FnOnce(Reply<T>) -> Call) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(call(reply)).await.map_err(|_| SessionError::Gone)?;
        answer.await.map_err(|_| SessionError::Gone)?
    }

    /// Enqueues; returns after the command is durable.
    pub async fn submit(&self, submit: Submit) -> Result<SubmitReceipt, SessionError> {
        self.ask(|reply| Call::Submit { submit, reply }).await
    }

    /// Queued commands in order of delivery.
    pub async fn queue(&self) -> Result<Vec<QueuedCommand>, SessionError> {
        self.ask(|reply| Call::Queue { reply }).await
    }

    /// A user cancel of `submission`, or of the one that runs. Returns when it has ended.
    pub async fn interrupt(&self, submission: Option<SubmissionId>, by: Origin) -> Result<Interrupted, SessionError> {
        self.ask(|reply| Call::Interrupt { submission, by, reply }).await
    }

    /// Answers a permission request; the first answer wins.
    pub async fn respond(&self, respond: Respond) -> Result<PermissionResolved, SessionError> {
        self.ask(|reply| Call::Respond { respond, reply }).await
    }

    /// Open permission requests, or all of this session's.
    pub async fn permissions(&self, all: bool) -> Result<Vec<PermissionRow>, SessionError> {
        self.ask(|reply| Call::Permissions { all, reply }).await
    }

    /// Answers a question; the first answer wins.
    pub async fn answer(&self, answer: AnswerQuestion) -> Result<Answered, SessionError> {
        self.ask(|reply| Call::Answer { answer, reply }).await
    }

    /// Open questions, or all of this session's.
    pub async fn questions(&self, all: bool) -> Result<Vec<QuestionRow>, SessionError> {
        self.ask(|reply| Call::Questions { all, reply }).await
    }

    pub async fn info(&self) -> Result<SessionInfo, SessionError> {
        self.ask(|reply| Call::Info { reply }).await
    }

    pub async fn snapshot(&self) -> Result<Snapshot, SessionError> {
        self.ask(|reply| Call::Snapshot { reply }).await
    }

    pub async fn update(&self, changes: SessionChanges, by: Origin) -> Result<SessionInfo, SessionError> {
        self.ask(|reply| Call::Update { changes, by, reply }).await
    }

    /// Those that run, and the newest that ended; oldest first.
    pub async fn tasks(&self) -> Result<Vec<Task>, SessionError> {
        self.ask(|reply| Call::Tasks { reply }).await
    }

    /// One of them, and how they go on.
    pub async fn watch_task(&self, task: String) -> Result<WatchedTask, SessionError> {
        self.ask(|reply| Call::WatchTask { task, reply }).await
    }

    /// Ends tasks; returns them when nothing of them runs any more.
    pub async fn stop_tasks(&self, pick: TaskPick, by: Origin) -> Result<Vec<Task>, SessionError> {
        self.ask(|reply| Call::StopTasks { pick, by, reply }).await
    }

    /// A running call goes on in the background; the task it is.
    pub async fn move_call(&self, tool_use: ToolUseId) -> Result<Vec<Task>, SessionError> {
        self.ask(|reply| Call::Background { tool_use, reply }).await
    }

    /// Ends what runs, then deletes.
    pub async fn delete(&self, by: Origin) -> Result<(), SessionError> {
        self.ask(|reply| Call::Delete { by, reply }).await
    }

    /// Attaches: a snapshot, history after `from`, then what is new. See `feed::Subscription`.
    pub async fn subscribe(&self, from: Option<Seq>, partials: bool, client: ClientInfo) -> Result<Subscription, SessionError> {
        self.ask(|reply| Call::Subscribe { from, partials, client, reply }).await
    }

    /// A page of at most `limit` events.
    pub async fn read(&self, from: ReadFrom, limit: u32) -> Result<Page, SessionError> {
        self.ask(|reply| Call::Read { from, limit, reply }).await
    }
}
