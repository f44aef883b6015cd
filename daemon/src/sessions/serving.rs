//! Calls of clients and messages of the submission, turned into the machine's events or answered at once.

use std::sync::Arc;

use agentd_core::session::{Event, NotStarted, TaskScope};
use agentd_types::live::{ClientInfo, Ephemeral, RunningTool, Snapshot};
use agentd_types::permission::PermissionRequest;
use agentd_types::question::{Asks, Question};
use agentd_types::queue::{Batching, CommandMode, OnAsk, Priority, QueuedCommand, RunOptions};
use agentd_types::task::{Task, TaskKind, TaskStart};
use agentd_types::{AgentId, Block, CommandId, Origin, RequestId, Seq, SubmissionId, TaskId, ToolUseId};
use tokio::sync::{oneshot, watch};

use super::actor::{Actor, LaneNews};
use super::error::SessionError;
use super::feed::{MAX_SUBSCRIBERS, Partials};
use super::handle::{Call, Reply};
use super::inbox::{FromSubmission, Line, Whose};
use super::request::{Page, PermissionRow, QuestionRow, ReadFrom, Submit, TaskPick, WatchedTask};
use super::spawner::{Before, Subagent};
use super::waiting::Waiter;
use crate::engine::Surround;
use crate::permissions::asker::Asked;
use crate::tools::host::{AgentWish, Spawned, Work};

/// Events a page of history holds at most.
const MAX_PAGE: u32 = 1_000;

impl Actor {
    pub(super) async fn call(&mut self, call: Call) {
        match call {
            Call::Submit { submit, reply } => {
                let command = self.as_command(submit);
                let ticket = self.waiting.add(Waiter::Submit(reply));
                self.step(Event::Submit { ticket, command }).await;
            }
            Call::Interrupt { submission, by, reply } => {
                let ticket = self.waiting.add(Waiter::Interrupt(reply));
                self.step(Event::Interrupt { ticket, submission, by }).await;
            }
            Call::Respond { respond, reply } => {
                let ticket = self.waiting.add(Waiter::Respond(reply));
                let (request, decision, by) = (respond.request, respond.decision, respond.by);
                self.step(Event::Respond { ticket, request, decision, by }).await;
            }
            Call::Answer { answer, reply } => {
                let ticket = self.waiting.add(Waiter::Answer(reply));
                let (question, choices, by) = (answer.question, answer.choices, answer.by);
                self.step(Event::Answer { ticket, question, choices, by }).await;
            }
            Call::Update { changes, by, reply } => {
                let ticket = self.waiting.add(Waiter::Update(reply));
                self.step(Event::Update { ticket, changes, by }).await;
            }
            Call::Tasks { reply } => tell(reply, Ok(self.machine.committed().tasks.clone())),
            Call::WatchTask { task, reply } => {
                let found = self.task_named(&task).map(|task| WatchedTask { task, tasks: self.known_tasks.subscribe() });
                tell(reply, found);
            }
            Call::StopTasks { pick, by, reply } => self.stop_tasks(pick, by, reply).await,
            Call::Background { tool_use, reply } => {
                let ticket = self.waiting.add(Waiter::Tasks(reply));
                self.step(Event::MoveCall { ticket, tool_use }).await;
            }
            Call::Delete { by, reply } => {
                let ticket = self.waiting.add(Waiter::Delete(reply));
                self.step(Event::Delete { ticket, by }).await;
            }
            Call::Queue { reply } => tell(reply, Ok(self.machine.committed().queue.commands().to_vec())),
            Call::Permissions { all, reply } => tell(reply, Ok(self.permission_rows(all))),
            Call::Questions { all, reply } => tell(reply, Ok(self.question_rows(all))),
            Call::Info { reply } => tell(reply, Ok(self.machine.committed().info())),
            Call::Snapshot { reply } => tell(reply, Ok(self.snapshot())),
            Call::Subscribe { from, partials, client, reply } => self.subscribe(from, partials, client, reply),
            Call::Read { from, limit, reply } => self.read(from, limit, reply),
        }
    }

    pub(super) async fn submission_said(&mut self, from: SubmissionId, message: FromSubmission) {
        match message {
            FromSubmission::Append { entries, durability, reply } => {
                let ticket = self.waiting.add(Waiter::Append(reply));
                self.step(Event::Handed { from, ticket, entries, durability }).await;
            }
            FromSubmission::Absorb { attachments, entries, reply } => {
                let ticket = self.waiting.add(Waiter::Append(reply));
                self.step(Event::Absorb { from, ticket, attachments, entries }).await;
            }
            FromSubmission::Ask { ask, reply } => {
                let (agent, on_ask) = self.asker(from);
                let request = PermissionRequest {
                    id: RequestId::from_u128(self.shared.kit.entropy.id()),
                    agent,
                    tool_use: ask.tool_use,
                    tool_name: ask.tool_name,
                    input: ask.input,
                    reason: ask.reason,
                    suggestions: ask.suggestions,
                    asked_at: self.shared.kit.clock.now(),
                };
                let ticket = self.waiting.add(Waiter::Ask(reply));
                self.step(Event::Asked { from, ticket, request, on_ask }).await;
            }
            FromSubmission::AskPerson { tool_use, questions, reply } => {
                let (agent, on_ask) = self.asker(from);
                let questions =
                    questions.into_iter().zip(0..).map(|(asked, place)| self.as_question(agent, &tool_use, place, asked)).collect();
                let ticket = self.waiting.add(Waiter::AskPerson(reply));
                self.step(Event::AskedPerson { from, ticket, questions, on_ask }).await;
            }
            FromSubmission::Lease { slept, reply } => {
                let ticket = self.waiting.add(Waiter::Lease(reply));
                self.step(Event::Lease { from, ticket, slept }).await;
            }
            FromSubmission::StartTask { start, lane, work, reply } => {
                let ticket = self.waiting.add(Waiter::TaskStart { work, reply });
                self.step(Event::TaskStarts { from, ticket, start, lane }).await;
            }
            FromSubmission::SpawnAgent { wish, reply } => self.spawn_agent(from, wish, reply).await,
            FromSubmission::TaskMoved { task } => self.step(Event::TaskMoved { from, task }).await,
            FromSubmission::StopTask { task, reply } => {
                let ticket = self.waiting.add(Waiter::OwnStop(reply));
                let by = Origin::Session { id: self.id };
                self.step(Event::StopTasks { ticket, scope: TaskScope::One(task), by }).await;
            }
            FromSubmission::Show(ephemeral) => self.show(from, &ephemeral),
        }
    }

    /// Whose loop asks, and what becomes of that. A subagent never parks: whoever gave it work waits for it.
    fn asker(&self, from: SubmissionId) -> (Option<AgentId>, OnAsk) {
        match (self.machine.lane(from).flatten(), self.machine.on_ask()) {
            (Some(agent), OnAsk::Park) => (Some(agent), OnAsk::Wait),
            (agent, on_ask) => (agent, on_ask),
        }
    }

    async fn spawn_agent(&mut self, from: SubmissionId, wish: AgentWish, reply: oneshot::Sender<Result<Spawned, NotStarted>>) {
        let committed = self.machine.committed();
        let known = wish.continues.and_then(|agent| committed.task_of(agent));
        let (agent, before) = match (wish.continues, known) {
            (Some(agent), Some(task)) if task.is_running() => return self.tell_agent(agent, wish.prompt, reply).await,
            (Some(agent), Some(_)) => (agent, Before::Itself),
            (Some(agent), None) => {
                let why = format!("there is no subagent {agent} in this session");
                return drop(reply.send(Err(NotStarted::Unknown(why))));
            }
            (None, _) => (AgentId::from_u128(self.shared.kit.entropy.id()), Before::Nothing),
        };
        let entropy = Arc::clone(&self.shared.kit.entropy);
        let (task, submission) = (TaskId::from_u128(entropy.id()), SubmissionId::from_u128(entropy.id()));
        let waits = watch::Sender::default();
        let whose = Whose { agent, parent: wish.tool_use.clone() };
        let line = Line::new(submission, Some(whose), entropy, self.inbox.clone(), self.news(waits.subscribe()));
        let output_file = self.shared.kit.folder_of(self.id).join("outputs").join(format!("{task}.md"));
        let around = Surround {
            session: self.id,
            meta: Arc::clone(&committed.meta),
            allowed: self.allowed.subscribe(),
            ledger: Arc::clone(&line) as _,
            feed: Arc::clone(&line) as _,
            asker: Arc::clone(&line) as _,
            tasks: Arc::clone(&line) as _,
            spent: Arc::clone(&self.spent),
        };
        let subagent = Subagent {
            shared: Arc::clone(&self.shared),
            session: self.id,
            agent,
            submission,
            kind: wish.kind,
            before,
            prompt: wish.prompt,
            model: wish.model,
            around,
            line,
            created_at: committed.created_at,
            output_file: output_file.clone(),
        };
        let start = TaskStart {
            id: task,
            kind: TaskKind::Agent,
            description: wish.description,
            tool_use: wish.tool_use,
            owner: self.machine.lane(from).flatten(),
            agent: Some(agent),
            placement: wish.placement,
            output_file,
        };
        self.lanes.push(LaneNews { task, agent, waits });
        let work: Work = Box::new(move |stop| Box::pin(subagent.work(stop)));
        let ticket = self.waiting.add(Waiter::SpawnAgent { agent, work, reply });
        self.step(Event::TaskStarts { from, ticket, start, lane: Some(submission) }).await;
    }

    /// It runs: the prompt waits for it between two of its rounds.
    async fn tell_agent(&mut self, agent: AgentId, prompt: String, reply: oneshot::Sender<Result<Spawned, NotStarted>>) {
        let submit = Submit {
            content: vec![Block::text(prompt)],
            priority: Priority::Next,
            mode: CommandMode::Prompt,
            origin: Origin::Session { id: self.id },
            idempotency_key: None,
            batching: Batching::Fold,
            options: RunOptions::default(),
        };
        let command = QueuedCommand { agent: Some(agent), ..self.as_command(submit) };
        let ticket = self.waiting.add(Waiter::Told(reply));
        self.step(Event::Submit { ticket, command }).await;
    }

    async fn stop_tasks(&mut self, pick: TaskPick, by: Origin, reply: Reply<Vec<Task>>) {
        let scope = match pick {
            TaskPick::All => TaskScope::All,
            TaskPick::One(id) => match self.task_named(&id) {
                Ok(task) => TaskScope::One(task.id()),
                Err(error) => return tell(reply, Err(error)),
            },
        };
        let ticket = self.waiting.add(Waiter::Tasks(reply));
        self.step(Event::StopTasks { ticket, scope, by }).await;
    }

    /// By id, or by its unique beginning.
    fn task_named(&self, id: &str) -> Result<Task, SessionError> {
        let committed = self.machine.committed();
        let mut found = committed.tasks.iter().filter(|task| !id.is_empty() && task.id().to_string().starts_with(id));
        match (found.next(), found.next()) {
            (Some(task), None) => Ok(task.clone()),
            (None, _) => Err(SessionError::NoSuchTask { id: id.to_owned() }),
            (Some(_), Some(_)) => {
                Err(SessionError::Invalid { field: "task_id", why: format!("`{id}` fits several tasks; give more of it") })
            }
        }
    }

    /// A delta of a submission that has ended is late: dropped.
    fn show(&mut self, from: SubmissionId, ephemeral: &Ephemeral) {
        if self.machine.lane(from).is_none() {
            return;
        }
        if let Ephemeral::Delta(delta) = ephemeral {
            self.in_progress.grow(delta);
        }
        if self.publisher.wants_deltas() {
            self.publisher.delta(&self.shared.codec.ephemeral(ephemeral));
        }
    }

    fn as_question(&self, agent: Option<AgentId>, tool_use: &ToolUseId, place: u32, asked: Asked) -> Question {
        Question {
            id: RequestId::from_u128(self.shared.kit.entropy.id()),
            agent,
            asks: Asks::Call { tool_use: tool_use.clone(), place },
            header: asked.header,
            question: asked.question,
            options: asked.options,
            multi_select: asked.multi_select,
            asked_at: self.shared.kit.clock.now(),
        }
    }

    fn as_command(&self, submit: Submit) -> QueuedCommand {
        QueuedCommand {
            id: CommandId::from_u128(self.shared.kit.entropy.id()),
            version: 1,
            mode: submit.mode,
            priority: submit.priority,
            content: submit.content,
            origin: submit.origin,
            agent: None,
            idempotency_key: submit.idempotency_key,
            batching: submit.batching,
            options: submit.options,
            enqueued_at: self.shared.kit.clock.now(),
        }
    }

    /// A projection of what is on disk, plus two live facts: who is attached, and the message in progress.
    pub(super) fn snapshot(&self) -> Snapshot {
        let committed = self.machine.committed();
        let running = committed.run.iter().flat_map(|run| &run.calls);
        let running_tools = running
            .filter_map(|call| {
                let started_at = call.started?;
                Some(RunningTool { tool_use: call.id.clone(), name: call.name.clone(), started_at })
            })
            .collect();
        Snapshot {
            seq: committed.last_seq,
            info: committed.info(),
            submission: committed.run.as_ref().map(|run| run.id),
            permissions: committed.open.clone(),
            questions: committed.questions.clone(),
            queue: committed.queue.commands().to_vec(),
            running_tools,
            tasks: committed.tasks.clone(),
            clients: self.publisher.clients(),
            in_progress: self.in_progress.so_far(),
        }
    }

    /// The snapshot is taken in the step that registers the subscriber.
    fn subscribe(&mut self, from: Option<Seq>, partials: bool, client: ClientInfo, reply: Reply<super::feed::Subscription>) {
        let last = self.machine.committed().last_seq;
        if let Some(from) = from.filter(|from| *from > last) {
            let why = format!("the session's last event is {last}, there is none after {from}");
            return tell(reply, Err(SessionError::Invalid { field: "from_seq", why }));
        }
        let partials = if partials { Partials::Wanted } else { Partials::Unwanted };
        let mut snapshot = self.snapshot();
        snapshot.clients.push(client.clone());
        let joined = self.publisher.join(snapshot, from, partials, client, self.history(), self.id);
        let bound = u32::try_from(MAX_SUBSCRIBERS).unwrap_or(u32::MAX);
        tell(reply, joined.map_err(|_| SessionError::TooManySubscribers { bound }));
    }

    /// Reads on a task of its own: a page of history must not hold up the session.
    fn read(&self, from: ReadFrom, limit: u32, reply: Reply<Page>) {
        let (history, session, last_seq) = (self.history(), self.id, self.machine.committed().last_seq);
        let limit = limit.clamp(1, MAX_PAGE);
        tokio::spawn(async move {
            let events = match from {
                ReadFrom::After(after) => history.after(session, after, limit).await,
                ReadFrom::Before(before) => history.before(session, before, limit).await,
            };
            let page = events.map(|events| Page { events: events.into(), last_seq });
            let unreadable =
                || agentd_core::query::StoreFailure { reason: "the history cannot be read; the daemon's log says why".to_owned() };
            tell(reply, page.ok_or_else(|| SessionError::Store(unreadable())));
        });
    }

    fn question_rows(&self, all: bool) -> Vec<QuestionRow> {
        let committed = self.machine.committed();
        let open = committed.questions.iter().map(|question| QuestionRow { question: question.clone(), answered: None });
        if !all {
            return open.collect();
        }
        let replied = committed
            .replied
            .iter()
            .map(|(question, answered, at)| QuestionRow { question: question.clone(), answered: Some((answered.clone(), *at)) });
        replied.chain(open).collect()
    }

    fn permission_rows(&self, all: bool) -> Vec<PermissionRow> {
        let committed = self.machine.committed();
        let open = committed.open.iter().map(|request| PermissionRow { request: request.clone(), resolved: None });
        if !all {
            return open.collect();
        }
        let answered = committed
            .answered
            .iter()
            .map(|(request, resolved, at)| PermissionRow { request: request.clone(), resolved: Some((resolved.clone(), *at)) });
        answered.chain(open).collect()
    }
}

/// The caller may have gone.
fn tell<T>(reply: Reply<T>, result: Result<T, SessionError>) {
    let _ = reply.send(result);
}
