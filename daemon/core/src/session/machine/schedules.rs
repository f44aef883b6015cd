//! Any schedule of clients, submission, disk and crashes: what a session promises holds. The submission is a small model.

use std::collections::{BTreeMap, BTreeSet};

use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::permission::{AllowScope, Decision};
use agentd_types::question::{Asks, Choice, Question};
use agentd_types::queue::{OnAsk, Priority, QueueChange};
use agentd_types::system::{System, ToolStarted};
use agentd_types::task::{TaskChange, TaskEnd as End, TaskOutcome};
use agentd_types::{
    Block, Body, CommandId, Entry, Event as Numbered, Json, MessageId, Money, RequestId, SubmissionId, TaskId, Timestamp, ToolUseId, Usage,
};
use proptest::prelude::*;

use super::super::effect::{AskOutcome, Effect, Outcome, Start, StartFrom};
use super::super::event::{Durability, Event, TaskEnd, TaskScope, Ticket};
use super::super::fold::Projection;
use super::super::phase::Phase;
use super::world::{World, person};
use crate::query::StoreFailure;
use crate::queue::Slept;

/// One step of the world.
#[derive(Debug, Clone, Copy)]
enum Op {
    Submit(Priority),
    Interrupt,
    Respond,
    /// The oldest question is answered by one of its options.
    Answer(u8),
    Delete,
    /// The submission does its next thing; which one is drawn from the number.
    Work(u8),
    Panic,
    /// The submission puts a command into the background.
    TaskStart,
    /// The oldest task ends; well, or badly.
    TaskOver(u8),
    /// A person ends the newest task.
    TaskStop,
    Sync,
    Fail,
    Kill,
}

/// What the submission waits for, or does not.
#[derive(Debug)]
struct Task {
    id: SubmissionId,
    calls: Vec<ToolUseId>,
    /// The first of them runs.
    started: bool,
    waits: Option<Ticket>,
    cancelled: bool,
    failed: bool,
    /// Its last record is in: only the end is to be told.
    last: Option<TaskEnd>,
}

struct Play {
    world: World,
    task: Option<Task>,
    /// Tickets without an answer.
    open: BTreeSet<u64>,
    tickets: u64,
    /// Tasks whose work runs, and whether it was told to end.
    works: BTreeMap<TaskId, bool>,
    accepted: BTreeMap<u64, CommandId>,
    /// Acknowledged: never lost again.
    promised: BTreeSet<CommandId>,
    read: usize,
    deleted: bool,
}

impl Play {
    fn new() -> Play {
        Play {
            world: World::new(),
            task: None,
            open: BTreeSet::new(),
            tickets: 0,
            works: BTreeMap::new(),
            accepted: BTreeMap::new(),
            promised: BTreeSet::new(),
            read: 0,
            deleted: false,
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.open.insert(self.tickets);
        Ticket(self.tickets)
    }

    fn play(&mut self, op: Op) {
        match op {
            Op::Submit(priority) => {
                let ticket = self.ticket();
                let command = self.world.command(priority, "do it");
                self.accepted.insert(ticket.0, command.id);
                self.world.apply(Event::Submit { ticket, command });
            }
            Op::Interrupt => {
                let ticket = self.ticket();
                self.world.apply(Event::Interrupt { ticket, submission: None, by: person() });
            }
            Op::Respond => {
                let Some(request) = self.world.machine.committed().open.first().map(|open| open.id) else { return };
                let ticket = self.ticket();
                let decision = Decision::Allow { scope: AllowScope::Once, updated_input: None };
                self.world.apply(Event::Respond { ticket, request, decision, by: person() });
            }
            Op::Answer(option) => {
                let Some(question) = self.world.machine.committed().questions.first().map(|question| question.id) else { return };
                let ticket = self.ticket();
                let choices = vec![(option % 2 + 1).to_string()];
                self.world.apply(Event::Answer { ticket, question, choices, by: person() });
            }
            Op::Delete => {
                let ticket = self.ticket();
                self.world.apply(Event::Delete { ticket, by: person() });
            }
            Op::Work(pick) => self.work(pick),
            Op::Panic => {
                if let Some(task) = self.task.take() {
                    task.waits.iter().for_each(|ticket| assert!(self.open.remove(&ticket.0)));
                    self.world.apply(Event::Ended { from: task.id, how: TaskEnd::Panicked("test".to_owned()) });
                }
            }
            Op::TaskStart => {
                let Some(task) = self.task.as_ref().filter(|task| task.waits.is_none() && !task.failed && task.last.is_none()) else {
                    return;
                };
                let from = task.id;
                let ticket = self.ticket();
                self.world.task(from, ticket.0, "call");
            }
            Op::TaskOver(pick) => {
                let Some((id, told)) = self.works.pop_first() else { return };
                let outcome = match (told, pick % 2) {
                    (true, _) => TaskOutcome::Killed,
                    (false, 0) => TaskOutcome::Completed,
                    (false, _) => TaskOutcome::Failed,
                };
                self.world.apply(Event::TaskOver { task: id, end: End::of(outcome) });
            }
            Op::TaskStop => {
                let Some(id) = self.works.last_key_value().map(|(id, _)| *id) else { return };
                let ticket = self.ticket();
                self.world.apply(Event::StopTasks { ticket, scope: TaskScope::One(id), by: person() });
            }
            Op::Sync => {
                self.world.sync();
            }
            Op::Fail => {
                self.world.fail();
            }
            Op::Kill => self.kill(),
        }
        self.follow();
    }

    fn kill(&mut self) {
        let world = std::mem::replace(&mut self.world, World::new());
        self.world = world.killed();
        (self.task, self.read) = (None, 0);
        self.open.clear();
        self.works.clear();
        self.deleted = self.world.disk.iter().any(|event| matches!(event.body, Body::System(System::Deleted)));
        if !self.deleted {
            self.world.apply(Event::Loaded);
        }
    }

    /// Acts on the effects that came since the last look, checking each.
    fn follow(&mut self) {
        while let Some(effect) = self.world.effects.get(self.read).cloned() {
            self.read += 1;
            match effect {
                Effect::Append { events, .. } => one_record(&events.iter().map(AsRef::as_ref).collect::<Vec<_>>()),
                Effect::Publish { upto } => assert!(self.world.disk.last().is_some_and(|last| last.seq >= upto)),
                Effect::Start(start) => self.start(start),
                Effect::Cancel { submission, .. } => {
                    if let Some(task) = self.task.as_mut().filter(|task| task.id == submission) {
                        task.cancelled = true;
                    }
                }
                Effect::Answer { ticket, outcome } => {
                    assert!(self.open.remove(&ticket.0), "{ticket:?} is answered once");
                    if let Ok(Outcome::Accepted { command, .. }) = outcome {
                        assert_eq!(self.accepted[&ticket.0], command);
                        assert!(is_enqueued(&self.world.disk, command), "acknowledged before it was on disk");
                        self.promised.insert(command);
                    }
                }
                Effect::Receipt { ticket, result } => {
                    if self.told(ticket) && result.is_err() {
                        self.task.as_mut().unwrap().failed = true;
                    }
                }
                Effect::Leased { ticket, .. } => {
                    self.told(ticket);
                }
                Effect::Settle { ticket, outcome } => {
                    if self.told(ticket) {
                        self.settled(outcome);
                    }
                }
                Effect::TaskStart { ticket, result } => {
                    assert!(self.open.remove(&ticket.0), "{ticket:?} is answered once");
                    if let Ok(id) = result {
                        assert!(self.world.disk.iter().any(|event| starts(event) == Some(id)), "a task runs before its start is on disk");
                        self.works.insert(id, false);
                    }
                }
                Effect::StopTask { task } => {
                    if let Some(told) = self.works.get_mut(&task) {
                        *told = true;
                    }
                }
                Effect::MoveCall { .. } | Effect::Reload => {}
                Effect::Close => self.deleted = true,
            }
        }
    }

    fn start(&mut self, start: Start) {
        assert!(self.task.is_none(), "two submissions at once");
        let calls = match start.from {
            StartFrom::Prompt => Vec::new(),
            StartFrom::Reopen { calls, .. } => {
                assert!(calls.iter().all(|call| call.started.is_none()), "a call that had started is never run again");
                calls.into_iter().map(|call| call.id).collect()
            }
        };
        self.task = Some(Task { id: start.submission, calls, started: false, waits: None, cancelled: false, failed: false, last: None });
    }

    /// Whether the running submission waited for this.
    fn told(&mut self, ticket: Ticket) -> bool {
        let Some(task) = self.task.as_mut().filter(|task| task.waits == Some(ticket)) else { return false };
        task.waits = None;
        assert!(self.open.remove(&ticket.0), "{ticket:?} is answered once");
        true
    }

    fn settled(&mut self, outcome: AskOutcome) {
        let Some(task) = &mut self.task else { return };
        match outcome {
            AskOutcome::Resolved(_) | AskOutcome::Replied(_) => {
                let call = task.calls.remove(0);
                self.result(&call);
            }
            AskOutcome::Denied { .. } | AskOutcome::Withdrawn => {
                let call = task.calls.remove(0);
                self.result(&call);
            }
            AskOutcome::Open => {
                let open = task.calls.clone();
                task.last = Some(TaskEnd::Parked);
                self.hand(vec![Body::System(System::Parked { open })]);
            }
            AskOutcome::StoreFailed(_) => task.failed = true,
        }
    }

    /// The submission's next thing, if it waits for nothing.
    fn work(&mut self, pick: u8) {
        let Some(task) = self.task.as_mut().filter(|task| task.waits.is_none()) else { return };
        let id = task.id;
        if task.failed {
            self.task = None;
            let how = TaskEnd::Failed(StoreFailure { reason: "disk full".to_owned() });
            self.world.apply(Event::Ended { from: id, how });
        } else if let Some(how) = task.last.take() {
            self.task = None;
            self.world.apply(Event::Ended { from: id, how });
        } else if task.cancelled {
            task.last = Some(TaskEnd::Stopped);
            let mut bodies: Vec<Body> = std::mem::take(&mut task.calls).iter().map(|call| self.result_of(call)).collect();
            bodies.push(Body::Result(finished(id, TerminalName::AbortedTools)));
            self.hand(bodies);
        } else if let Some(call) = task.calls.first().cloned() {
            match pick % 6 {
                _ if task.started => {
                    task.started = false;
                    task.calls.remove(0);
                    self.result(&call);
                }
                0 => self.ask(call, OnAsk::Wait),
                1 => self.ask(call, OnAsk::Park),
                2 => {
                    task.calls.remove(0);
                    self.result(&call);
                }
                3 => self.ask_person(call, OnAsk::Wait, u32::from(pick / 64)),
                4 => self.ask_person(call, OnAsk::Park, u32::from(pick / 64)),
                _ => {
                    task.started = true;
                    let started = ToolStarted { tool_use: call, name: "Bash".into(), effective_input: None, changed_by: None };
                    self.hand(vec![Body::System(System::ToolStarted(started))]);
                }
            }
        } else {
            match pick % 3 {
                0 => self.says(usize::from(pick / 64)),
                1 => self.round(),
                _ => {
                    task.last = Some(TaskEnd::Stopped);
                    self.hand(vec![Body::Result(finished(id, TerminalName::Completed))]);
                }
            }
        }
    }

    fn says(&mut self, calls: usize) {
        let ids: Vec<ToolUseId> = (0..calls).map(|_| ToolUseId::new(self.world.id().to_string())).collect();
        let content = ids.iter().map(|id| Block::ToolUse { id: id.clone(), name: "Bash".into(), input: Json::empty_object() }).collect();
        let message = AssistantMessage {
            message: MessageId::from_u128(self.world.id()),
            api_id: "m".into(),
            model: "rehearsal".into(),
            content,
            stop_reason: Some("tool_use".into()),
            usage: Usage::default(),
        };
        self.task.as_mut().unwrap().calls = ids;
        self.hand(vec![Body::Assistant(message)]);
    }

    /// Gate A and what it took, as the engine does it.
    fn round(&mut self) {
        let from = self.task.as_ref().unwrap().id;
        let (lease, absorb) = (self.ticket(), self.ticket());
        self.task.as_mut().unwrap().waits = Some(lease);
        self.world.apply(Event::Lease { from, ticket: lease, slept: Slept::No });
        self.follow();
        let attachments = (0..self.world.machine.head.queue.commands().len()).map(|_| MessageId::from_u128(self.world.id())).collect();
        self.task.as_mut().unwrap().waits = Some(absorb);
        self.world.apply(Event::Absorb { from, ticket: absorb, attachments, entries: Vec::new() });
    }

    fn ask(&mut self, call: ToolUseId, on_ask: OnAsk) {
        let ticket = self.ticket();
        let task = self.task.as_mut().unwrap();
        task.waits = Some(ticket);
        let from = task.id;
        self.world.asked(from, ticket.0, call.as_str(), on_ask);
    }

    fn ask_person(&mut self, call: ToolUseId, on_ask: OnAsk, more: u32) {
        let ticket = self.ticket();
        let option = |label: &str| Choice { label: label.into(), description: String::new() };
        let question = |place| Question {
            id: RequestId::from_u128(self.world.id()),
            agent: None,
            asks: Asks::Call { tool_use: call.clone(), place },
            header: "h".into(),
            question: "q?".into(),
            options: vec![option("a"), option("b")],
            multi_select: false,
            asked_at: Timestamp(self.world.now),
        };
        let questions = (0..=more).map(question).collect();
        let task = self.task.as_mut().unwrap();
        task.waits = Some(ticket);
        let from = task.id;
        self.world.apply(Event::AskedPerson { from, ticket, questions, on_ask });
    }

    fn result(&mut self, call: &ToolUseId) {
        let body = self.result_of(call);
        self.hand(vec![body]);
    }

    fn result_of(&mut self, call: &ToolUseId) -> Body {
        let block = Block::ToolResult { tool_use_id: call.clone(), content: Vec::new(), is_error: false };
        let message = MessageId::from_u128(self.world.id());
        Body::User(UserMessage { message, kind: UserKind::ToolResults, content: vec![block], commands: Vec::new() })
    }

    fn hand(&mut self, bodies: Vec<Body>) {
        let ticket = self.ticket();
        let task = self.task.as_mut().unwrap();
        task.waits = Some(ticket);
        let from = task.id;
        let entries = bodies.into_iter().map(|body| Entry::of(from, body)).collect();
        self.world.apply(Event::Handed { from, ticket, entries, durability: Durability::Synced });
    }

    /// After a quiet end everything is settled.
    fn settle(&mut self) {
        for _ in 0..400 {
            self.play(Op::Sync);
            self.play(Op::Respond);
            self.play(Op::Answer(1));
            self.play(Op::Sync);
            // Results where there are calls, else the end.
            self.play(Op::Work(2));
            self.play(Op::TaskOver(0));
            let quiet = self.world.machine.phase() == &Phase::Idle;
            if quiet && self.task.is_none() && !self.world.machine.committed().queue.commands().is_empty() {
                // Notes that wait for a person.
                self.play(Op::Submit(Priority::Next));
            }
            if matches!(self.world.machine.phase(), Phase::Failed) {
                // A client's call makes a session try the store again.
                self.play(Op::Submit(Priority::Next));
            }
            if self.task.is_none() && self.open.is_empty() && self.world.machine.is_quiet() && self.world.machine.committed().run.is_none()
            {
                return;
            }
        }
        panic!("it never comes to rest: {:?}, open tickets {:?}", self.world.machine.phase(), self.open);
    }

    fn check(&self) {
        let disk = &self.world.disk;
        for (at, event) in disk.iter().enumerate() {
            assert_eq!(event.seq.0, at as u64 + 1, "dense");
        }
        for command in &self.promised {
            assert!(is_enqueued(disk, *command), "an acknowledged command is missing");
        }
        let mut delivered = BTreeSet::new();
        for event in disk {
            if let Body::Queue(QueueChange::Delivered { id }) = &event.body {
                assert!(delivered.insert(*id), "delivered twice");
            }
        }
        let mut over = BTreeSet::new();
        for event in disk {
            if let Body::Task(TaskChange::Finished { id, .. }) = &event.body {
                assert!(over.insert(*id), "a task ended twice");
                let note = CommandId::from_bytes(*id.as_bytes());
                assert!(is_enqueued(disk, note), "nobody is told of a task's end");
            }
        }
        let mut folded = Projection::open(&disk[0]).unwrap();
        disk[1..].iter().for_each(|event| folded.fold(event));
        assert_eq!(&folded, self.world.machine.committed(), "what clients see is what is on disk");
    }
}

pub(super) fn finished(submission: SubmissionId, terminal: TerminalName) -> SubmissionResult {
    SubmissionResult {
        submission,
        terminal,
        detail: String::new(),
        error_kind: None,
        error_status: None,
        text: String::new(),
        stop_reason: None,
        num_turns: 1,
        duration_ms: 0,
        duration_api_ms: 0,
        usage: Usage::default(),
        cost: Money::ZERO,
        session_cost: Money::ZERO,
        models: Vec::new(),
        denials: Vec::new(),
        answered: Vec::new(),
    }
}

fn starts(event: &Numbered) -> Option<TaskId> {
    match &event.body {
        Body::Task(TaskChange::Started(start)) => Some(start.id),
        _ => None,
    }
}

fn is_enqueued(disk: &[Numbered], id: CommandId) -> bool {
    disk.iter().any(|event| matches!(&event.body, Body::Queue(QueueChange::Enqueued { command }) if command.id == id))
}

/// Taking a command and its message are one record.
fn one_record(events: &[&Numbered]) {
    for event in events {
        let Body::Queue(QueueChange::Delivered { id }) = &event.body else { continue };
        let carried = events.iter().any(|other| match &other.body {
            Body::User(user) => user.commands.contains(id),
            Body::Attachment(attachment) => attachment.command == Some(*id),
            _ => false,
        });
        assert!(carried, "{id} was taken without its message");
    }
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop_oneof![Just(Priority::Now), Just(Priority::Next), Just(Priority::Later)].prop_map(Op::Submit),
        2 => Just(Op::Interrupt),
        3 => Just(Op::Respond),
        3 => any::<u8>().prop_map(Op::Answer),
        1 => Just(Op::Delete),
        14 => any::<u8>().prop_map(Op::Work),
        1 => Just(Op::Panic),
        3 => Just(Op::TaskStart),
        3 => any::<u8>().prop_map(Op::TaskOver),
        1 => Just(Op::TaskStop),
        10 => Just(Op::Sync),
        1 => Just(Op::Fail),
        2 => Just(Op::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn any_schedule_keeps_the_sessions_promises(ops in proptest::collection::vec(any_op(), 1..80)) {
        let mut play = Play::new();
        for op in ops {
            play.play(op);
            if let Op::Sync | Op::Kill | Op::Fail = op {
                play.check();
            }
            if play.deleted {
                break;
            }
        }
        play.settle();
        play.check();
        if !play.deleted {
            let waiting = play.world.machine.committed().queue.commands().len();
            prop_assert_eq!(waiting, 0, "what was accepted is delivered");
            let committed = play.world.machine.committed();
            prop_assert!(committed.running_tasks().next().is_none(), "a task never ends");
        }
    }
}
