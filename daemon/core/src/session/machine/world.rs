//! A small world for the machine's tests: a disk that syncs when told, ids that count, effects as short lines.

use agentd_types::config::Interrupted;
use agentd_types::queue::{Batching, CommandMode, OnAsk, Priority, QueueChange, QueuedCommand, RunOptions};
use agentd_types::session::{Limits, NotesMode, SessionMeta};
use agentd_types::system::System;
use agentd_types::task::{Placement, TaskKind, TaskStart};
use agentd_types::{
    AbsPath, Block, Body, CommandId, Entry, Event as Numbered, MessageId, Origin, RequestId, Seq, SessionId, SubmissionId, TaskId,
    Timestamp, ToolUseId,
};

use super::super::effect::Effect;
use super::super::event::{Event, Fresh, Ticket};
use super::super::fold::Projection;
use super::Machine;
use crate::query::StoreFailure;

pub struct World {
    pub machine: Machine,
    /// Numbered and not yet synced: the last seq of each record.
    in_flight: Vec<Seq>,
    /// Everything that was synced.
    pub disk: Vec<Numbered>,
    unsynced: Vec<Numbered>,
    ids: u128,
    pub now: i64,
    pub starts: Vec<SubmissionId>,
    /// Every effect, in order.
    pub effects: Vec<Effect>,
}

pub fn person() -> Origin {
    Origin::Person { client: "cli".into() }
}

pub fn created() -> Numbered {
    let meta = SessionMeta {
        name: None,
        cwd: AbsPath::new("/work").unwrap(),
        model: "rehearsal".into(),
        permission_mode: agentd_types::permission::PermissionMode::Default,
        limits: Limits::default(),
        notes: NotesMode::Start,
        environment: Vec::new(),
        append_system_prompt: None,
        allow: Vec::new(),
        deny: Vec::new(),
    };
    Entry::outside(Body::System(System::Created { meta, idempotency_key: None })).number(SessionId::from_u128(7), Seq(1), Timestamp(1))
}

impl World {
    pub fn new() -> World {
        World::over(vec![created()])
    }

    /// A world over a disk: what a daemon finds.
    pub fn over(disk: Vec<Numbered>) -> World {
        let mut projection = Projection::open(&disk[0]).unwrap();
        disk[1..].iter().for_each(|event| projection.fold(event));
        World {
            machine: Machine::new(projection, Interrupted::Continue),
            in_flight: Vec::new(),
            disk,
            unsynced: Vec::new(),
            ids: 1_000,
            now: 100,
            starts: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// The same disk after kill -9: what was not synced is gone.
    pub fn killed(self) -> World {
        let mut world = World::over(self.disk);
        world.ids = self.ids + 1_000;
        world
    }

    pub fn id(&mut self) -> u128 {
        self.ids += 1;
        self.ids
    }

    /// Applies `event`; returns its effects as lines.
    pub fn apply(&mut self, event: Event) -> Vec<String> {
        self.now += 1;
        let fresh = Fresh {
            submission: SubmissionId::from_u128(self.id()),
            message: MessageId::from_u128(self.id()),
            results: MessageId::from_u128(self.id()),
            marker: MessageId::from_u128(self.id()),
            leftover: MessageId::from_u128(self.id()),
            question: RequestId::from_u128(self.id()),
        };
        let effects = self.machine.apply(event, Timestamp(self.now), fresh);
        let lines = effects.iter().map(|effect| self.seen(effect)).collect();
        self.effects.extend(effects);
        lines
    }

    fn seen(&mut self, effect: &Effect) -> String {
        match effect {
            Effect::Append { events, durability } => {
                let last = events.last().unwrap().seq;
                self.in_flight.push(last);
                self.unsynced.extend(events.iter().map(|event| (**event).clone()));
                let names: Vec<String> = events.iter().map(|event| name(event)).collect();
                format!("append {durability:?} [{}]", names.join(", ")).to_lowercase()
            }
            Effect::Publish { upto } => format!("publish {upto}"),
            Effect::Start(start) => {
                self.starts.push(start.submission);
                match &start.from {
                    super::super::effect::StartFrom::Prompt => "start".to_owned(),
                    super::super::effect::StartFrom::Reopen { calls, point, .. } => {
                        format!("reopen calls={} {point:?}", calls.len()).to_lowercase()
                    }
                }
            }
            Effect::Cancel { reason, .. } => format!("cancel {}", reason.as_str()),
            Effect::Answer { ticket, outcome } => match outcome {
                Ok(outcome) => format!("answer {} {}", ticket.0, word(&format!("{outcome:?}"))),
                Err(refusal) => format!("refuse {} {}", ticket.0, word(&format!("{refusal:?}"))),
            },
            Effect::Receipt { ticket, result } => match result {
                Ok(events) => format!("receipt {} {}", ticket.0, events.len()),
                Err(_) => format!("no receipt {}", ticket.0),
            },
            Effect::Settle { ticket, outcome } => format!("settle {} {}", ticket.0, word(&format!("{outcome:?}"))),
            Effect::Leased { ticket, commands } => format!("leased {} {}", ticket.0, commands.len()),
            Effect::TaskStart { ticket, result } => match result {
                Ok(_) => format!("task starts {}", ticket.0),
                Err(why) => format!("no task {} {}", ticket.0, word(&format!("{why:?}"))),
            },
            Effect::StopTask { .. } => "stop task".to_owned(),
            Effect::MoveCall { tool_use } => format!("move {tool_use}"),
            Effect::Reload => "reload".to_owned(),
            Effect::Close => "close".to_owned(),
        }
    }

    /// Everything in flight reaches the disk.
    pub fn sync(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(upto) = self.in_flight.first().copied() {
            self.in_flight.remove(0);
            let (done, rest) = self.unsynced.drain(..).partition(|event: &Numbered| event.seq <= upto);
            self.unsynced = rest;
            let done: Vec<Numbered> = done;
            self.disk.extend(done);
            lines.extend(self.apply(Event::Synced { upto }));
        }
        lines
    }

    /// The store refuses everything in flight.
    pub fn fail(&mut self) -> Vec<String> {
        let Some(first) = self.unsynced.first().map(|event| event.seq) else { return Vec::new() };
        self.in_flight.clear();
        self.unsynced.clear();
        self.apply(Event::AppendFailed { from: first, failure: StoreFailure { reason: "disk full".into() } })
    }

    pub fn command(&mut self, priority: Priority, text: &str) -> QueuedCommand {
        QueuedCommand {
            id: CommandId::from_u128(self.id()),
            version: 1,
            mode: CommandMode::Prompt,
            priority,
            content: vec![Block::text(text)],
            origin: person(),
            agent: None,
            idempotency_key: None,
            batching: Batching::Fold,
            options: RunOptions::default(),
            enqueued_at: Timestamp(self.now),
        }
    }

    pub fn submit(&mut self, ticket: u64, priority: Priority, text: &str) -> Vec<String> {
        let command = self.command(priority, text);
        self.apply(Event::Submit { ticket: Ticket(ticket), command })
    }

    /// A submission that runs: submitted, synced, started.
    pub fn running(&mut self) -> SubmissionId {
        self.submit(900, Priority::Next, "go");
        self.sync();
        *self.starts.last().unwrap()
    }

    /// A command of `from` goes on in the background; its id.
    pub fn task(&mut self, from: SubmissionId, ticket: u64, tool_use: &str) -> (TaskId, Vec<String>) {
        let start = TaskStart {
            id: TaskId::from_u128(self.id()),
            kind: TaskKind::Bash,
            description: "tests".to_owned(),
            tool_use: ToolUseId::new(tool_use),
            owner: None,
            agent: None,
            placement: Placement::Background,
            output_file: AbsPath::new("/out").unwrap(),
        };
        let id = start.id;
        (id, self.apply(Event::TaskStarts { from, ticket: Ticket(ticket), start, lane: None }))
    }

    pub fn asked(&mut self, from: SubmissionId, ticket: u64, tool_use: &str, on_ask: OnAsk) -> (RequestId, Vec<String>) {
        let id = RequestId::from_u128(self.id());
        let request = agentd_types::permission::PermissionRequest {
            id,
            agent: None,
            tool_use: ToolUseId::new(tool_use),
            tool_name: "Bash".into(),
            input: agentd_types::Json::empty_object(),
            reason: "mode default asks".into(),
            suggestions: vec!["Bash(ls)".into()],
            asked_at: Timestamp(self.now),
        };
        let lines = self.apply(Event::Asked { from, ticket: Ticket(ticket), request, on_ask });
        (id, lines)
    }
}

fn name(event: &Numbered) -> String {
    match &event.body {
        Body::System(system) => system.subtype().to_owned(),
        Body::Queue(QueueChange::Enqueued { .. }) => "enqueued".to_owned(),
        Body::Queue(QueueChange::Delivered { .. }) => "delivered".to_owned(),
        other => other.type_name().to_owned(),
    }
}

/// The variant's name: up to the first thing that is not a letter.
fn word(debug: &str) -> String {
    debug.chars().take_while(|c| c.is_alphabetic()).collect()
}
