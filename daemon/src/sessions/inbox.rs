//! The running submission's line to its session's actor: ledger, questions, deltas. It never touches the session's state.

use std::pin::Pin;
use std::sync::Arc;

use agentd_core::query::StoreFailure;
use agentd_core::queue::{Slept, Waits};
use agentd_core::session::NotStarted;
use agentd_types::event::ToolProgress;
use agentd_types::live::{Delta, Ephemeral};
use agentd_types::queue::QueuedCommand;
use agentd_types::task::{Task, TaskStart};
use agentd_types::{AgentId, Block, Body, Entry, MessageId, SubmissionId, TaskId, ToolUseId};
use std::sync::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use crate::engine::ledger::{Durability, Feed, Ledger, Pending, Receipt};
use crate::entropy::Entropy;
use crate::permissions::asker::{Answer, Ask, Asked, Asker, Said};
use crate::tools::host::{AgentWish, Spawned, TaskHost, TaskWish, Work};
use crate::tools::tool::Boxed;

/// Messages of one submission on their way to the actor.
pub const INBOX: usize = 1_024;
/// Characters of a call's input that progress shows.
const SHOWN: usize = 200;

/// What a submission sends.
pub(super) enum FromSubmission {
    Append { entries: Vec<Entry>, durability: Durability, reply: oneshot::Sender<Result<Receipt, StoreFailure>> },
    Ask { ask: Ask, reply: oneshot::Sender<Answer> },
    AskPerson { tool_use: ToolUseId, questions: Vec<Asked>, reply: oneshot::Sender<Said> },
    Lease { slept: Slept, reply: oneshot::Sender<Vec<QueuedCommand>> },
    Absorb { attachments: Vec<MessageId>, entries: Vec<Entry>, reply: oneshot::Sender<Result<Receipt, StoreFailure>> },
    StartTask { start: TaskStart, lane: Option<SubmissionId>, work: Work, reply: oneshot::Sender<Result<TaskId, NotStarted>> },
    SpawnAgent { wish: AgentWish, reply: oneshot::Sender<Result<Spawned, NotStarted>> },
    TaskMoved { task: TaskId },
    StopTask { task: TaskId, reply: oneshot::Sender<()> },
    Show(Ephemeral),
}

/// A subagent, and the call that started it.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    pub agent: AgentId,
    pub parent: ToolUseId,
}

/// What the actor tells its loops without being asked.
#[derive(Clone)]
pub(super) struct News {
    /// Calls that somebody wants in the background.
    pub wishes: watch::Receiver<Vec<ToolUseId>>,
    pub tasks: watch::Receiver<Arc<[Task]>>,
    pub waits: watch::Receiver<Waits>,
}

/// One submission's line. Everything it sends keeps its order.
pub(super) struct Line {
    submission: SubmissionId,
    /// Whose loop it is; absent = the main one.
    whose: Option<Whose>,
    entropy: Arc<dyn Entropy>,
    to: mpsc::Sender<(SubmissionId, FromSubmission)>,
    news: News,
    /// A delta that found the inbox full waits here and grows; held for a push only.
    waiting: Mutex<Option<Delta>>,
}

impl Line {
    pub(super) fn new(
        submission: SubmissionId,
        whose: Option<Whose>,
        entropy: Arc<dyn Entropy>,
        to: mpsc::Sender<(SubmissionId, FromSubmission)>,
        news: News,
    ) -> Arc<Line> {
        Arc::new(Line { submission, whose, entropy, to, news, waiting: Mutex::new(None) })
    }

    /// Entries as this loop's: a subagent's are marked.
    fn own(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        if let Some(Whose { agent, parent }) = &self.whose {
            for entry in &mut entries {
                entry.agent = Some(*agent);
                entry.parent_tool_use = Some(parent.clone());
            }
            self.tell_calls(&entries, parent);
        }
        entries
    }

    /// Whoever waits for a subagent sees what it does.
    fn tell_calls(&self, entries: &[Entry], parent: &ToolUseId) {
        for entry in entries {
            let Body::Assistant(message) = &entry.body else { continue };
            for block in &message.content {
                if let Block::ToolUse { name, input, .. } = block {
                    let input: String = input.as_str().chars().take(SHOWN).collect();
                    let progress = ToolProgress { tool_use: parent.clone(), text: format!("→ {name} {input}\n") };
                    let told = FromSubmission::Show(Ephemeral::Progress(progress));
                    // Seen now or never.
                    let _ = self.to.try_send((self.submission, told));
                }
            }
        }
    }

    async fn send(&self, message: FromSubmission) -> Result<(), StoreFailure> {
        let waiting = self.waiting.lock().ok().and_then(|mut waiting| waiting.take());
        if let Some(delta) = waiting {
            self.to.send((self.submission, FromSubmission::Show(Ephemeral::Delta(delta)))).await.map_err(|_| gone())?;
        }
        self.to.send((self.submission, message)).await.map_err(|_| gone())
    }
}

fn gone() -> StoreFailure {
    StoreFailure { reason: "the session has ended".to_owned() }
}

impl Ledger for Line {
    fn append(&self, entries: Vec<Entry>, durability: Durability) -> Pending<'_, Result<Receipt, StoreFailure>> {
        Box::pin(async move {
            let entries = self.own(entries);
            let (reply, receipt) = oneshot::channel();
            self.send(FromSubmission::Append { entries, durability, reply }).await?;
            receipt.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    fn lease(&self, slept: Slept) -> Pending<'_, Vec<QueuedCommand>> {
        Box::pin(async move {
            let (reply, leased) = oneshot::channel();
            match self.send(FromSubmission::Lease { slept, reply }).await {
                Ok(()) => leased.await.unwrap_or_default(),
                Err(_) => Vec::new(),
            }
        })
    }

    fn absorb(&self, attachments: Vec<MessageId>, entries: Vec<Entry>) -> Pending<'_, Result<Receipt, StoreFailure>> {
        Box::pin(async move {
            let entries = self.own(entries);
            let (reply, receipt) = oneshot::channel();
            self.send(FromSubmission::Absorb { attachments, entries, reply }).await?;
            receipt.await.unwrap_or_else(|_| Err(gone()))
        })
    }
}

impl Asker for Line {
    fn ask(&self, ask: Ask) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            match self.send(FromSubmission::Ask { ask, reply }).await {
                Ok(()) => answer.await.unwrap_or(Answer::Withdrawn),
                Err(failure) => Answer::StoreFailed(failure),
            }
        })
    }

    fn ask_person(&self, tool_use: ToolUseId, questions: Vec<Asked>) -> Pin<Box<dyn Future<Output = Said> + Send + '_>> {
        Box::pin(async move {
            let (reply, said) = oneshot::channel();
            match self.send(FromSubmission::AskPerson { tool_use, questions, reply }).await {
                Ok(()) => said.await.unwrap_or(Said::Withdrawn),
                Err(failure) => Said::StoreFailed(failure),
            }
        })
    }
}

impl TaskHost for Line {
    fn start(&self, wish: TaskWish, work: Work) -> Boxed<'_, Result<TaskId, NotStarted>> {
        Box::pin(async move {
            let TaskWish { kind, description, tool_use, placement, output_file, lane } = wish;
            let id = TaskId::from_u128(self.entropy.id());
            let agent = lane.map(|(agent, _)| agent);
            let start = TaskStart {
                id,
                kind,
                description,
                tool_use,
                owner: self.whose.as_ref().map(|whose| whose.agent),
                agent,
                placement,
                output_file,
            };
            let lane = lane.map(|(_, submission)| submission);
            let (reply, started) = oneshot::channel();
            self.send(FromSubmission::StartTask { start, lane, work, reply }).await.map_err(|_| NotStarted::Ended)?;
            started.await.unwrap_or(Err(NotStarted::Ended))
        })
    }

    fn agent(&self, wish: AgentWish) -> Boxed<'_, Result<Spawned, NotStarted>> {
        Box::pin(async move {
            let (reply, spawned) = oneshot::channel();
            self.send(FromSubmission::SpawnAgent { wish, reply }).await.map_err(|_| NotStarted::Ended)?;
            spawned.await.unwrap_or(Err(NotStarted::Ended))
        })
    }

    fn moved(&self, task: TaskId) -> Boxed<'_, ()> {
        Box::pin(async move {
            // A session that has ended ends its tasks too.
            let _ = self.send(FromSubmission::TaskMoved { task }).await;
        })
    }

    fn stop(&self, task: TaskId) -> Boxed<'_, ()> {
        Box::pin(async move {
            let (reply, stopped) = oneshot::channel();
            if self.send(FromSubmission::StopTask { task, reply }).await.is_ok() {
                let _ = stopped.await;
            }
        })
    }

    fn wishes(&self) -> watch::Receiver<Vec<ToolUseId>> {
        self.news.wishes.clone()
    }

    fn tasks(&self) -> watch::Receiver<Arc<[Task]>> {
        self.news.tasks.clone()
    }

    fn waits(&self) -> watch::Receiver<Waits> {
        self.news.waits.clone()
    }
}

impl Feed for Line {
    fn show(&self, ephemeral: Ephemeral) {
        if self.whose.is_some() {
            // What it says is its report's; what it does is told with its calls.
            return;
        }
        let Ok(mut waiting) = self.waiting.lock() else { return };
        let next = match (waiting.take(), ephemeral) {
            // Merged while the actor was busy: one longer delta instead of two.
            (Some(mut before), Ephemeral::Delta(delta)) if continues(&before, &delta) => {
                before.text.push_str(&delta.text);
                Ephemeral::Delta(before)
            }
            (Some(before), ephemeral) => {
                // What does not continue it must not overtake it.
                if let Err(mpsc::error::TrySendError::Full(_)) =
                    self.to.try_send((self.submission, FromSubmission::Show(Ephemeral::Delta(before.clone()))))
                {
                    *waiting = Some(before);
                    return;
                }
                ephemeral
            }
            (None, ephemeral) => ephemeral,
        };
        if let Err(mpsc::error::TrySendError::Full((_, FromSubmission::Show(Ephemeral::Delta(delta))))) =
            self.to.try_send((self.submission, FromSubmission::Show(next)))
        {
            *waiting = Some(delta);
        }
    }
}

fn continues(before: &Delta, delta: &Delta) -> bool {
    before.message == delta.message
        && before.block == delta.block
        && before.kind == delta.kind
        && before.offset + before.text.len() as u64 == delta.offset
}
