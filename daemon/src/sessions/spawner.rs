//! Subagents: another loop over the same engine, with its own context, in the same session. It appends what it says through the
//! session's actor like every loop, and owns nothing of the session.

use std::sync::Arc;

use agentd_core::prompt::{AgentKind, Tools};
use agentd_core::queue::{Slept, Waits};
use agentd_core::session::{Start, StartFrom, TaskEnd as How};
use agentd_types::event::{UserKind, UserMessage};
use agentd_types::outcome::TerminalName;
use agentd_types::queue::RunOptions;
use agentd_types::session::SessionMeta;
use agentd_types::system::InterruptReason;
use agentd_types::task::{Task, TaskEnd, TaskOutcome};
use agentd_types::{AbsPath, AgentId, Block, Body, Entry, MessageId, SessionId, SubmissionId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::actor::Shared;
use super::inbox::Line;
use super::load;
use crate::engine::ledger::{Durability, Ledger};
use crate::engine::{Cancel, Conversation, Kit, QueryEngine, Surround};
use crate::tools::host::TaskHost;

/// The engine's equipment for each kind of subagent.
pub struct Roles(Vec<(AgentKind, Arc<Kit>)>);

impl Roles {
    /// As the main loop's, with the tools each kind has.
    #[must_use]
    pub fn of(kit: &Kit) -> Roles {
        let with = |kind: AgentKind| {
            let tools = match kind.tools() {
                Tools::All => kit.tools.clone(),
                Tools::Only(names) => kit.tools.only(names),
            };
            (kind, Arc::new(kit.with_tools(tools)))
        };
        Roles(AgentKind::ALL.map(with).to_vec())
    }

    fn kit(&self, kind: AgentKind, main: &Arc<Kit>) -> Arc<Kit> {
        self.0.iter().find(|(it, _)| *it == kind).map_or_else(|| Arc::clone(main), |(_, kit)| Arc::clone(kit))
    }
}

/// Whether it knows something already.
pub(super) enum Before {
    Nothing,
    /// It goes on: its own events are read back.
    Itself,
}

/// A subagent about to work.
pub(super) struct Subagent {
    pub shared: Arc<Shared>,
    pub session: SessionId,
    pub agent: AgentId,
    pub submission: SubmissionId,
    pub kind: AgentKind,
    pub before: Before,
    pub prompt: String,
    pub model: Option<String>,
    pub around: Surround,
    pub line: Arc<Line>,
    pub created_at: agentd_types::Timestamp,
    /// Its report goes there.
    pub output_file: AbsPath,
}

/// Why it goes round once more, or does not.
enum Next {
    /// Something of its own has happened: notes of its tasks, prompts for it.
    Again,
    Done,
    Stopped,
}

impl Subagent {
    /// Its work: until it has reported, is told to end, or fails. What it started itself and still runs keeps it waiting.
    pub(super) async fn work(mut self, stop: CancellationToken) -> TaskEnd {
        let kit = self.shared.roles.kit(self.kind, &self.shared.kit);
        let mut engine = match self.conversation().await {
            Ok(conversation) => QueryEngine::new(Arc::clone(&kit), conversation),
            Err(why) => return failed(why),
        };
        self.around.meta = Arc::new(self.meta());
        if let Err(why) = self.say_prompt(&kit, &mut engine).await {
            return failed(why);
        }
        let cancel = Cancel::default();
        let mut total = TaskEnd::of(TaskOutcome::Completed);
        loop {
            let (back, how) = self.drive(engine, &kit, &cancel, &stop).await;
            engine = back;
            let Some(result) = engine.last_result().cloned() else {
                let why = match how {
                    How::Failed(failure) => failure.reason,
                    How::Panicked(why) => why,
                    How::Stopped | How::Parked => "it was cut short".to_owned(),
                };
                return TaskEnd { summary: why, outcome: TaskOutcome::Failed, ..total };
            };
            total.usage += result.usage;
            total.cost += result.cost;
            total.summary = if result.terminal == TerminalName::Completed { result.text } else { worded(&result.detail, &result.text) };
            total.outcome = match (stop.is_cancelled(), result.terminal) {
                (true, _) => TaskOutcome::Killed,
                (false, TerminalName::Completed) => TaskOutcome::Completed,
                (false, _) => TaskOutcome::Failed,
            };
            if total.outcome != TaskOutcome::Completed {
                break;
            }
            match self.next(&kit, &mut engine, &stop).await {
                Next::Again => {}
                Next::Done => break,
                Next::Stopped => {
                    total.outcome = TaskOutcome::Killed;
                    break;
                }
            }
        }
        self.keep_report(&total.summary).await;
        total
    }

    /// One submission of it.
    async fn drive(&self, engine: QueryEngine, kit: &Kit, cancel: &Cancel, stop: &CancellationToken) -> (QueryEngine, How) {
        let start = Start {
            submission: self.submission,
            options: RunOptions::default(),
            commands: Vec::new(),
            started_at: kit.clock.now(),
            from: StartFrom::Prompt,
        };
        let driven = engine.submit(start, self.around.clone(), cancel.clone());
        tokio::pin!(driven);
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                // No person spoke to this loop: no marker.
                cancel.cancel(InterruptReason::Interrupt, None);
                driven.await
            }
            done = &mut driven => done,
        }
    }

    /// Waits for what it started itself; what came meanwhile is taken in.
    async fn next(&self, kit: &Kit, engine: &mut QueryEngine, stop: &CancellationToken) -> Next {
        let (mut waits, mut tasks) = (self.line.waits(), self.line.tasks());
        loop {
            // In this order: an end's note is there before the end is.
            let (busy, news) = (self.is_busy(&mut tasks), is_news(&mut waits));
            match (news, busy) {
                (true, _) => break,
                (false, false) => return Next::Done,
                (false, true) => tokio::select! {
                    () = stop.cancelled() => return Next::Stopped,
                    Ok(()) = waits.changed() => {}
                    Ok(()) = tasks.changed() => {}
                },
            }
        }
        let leased = self.line.lease(Slept::Yes).await;
        if leased.is_empty() {
            return Next::Done;
        }
        let messages = leased.iter().map(|_| MessageId::from_u128(kit.entropy.id())).collect();
        match self.line.absorb(messages, Vec::new()).await {
            Ok(receipt) => {
                receipt.iter().for_each(|event| engine.fold(event));
                Next::Again
            }
            Err(_) => Next::Done,
        }
    }

    fn is_busy(&self, tasks: &mut watch::Receiver<Arc<[Task]>>) -> bool {
        tasks.borrow_and_update().iter().any(|task| task.is_running() && task.start.owner == Some(self.agent))
    }

    async fn conversation(&self) -> Result<Conversation, String> {
        match self.before {
            Before::Nothing => Ok(Conversation::of_agent(self.agent, self.created_at)),
            Before::Itself => {
                let (store, codec) = (self.shared.store.clone(), Arc::clone(&self.shared.codec));
                let (session, agent, created_at) = (self.session, self.agent, self.created_at);
                let empty = Conversation::of_agent(agent, created_at);
                let read = move || load::conversation(&store, codec.as_ref(), session, empty);
                let read = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?;
                read.map_err(|error| format!("what it said before cannot be read: {error}"))
            }
        }
    }

    /// The session's settings, as this kind of subagent has them.
    fn meta(&self) -> SessionMeta {
        let meta = &self.around.meta;
        let told = self.kind.told();
        let append = meta.append_system_prompt.as_ref().map_or_else(|| told.to_owned(), |text| format!("{told}\n\n{text}"));
        SessionMeta {
            model: self.model.clone().unwrap_or_else(|| meta.model.clone()),
            append_system_prompt: Some(append),
            ..(**meta).clone()
        }
    }

    async fn say_prompt(&self, kit: &Kit, engine: &mut QueryEngine) -> Result<(), String> {
        let prompt = UserMessage {
            message: MessageId::from_u128(kit.entropy.id()),
            kind: UserKind::Prompt,
            content: vec![Block::text(self.prompt.clone())],
            commands: Vec::new(),
        };
        let entry = Entry::of(self.submission, Body::User(prompt));
        let receipt = self.line.append(vec![entry], Durability::Synced).await.map_err(|failure| failure.reason)?;
        receipt.iter().for_each(|event| engine.fold(event));
        Ok(())
    }

    /// For whoever reads the task's output; the log has it anyway.
    async fn keep_report(&self, report: &str) {
        let write = async {
            if let Some(folder) = self.output_file.parent() {
                tokio::fs::create_dir_all(folder.as_path()).await?;
            }
            tokio::fs::write(self.output_file.as_path(), report).await
        };
        if let Err(error) = write.await {
            tracing::warn!(file = %self.output_file, %error, "a subagent's report could not be kept in its file");
        }
    }
}

fn is_news(waits: &mut watch::Receiver<Waits>) -> bool {
    let waits = *waits.borrow_and_update();
    waits.noted || waits.typed
}

fn worded(detail: &str, text: &str) -> String {
    match (detail.is_empty(), text.is_empty()) {
        (true, _) => text.to_owned(),
        (false, true) => detail.to_owned(),
        (false, false) => format!("{detail}\n\n{text}"),
    }
}

fn failed(why: String) -> TaskEnd {
    TaskEnd { summary: why, ..TaskEnd::of(TaskOutcome::Failed) }
}
