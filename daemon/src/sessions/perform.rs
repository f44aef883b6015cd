//! Effects performed: appended, published, started, answered. Each method is one effect; none decides.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agentd_core::queue::Waits;
use agentd_core::session::recover::stands;
use agentd_core::session::{AskOutcome, Effect, NotStarted, Outcome, Refusal, Standing, Start, StartFrom};
use agentd_types::permission::Decision;
use agentd_types::question::Reply;
use agentd_types::{Body, Event, MessageId, Money, Seq};
use tokio::sync::watch;

use super::actor::{Actor, Running, Unpublished};
use super::error::SessionError;
use super::inbox::{Line, News};
use super::load;
use super::request::{Interrupted, SubmitReceipt};
use super::waiting::Waiter;
use crate::engine::ledger::Durability;
use crate::engine::{Cancel, Conversation, QueryEngine, Surround};
use crate::permissions::asker::{Answer, Said};
use crate::store::{Batch, Level};
use crate::tools::host::Spawned;

impl Actor {
    pub(super) async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Append { events, durability } => self.append(&events, durability).await,
            Effect::Publish { upto } => self.publish(upto),
            Effect::Start(start) => self.start(start).await,
            Effect::Cancel { submission, reason, by } => {
                if let Some(running) = self.running.as_ref().filter(|running| running.submission == submission) {
                    running.cancel.cancel(reason, by);
                }
            }
            Effect::Answer { ticket, outcome } => {
                if let Some(waiter) = self.waiting.take(ticket) {
                    self.answer(waiter, outcome);
                }
            }
            Effect::Receipt { ticket, result } => {
                if let Some(Waiter::Append(reply)) = self.waiting.take(ticket) {
                    let _ = reply.send(result);
                }
            }
            Effect::Settle { ticket, outcome } => match self.waiting.take(ticket) {
                Some(Waiter::Ask(reply)) => drop(reply.send(as_answer(outcome))),
                Some(Waiter::AskPerson(reply)) => drop(reply.send(as_said(outcome))),
                Some(_) | None => {}
            },
            Effect::Leased { ticket, commands } => {
                if let Some(Waiter::Lease(reply)) = self.waiting.take(ticket) {
                    let _ = reply.send(commands);
                }
            }
            Effect::TaskStart { ticket, result } => {
                // Whoever started it may have gone: it is the session's now.
                match self.waiting.take(ticket) {
                    Some(Waiter::TaskStart { work, reply }) => {
                        if let Ok(task) = &result {
                            self.tasks.run(*task, work);
                        }
                        let _ = reply.send(result);
                    }
                    Some(Waiter::SpawnAgent { agent, work, reply }) => {
                        match &result {
                            Ok(task) => self.tasks.run(*task, work),
                            Err(_) => self.lanes.retain(|lane| lane.agent != agent),
                        }
                        let _ = reply.send(result.map(|task| Spawned::Started { task, agent }));
                    }
                    Some(_) | None => {}
                }
            }
            Effect::StopTask { task } => self.tasks.stop(task),
            Effect::MoveCall { tool_use } => self.wishes.send_modify(|wishes| wishes.push(tool_use)),
            Effect::Reload => {
                self.engine = None;
                let last = self.machine.committed().last_seq;
                self.unpublished.retain(|it| it.seq <= last);
            }
            Effect::Close => {
                // `system: deleted` is on disk: a failure here leaves it to the next start.
                self.shared.store.forget(self.id, Box::new(|_| {})).await;
                self.shared.kit.forget(self.id).await;
                self.closed = true;
            }
        }
    }

    /// One journal record. The commit thread tells by the unbounded line how far it has come.
    async fn append(&mut self, events: &[Arc<Event>], durability: Durability) {
        let (Some(first), Some(last)) = (events.first().map(|it| it.seq), events.last().map(|it| it.seq)) else { return };
        let encoded: Vec<bytes::Bytes> = events.iter().map(|event| self.shared.codec.event(event)).collect();
        self.unpublished.retain(|it| it.seq < first);
        let unpublished = events.iter().zip(&encoded).map(|(event, bytes)| Unpublished {
            seq: event.seq,
            bytes: bytes.clone(),
            ends: ended_message(event),
        });
        self.unpublished.extend(unpublished);
        // The conversation folds what the session says by itself; what the submission says it folds on its receipt.
        if let Some(engine) = &mut self.engine {
            events.iter().for_each(|event| engine.fold(event));
        }
        let level = match durability {
            Durability::Written => Level::Written,
            Durability::Synced => Level::Synced,
        };
        let commits = self.commits.clone();
        let waiter = Box::new(move |commit| {
            // A closed line: the session was unloaded, which it is only when nothing is on its way.
            let _ = commits.send((first, last, commit));
        });
        self.shared.store.append(Batch { session: self.id, first, events: encoded, level }, waiter).await;
    }

    /// These are on disk: subscribers see them, then learn how far it goes.
    fn publish(&mut self, upto: Seq) {
        while let Some(it) = self.unpublished.pop_front_if(|it| it.seq <= upto) {
            if let Some(message) = it.ends {
                self.in_progress.done(message);
            }
            self.publisher.event(it.seq, &it.bytes);
        }
        self.publisher.committed(upto);
        self.tell_news();
        let committed = self.machine.committed();
        self.info.send_replace(committed.info());
        if committed.allowed.len() != self.allowed.borrow().len() {
            self.allowed.send_replace(committed.allowed.clone());
        }
    }

    /// What loops are told without asking: tasks, and what waits for them.
    /// What waits comes first: who sees a task's end finds its note.
    fn tell_news(&self) {
        let waits = self.machine.waits(None);
        self.waits.send_if_modified(|before| std::mem::replace(before, waits) != waits);
        for lane in &self.lanes {
            let waits = self.machine.waits(Some(lane.agent));
            lane.waits.send_if_modified(|before| std::mem::replace(before, waits) != waits);
        }
        let committed = self.machine.committed();
        self.known_tasks.send_if_modified(|known| {
            let changed = **known != *committed.tasks;
            if changed {
                *known = committed.tasks.clone().into();
            }
            changed
        });
    }

    pub(super) fn news(&self, waits: watch::Receiver<Waits>) -> News {
        News { wishes: self.wishes.subscribe(), tasks: self.known_tasks.subscribe(), waits }
    }

    async fn start(&mut self, start: Start) {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.load_engine(&start).await,
        };
        // Wishes are about calls of the submission before.
        self.wishes.send_replace(Vec::new());
        let entropy = Arc::clone(&self.shared.kit.entropy);
        let line = Line::new(start.submission, None, entropy, self.inbox.clone(), self.news(self.waits.subscribe()));
        let committed = self.machine.committed();
        if committed.running_tasks().next().is_none() {
            // What is on disk counts: nobody else spends now.
            self.spent.store(committed.cost.0.saturating_add(unpaid(&start).0), Ordering::Relaxed);
        }
        let around = Surround {
            session: self.id,
            meta: Arc::clone(&committed.meta),
            allowed: self.allowed.subscribe(),
            ledger: Arc::clone(&line) as _,
            feed: Arc::clone(&line) as _,
            asker: Arc::clone(&line) as _,
            tasks: line,
            spent: Arc::clone(&self.spent),
        };
        let cancel = Cancel::default();
        let submission = start.submission;
        let task = tokio::spawn(engine.submit(start, around, cancel.clone()));
        self.running = Some(Running { submission, cancel, task });
    }

    /// Everything that is on disk, the prompt that starts this submission included.
    async fn load_engine(&self, start: &Start) -> QueryEngine {
        let (store, codec, id) = (self.shared.store.clone(), Arc::clone(&self.shared.codec), self.id);
        let loaded = tokio::task::spawn_blocking(move || load::conversation(&store, codec.as_ref(), id, Conversation::default())).await;
        let conversation = match loaded {
            Ok(Ok(conversation)) => conversation,
            Ok(Err(error)) => {
                tracing::error!(session = %self.id, submission = %start.submission, %error, "the conversation cannot be loaded");
                Conversation::default()
            }
            Err(error) => {
                tracing::error!(session = %self.id, %error, "loading the conversation ended unexpectedly");
                Conversation::default()
            }
        };
        QueryEngine::new(Arc::clone(&self.shared.kit), conversation)
    }
}

/// What a submission that is gone on with has used already.
fn unpaid(start: &Start) -> Money {
    match &start.from {
        StartFrom::Prompt => Money::ZERO,
        StartFrom::Reopen { loop_state, unpaid, .. } => stands(loop_state.as_ref().and_then(Standing::read), unpaid).spend.cost,
    }
}

/// The message in progress that an event ends.
fn ended_message(event: &Event) -> Option<MessageId> {
    match &event.body {
        Body::Assistant(message) => Some(message.message),
        Body::Tombstone { message, .. } => Some(*message),
        Body::User(_)
        | Body::Attachment(_)
        | Body::System(_)
        | Body::PermissionRequest(_)
        | Body::PermissionResolved(_)
        | Body::Question(_)
        | Body::Answer(_)
        | Body::Queue(_)
        | Body::Task(_)
        | Body::Result(_) => None,
    }
}

pub(super) fn answer(waiter: Waiter, outcome: Result<Outcome, Refusal>) {
    match (waiter, outcome) {
        (Waiter::Submit(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Accepted { command, seq } => Some(SubmitReceipt { command, seq }),
            _ => None,
        }),
        (Waiter::Interrupt(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Ended { submission, seq } => Some(Interrupted::Ended { submission, seq }),
            Outcome::AlreadyEnded { submission } => Some(Interrupted::AlreadyEnded { submission }),
            Outcome::NothingRunning => Some(Interrupted::NothingRunning),
            _ => None,
        }),
        (Waiter::Respond(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Resolved(resolved) => Some(*resolved),
            _ => None,
        }),
        (Waiter::Answer(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Answered(answered) => Some(*answered),
            _ => None,
        }),
        (Waiter::Update(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Info(info) => Some(*info),
            _ => None,
        }),
        (Waiter::Delete(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Deleted => Some(()),
            _ => None,
        }),
        (Waiter::Tasks(reply), outcome) => send(reply, outcome, |it| match it {
            Outcome::Tasks(tasks) => Some(tasks),
            _ => None,
        }),
        (Waiter::OwnStop(reply), _) => drop(reply.send(())),
        (Waiter::Told(reply), Ok(_)) => drop(reply.send(Ok(Spawned::Told))),
        (Waiter::Told(reply), Err(refusal)) => drop(reply.send(Err(NotStarted::Store(as_error(refusal).to_string())))),
        // The machine answers these with other effects.
        (
            Waiter::Append(_)
            | Waiter::Ask(_)
            | Waiter::AskPerson(_)
            | Waiter::Lease(_)
            | Waiter::TaskStart { .. }
            | Waiter::SpawnAgent { .. },
            _,
        ) => {}
    }
}

/// A wrong kind of outcome drops the reply: the caller sees that the session failed it. The machine never does that.
fn send<T>(reply: super::handle::Reply<T>, outcome: Result<Outcome, Refusal>, pick: impl FnOnce(Outcome) -> Option<T>) {
    let result = match outcome {
        Ok(outcome) => match pick(outcome) {
            Some(value) => Ok(value),
            None => return,
        },
        Err(refusal) => Err(as_error(refusal)),
    };
    // The client may have gone; what it asked for stands.
    let _ = reply.send(result);
}

fn as_error(refusal: Refusal) -> SessionError {
    match refusal {
        Refusal::QueueFull(bound) => SessionError::QueueFull { bound: bound.to_string() },
        Refusal::KeyReused { key } => SessionError::KeyReused { key },
        Refusal::NoSuchRequest { id } => SessionError::NoSuchRequest { id: id.to_string() },
        Refusal::AlreadyAnswered { resolved, at } => SessionError::AlreadyAnswered { resolved, at },
        Refusal::AlreadyReplied { answered, at } => SessionError::AlreadyReplied { answered, at },
        Refusal::BadChoice(bad) => SessionError::Invalid { field: "choices", why: bad.to_string() },
        Refusal::Precondition { state, why } => SessionError::Precondition { state, why },
        Refusal::NoSuchTask { id } => SessionError::NoSuchTask { id },
        Refusal::NotRunning { call } => SessionError::NotRunning { call },
        Refusal::Draining => SessionError::Draining,
        Refusal::Store(failure) => SessionError::Store(failure),
    }
}

fn as_said(outcome: AskOutcome) -> Said {
    match outcome {
        AskOutcome::Replied(replies) => Said::Answers(replies.into_iter().map(|answered| chosen(answered.reply)).collect()),
        AskOutcome::Open => Said::Open,
        AskOutcome::Denied { by } => {
            Said::Denied { message: format!("Nobody is asked in this run ({by}). Decide by yourself, and say how.") }
        }
        AskOutcome::Withdrawn | AskOutcome::Resolved(_) => Said::Withdrawn,
        AskOutcome::StoreFailed(failure) => Said::StoreFailed(failure),
    }
}

fn chosen(reply: Reply) -> Vec<String> {
    match reply {
        Reply::Chosen { choices } => choices,
        Reply::Withdrawn => Vec::new(),
    }
}

fn as_answer(outcome: AskOutcome) -> Answer {
    match outcome {
        AskOutcome::Open => Answer::Open,
        AskOutcome::Denied { by } => Answer::Denied { message: Some("nobody is asked in this run (--on-ask deny)".to_owned()), by },
        AskOutcome::Withdrawn | AskOutcome::Replied(_) => Answer::Withdrawn,
        AskOutcome::StoreFailed(failure) => Answer::StoreFailed(failure),
        AskOutcome::Resolved(resolved) => match resolved.decision {
            Decision::Allow { updated_input, .. } => Answer::Allowed { updated_input, by: resolved.by },
            Decision::Deny { message } => Answer::Denied { message, by: resolved.by },
            Decision::Withdrawn => Answer::Withdrawn,
        },
    }
}
