//! What clients ask of a session: submit, interrupt, answer, change, delete; and gate B, which starts submissions.

use agentd_types::event::{UserKind, UserMessage};
use agentd_types::permission::{AllowScope, Decision, PermissionResolved};
use agentd_types::queue::{OnAsk, Priority, QueueChange, QueuedCommand};
use agentd_types::system::{InterruptReason, SessionChanges, System};
use agentd_types::{Body, CommandId, Entry, Origin, RequestId, SubmissionId};

use super::effect::{AskOutcome, Effect, Outcome, Refusal, Start, StartFrom};
use super::event::{DrainStage, Durability, Fresh, Ticket};
use super::fold::{Run, fingerprint};
use super::machine::{Machine, Then};
use super::phase::{EndWish, Phase};
use crate::queue::wording;

impl Machine {
    pub(super) fn submit(&mut self, ticket: Ticket, command: QueuedCommand, fresh: Fresh) {
        if self.drain.is_some() {
            return self.answer(ticket, Err(Refusal::Draining));
        }
        if let Some(refusal) = self.gone() {
            return self.answer(ticket, Err(refusal));
        }
        if let Some(key) = &command.idempotency_key
            && let Some(used) = self.head.keys.get(key)
            && self.now.since(used.at) < super::fold::KEY_LIFE_MS
        {
            return if used.fingerprint == fingerprint(&command.content) {
                let outcome = Outcome::Accepted { command: used.command, seq: used.seq };
                // The first receipt; it may still be on its way to disk.
                self.hold(Durability::Synced, Then::Answer(ticket, outcome));
            } else {
                self.answer(ticket, Err(Refusal::KeyReused { key: key.clone() }));
            };
        }
        if let Err(bound) = self.head.queue.admits(&command) {
            return self.answer(ticket, Err(Refusal::QueueFull(bound)));
        }
        let (id, priority, origin) = (command.id, command.priority, command.origin.clone());
        let enqueued = Entry::outside(Body::Queue(QueueChange::Enqueued { command })).by(origin);
        self.append(vec![enqueued], Durability::Synced);
        let accepted = Outcome::Accepted { command: id, seq: self.head.last_seq };
        self.hold(Durability::Synced, Then::Answer(ticket, accepted));
        match priority {
            Priority::Now => {
                self.end_running(InterruptReason::Interrupt, None, None);
                self.end_parked(InterruptReason::Interrupt, None, fresh);
            }
            Priority::Next | Priority::Later => {}
        }
        self.try_again(fresh);
    }

    /// After a store failure, a client's call is what makes the session try again.
    pub(super) fn try_again(&mut self, fresh: Fresh) {
        self.ends_again();
        if self.phase == Phase::Failed {
            self.go(Phase::Idle);
            self.recover(fresh);
        }
    }

    pub(super) fn interrupt(&mut self, ticket: Ticket, submission: Option<SubmissionId>, by: Origin, fresh: Fresh) {
        let running = self.phase.submission();
        match (submission, running) {
            (None, None) => self.answer(ticket, Ok(Outcome::NothingRunning)),
            (Some(asked), running) if running != Some(asked) => self.answer(ticket, Ok(Outcome::AlreadyEnded { submission: asked })),
            (_, Some(running)) if matches!(self.phase, Phase::Parked { .. }) => {
                self.end_parked(InterruptReason::UserCancel, Some(by), fresh);
                let ended = Outcome::Ended { submission: running, seq: self.head.last_seq };
                self.hold(Durability::Synced, Then::Answer(ticket, ended));
            }
            (_, Some(_) | None) => self.end_running(InterruptReason::UserCancel, Some(by), Some(ticket)),
        }
    }

    /// Wishes the end of the running submission. The first reason stays; everyone who waits is told at the end.
    pub(super) fn end_running(&mut self, reason: InterruptReason, by: Option<Origin>, ticket: Option<Ticket>) {
        let (submission, first) = match &mut self.phase {
            Phase::Starting { submission, end } | Phase::Running { submission, end } => {
                let first = end.is_none();
                let wish = end.get_or_insert_with(|| EndWish { reason, by: by.clone(), waiting: Vec::new() });
                wish.waiting.extend(ticket);
                (*submission, first)
            }
            Phase::Idle | Phase::Parked { .. } | Phase::Deleting | Phase::Failed | Phase::Closed => return,
        };
        if first {
            self.withdraw_open(&by.clone().unwrap_or(Origin::Hook { event: reason.as_str().to_owned() }));
            if matches!(self.phase, Phase::Running { .. }) {
                self.effects.push(Effect::Cancel { submission, reason, by });
            }
        }
    }

    pub(super) fn respond(&mut self, ticket: Ticket, request: RequestId, decision: Decision, by: Origin, fresh: Fresh) {
        self.try_again(fresh);
        let Some(open) = self.head.open.iter().find(|open| open.id == request).cloned() else {
            let answered = self.head.answered.iter().find(|(it, _, _)| it.id == request);
            let refusal = match answered {
                Some((_, resolved, at)) => Refusal::AlreadyAnswered { resolved: Box::new(resolved.clone()), at: *at },
                None => Refusal::NoSuchRequest { id: request },
            };
            return self.answer(ticket, Err(refusal));
        };
        let rule = match &decision {
            Decision::Allow { scope: AllowScope::Session | AllowScope::Always, .. } => open.suggestions.first().cloned(),
            Decision::Allow { scope: AllowScope::Once, .. } | Decision::Deny { .. } | Decision::Withdrawn => None,
        };
        let resolved = PermissionResolved { id: request, tool_use: open.tool_use, decision, by: by.clone(), rule };
        let submission = self.head.run.as_ref().map(|run| run.id);
        let entry = Entry { submission, agent: open.agent, ..Entry::outside(Body::PermissionResolved(resolved.clone())).by(by) };
        self.append(vec![entry], Durability::Synced);
        self.hold(Durability::Synced, Then::Answer(ticket, Outcome::Resolved(Box::new(resolved.clone()))));
        self.settle_asks(&resolved);
        self.resume_parked();
    }

    /// An answer came: the parked submission goes on at that call. A daemon that goes down leaves that to the next one.
    pub(super) fn resume_parked(&mut self) {
        if let (Phase::Parked { submission }, Some(run), None) = (self.phase.clone(), self.head.run.clone(), self.drain) {
            self.go(Phase::Starting { submission, end: None });
            self.hold(Durability::Synced, Then::Start(Box::new(reopen(&run))));
        }
    }

    /// Calls that wait for an answer stay open, and their submission parks: the next daemon has them again.
    fn park_waiting(&mut self) {
        let asks = std::mem::take(&mut self.asks).into_iter().map(|(_, ticket)| ticket);
        let questioned = std::mem::take(&mut self.questioned).into_iter().map(|(_, ticket)| ticket);
        for ticket in asks.chain(questioned).collect::<Vec<_>>() {
            self.hold(Durability::Synced, Then::Settle(ticket, AskOutcome::Open));
        }
    }

    /// Who goes down waits for nobody.
    pub(super) fn patience(&self, on_ask: OnAsk) -> OnAsk {
        match (self.drain, on_ask) {
            (Some(_), OnAsk::Wait) => OnAsk::Park,
            (None | Some(_), on_ask) => on_ask,
        }
    }

    pub(super) fn update(&mut self, ticket: Ticket, changes: SessionChanges, by: Origin, fresh: Fresh) {
        if let Some(refusal) = self.gone() {
            return self.answer(ticket, Err(refusal));
        }
        self.append(vec![Entry::outside(Body::System(System::SessionUpdated { changes })).by(by)], Durability::Synced);
        let info = Outcome::Info(Box::new(self.head.info()));
        self.hold(Durability::Synced, Then::Answer(ticket, info));
        self.try_again(fresh);
    }

    pub(super) fn delete(&mut self, ticket: Ticket, by: Origin, fresh: Fresh) {
        if let Some(refusal) = self.gone() {
            return self.answer(ticket, Err(refusal));
        }
        self.deleting.push(ticket);
        self.end_running(InterruptReason::UserCancel, Some(by.clone()), None);
        if matches!(self.phase, Phase::Parked { .. }) {
            self.end_parked(InterruptReason::UserCancel, Some(by), fresh);
        }
        self.try_again(fresh);
    }

    /// `system: deleted`, the session's last event.
    pub(super) fn append_deleted(&mut self) {
        self.append(vec![Entry::outside(Body::System(System::Deleted))], Durability::Synced);
        self.go(Phase::Deleting);
        for ticket in std::mem::take(&mut self.deleting) {
            self.hold(Durability::Synced, Then::Answer(ticket, Outcome::Deleted));
        }
        self.hold(Durability::Synced, Then::Close);
    }

    pub(super) fn drain(&mut self, stage: DrainStage) {
        self.drain = Some(stage);
        self.park_waiting();
        match stage {
            DrainStage::Stop => {}
            DrainStage::Cut => self.end_running(InterruptReason::Drain, None, None),
        }
    }

    /// Gate B: idle and not empty. Taking the commands and appending their message is one record.
    pub(super) fn gate_b(&mut self, fresh: Fresh) {
        let taken: Vec<CommandId> = self.head.queue.gate_b(|command| self.head.may_start(command));
        let batch: Vec<QueuedCommand> = taken.iter().filter_map(|id| self.head.queue.get(*id).cloned()).collect();
        let Some(first) = batch.first() else { return };
        let (submission, origin) = (fresh.submission, first.origin.clone());
        let content = wording::as_message(&batch.iter().collect::<Vec<_>>());
        let delivered = taken.iter().map(|id| Entry::of(submission, Body::Queue(QueueChange::Delivered { id: *id })));
        let message = UserMessage { message: fresh.message, kind: UserKind::Prompt, content, commands: taken.clone() };
        let entries = delivered.chain([Entry::of(submission, Body::User(message)).by(origin)]).collect();
        let options = first.options.clone();
        self.append(entries, Durability::Synced);
        self.go(Phase::Starting { submission, end: None });
        let start = Start { submission, options, commands: taken, started_at: self.now, from: StartFrom::Prompt };
        self.hold(Durability::Synced, Then::Start(Box::new(start)));
    }

    fn gone(&self) -> Option<Refusal> {
        match self.phase {
            Phase::Deleting | Phase::Closed => Some(Refusal::Precondition { state: self.head.state(), why: "it was deleted".to_owned() }),
            Phase::Idle | Phase::Starting { .. } | Phase::Running { .. } | Phase::Parked { .. } | Phase::Failed => None,
        }
    }
}

/// The open submission, to be gone on with in the middle.
pub(super) fn reopen(run: &Run) -> Start {
    Start {
        submission: run.id,
        options: run.options.clone(),
        commands: run.commands.clone(),
        started_at: run.started_at,
        from: StartFrom::Reopen {
            calls: run.calls.clone(),
            point: run.point,
            loop_state: run.loop_state.clone(),
            unpaid: run.unpaid.clone(),
            denials: run.denials.clone(),
        },
    }
}
