//! What the running submission asks of its session. Entries of any other submission are late and dropped.

use agentd_types::event::{Attachment, AttachmentKind};
use agentd_types::permission::{Decision, PermissionRequest, PermissionResolved};
use agentd_types::queue::{OnAsk, QueueChange};
use agentd_types::system::System;
use agentd_types::{AgentId, Body, Entry, MessageId, Origin, SubmissionId};

use super::effect::{AskOutcome, Effect, Outcome};
use super::event::{Durability, TaskEnd, Ticket};
use super::machine::{Machine, Then};
use super::phase::{EndWish, Phase};
use crate::query::StoreFailure;
use crate::queue::{Slept, wording};

impl Machine {
    fn is_running(&self, from: SubmissionId) -> bool {
        matches!(&self.phase, Phase::Running { submission, .. } if *submission == from)
    }

    /// Whether its loop runs, and nobody wishes its end.
    pub(super) fn takes_questions(&self, from: SubmissionId) -> bool {
        match self.lane(from) {
            Some(None) => !matches!(&self.phase, Phase::Running { end: Some(_), .. }),
            Some(Some(agent)) => !self.is_ending(agent),
            None => false,
        }
    }

    pub(super) fn handed(&mut self, from: SubmissionId, ticket: Ticket, entries: Vec<Entry>, durability: Durability) {
        if self.lane(from).is_none() {
            return self.effects.push(Effect::Receipt { ticket, result: Err(late()) });
        }
        let events = self.append(entries, durability);
        self.hold(durability, Then::Receipt(ticket, events));
    }

    pub(super) fn asked(&mut self, from: SubmissionId, ticket: Ticket, request: PermissionRequest, on_ask: OnAsk) {
        let on_ask = self.patience(on_ask);
        if !self.takes_questions(from) {
            return self.effects.push(Effect::Settle { ticket, outcome: AskOutcome::Withdrawn });
        }
        let own_run = self.head.run.as_ref().filter(|_| request.agent.is_none());
        if let Some(resolved) = own_run.and_then(|run| run.answers.get(&request.tool_use)).cloned() {
            // Answered while the submission was parked, or before a restart.
            return self.hold(Durability::Synced, Then::Settle(ticket, AskOutcome::Resolved(Box::new(resolved))));
        }
        let same = |open: &&PermissionRequest| open.tool_use == request.tool_use && open.agent == request.agent;
        let open = self.head.open.iter().find(same).map(|open| open.id);
        let id = match (open, on_ask) {
            (Some(id), OnAsk::Wait | OnAsk::Park | OnAsk::Deny) => id,
            (None, OnAsk::Deny) => {
                let by = Origin::Hook { event: "on-ask deny".to_owned() };
                return self.effects.push(Effect::Settle { ticket, outcome: AskOutcome::Denied { by } });
            }
            (None, OnAsk::Wait | OnAsk::Park) => {
                let id = request.id;
                let agent = request.agent;
                let entry = Entry { agent, ..Entry::of(from, Body::PermissionRequest(request)) };
                self.append(vec![entry], Durability::Synced);
                id
            }
        };
        match on_ask {
            OnAsk::Wait => self.asks.push((id, ticket)),
            OnAsk::Park | OnAsk::Deny => self.hold(Durability::Synced, Then::Settle(ticket, AskOutcome::Open)),
        }
    }

    /// Everyone who waits for this request is told when the answer is on disk.
    pub(super) fn settle_asks(&mut self, resolved: &PermissionResolved) {
        let (told, rest): (Vec<_>, Vec<_>) = self.asks.drain(..).partition(|(id, _)| *id == resolved.id);
        self.asks = rest;
        for (_, ticket) in told {
            let outcome = match resolved.decision {
                Decision::Withdrawn => AskOutcome::Withdrawn,
                Decision::Allow { .. } | Decision::Deny { .. } => AskOutcome::Resolved(Box::new(resolved.clone())),
            };
            self.hold(Durability::Synced, Then::Settle(ticket, outcome));
        }
    }

    /// Open requests and questions of the main loop end with its submission, as withdrawn.
    pub(super) fn withdraw_open(&mut self, by: &Origin) {
        self.withdraw_open_of(None, by);
    }

    /// The same for the loop of `agent`.
    pub(super) fn withdraw_open_of(&mut self, agent: Option<AgentId>, by: &Origin) {
        self.withdraw_questions(agent, by);
        let submission = self.head.run.as_ref().map(|run| run.id);
        for open in self.head.open.clone() {
            if open.agent != agent {
                continue;
            }
            let resolved =
                PermissionResolved { id: open.id, tool_use: open.tool_use, decision: Decision::Withdrawn, by: by.clone(), rule: None };
            let body = Body::PermissionResolved(resolved.clone());
            let entry = Entry { submission, agent: open.agent, ..Entry::outside(body).by(by.clone()) };
            self.append(vec![entry], Durability::Synced);
            self.settle_asks(&resolved);
        }
    }

    pub(super) fn lease(&mut self, from: SubmissionId, ticket: Ticket, slept: Slept) {
        let ids = match self.lane(from) {
            Some(agent) => self.head.queue.gate_a(|command| self.head.addressee(command.agent) == agent, slept),
            None => Vec::new(),
        };
        let commands = ids.iter().filter_map(|id| self.head.queue.get(*id).cloned()).collect();
        *self.leases_of(from) = ids;
        self.effects.push(Effect::Leased { ticket, commands });
    }

    /// Leased commands become attachments; with the round's entries that is one record. `messages` are ids for them, in order.
    pub(super) fn absorb(&mut self, from: SubmissionId, ticket: Ticket, messages: &[MessageId], entries: Vec<Entry>) {
        let Some(agent) = self.lane(from) else {
            return self.effects.push(Effect::Receipt { ticket, result: Err(late()) });
        };
        let parent_tool_use = agent.and_then(|agent| self.head.task_of(agent)).map(|task| task.start.tool_use.clone());
        let of_loop = |body| Entry { agent, parent_tool_use: parent_tool_use.clone(), ..Entry::of(from, body) };
        let leased = std::mem::take(self.leases_of(from));
        let taken: Vec<_> = leased.iter().filter_map(|id| self.head.queue.get(*id).cloned()).collect();
        let mut all = Vec::with_capacity(taken.len() * 2 + entries.len());
        for (command, message) in taken.iter().zip(messages) {
            all.push(of_loop(Body::Queue(QueueChange::Delivered { id: command.id })));
            let attachment = Attachment {
                message: *message,
                kind: AttachmentKind::QueuedCommand,
                content: wording::as_attachment(command),
                command: Some(command.id),
            };
            all.push(of_loop(Body::Attachment(attachment)).by(command.origin.clone()));
        }
        all.extend(entries);
        let events = self.append(all, Durability::Synced);
        self.hold(Durability::Synced, Then::Receipt(ticket, events));
    }

    /// The submission's task is over. Leases go back; whoever waited for the end is told; gate B follows in upkeep.
    pub(super) fn ended(&mut self, from: SubmissionId, how: TaskEnd) {
        if !self.is_running(from) {
            return;
        }
        self.leased.clear();
        self.end_foreground_of(None);
        self.ends_again();
        let end = match &mut self.phase {
            Phase::Running { end, .. } => end.take(),
            Phase::Idle | Phase::Starting { .. } | Phase::Parked { .. } | Phase::Deleting | Phase::Failed | Phase::Closed => None,
        };
        match how {
            TaskEnd::Stopped => {
                // As a rule there is none left.
                self.withdraw_open(&Origin::Hook { event: "the submission's end".to_owned() });
                self.go(Phase::Idle);
            }
            TaskEnd::Parked => self.parked(from, end.as_ref()),
            TaskEnd::Failed(failure) => {
                self.go(Phase::Failed);
                for ticket in end.iter().flat_map(|wish| &wish.waiting) {
                    self.answer(*ticket, Err(super::effect::Refusal::Store(failure.clone())));
                }
                return;
            }
            TaskEnd::Panicked(message) => {
                let reason = format!("the session's engine panicked: {message}");
                self.withdraw_open(&Origin::Hook { event: "the submission's end".to_owned() });
                self.append(vec![Entry::of(from, Body::System(System::Failed { reason }))], Durability::Synced);
                self.effects.push(Effect::Reload);
                self.go(Phase::Idle);
            }
        }
        for ticket in end.map(|wish| wish.waiting).unwrap_or_default() {
            let seq = self.head.last_result.map_or(self.head.last_seq, |(_, seq)| seq);
            self.hold(Durability::Synced, Then::Answer(ticket, Outcome::Ended { submission: from, seq }));
        }
    }

    /// It parked; an answer that came meanwhile, or a wish to end it, is acted upon at once.
    fn parked(&mut self, from: SubmissionId, end: Option<&EndWish>) {
        self.go(Phase::Parked { submission: from });
        let Some(run) = self.head.run.clone() else { return };
        let answered = run.calls.iter().any(|call| self.is_answered(&run, &call.id));
        if answered || end.is_some() {
            self.go(Phase::Starting { submission: from, end: None });
            self.hold(Durability::Synced, Then::Start(Box::new(super::calls::reopen(&run))));
            if let Some(wish) = end {
                self.end_running(wish.reason, wish.by.clone(), None);
            }
        }
    }
}

fn late() -> StoreFailure {
    StoreFailure { reason: "the submission has ended already".to_owned() }
}
