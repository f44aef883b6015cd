//! The session's machine: `apply(event) -> effects`, one owner, no locks. It alone numbers events; it never does IO.
//!
//! Two states are kept: `head` has everything numbered, and decisions are made on it; `committed` has what is on
//! disk, and clients see only that. A failed append folds `head` back to `committed` and reuses the numbers.

use std::collections::VecDeque;
use std::sync::Arc;

use agentd_types::config::Interrupted;
use agentd_types::queue::OnAsk;
use agentd_types::{AgentId, Body, CommandId, Entry, Event as Numbered, RequestId, Seq, TaskId, Timestamp, ToolUseId};

use super::effect::{AskOutcome, Effect, NotStarted, Outcome, Refusal, Start};
use super::event::{DrainStage, Durability, Event, Fresh, Ticket};
use super::fold::Projection;
use super::phase::{Phase, is_legal};
use super::tasks::TaskDesk;
use crate::query::StoreFailure;
use crate::queue::Waits;

/// Something that waits until the event with this number has come far enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub seq: Seq,
    pub need: Durability,
    pub then: Then,
}

/// What is done when it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Then {
    Answer(Ticket, Outcome),
    Receipt(Ticket, Vec<Arc<Numbered>>),
    Settle(Ticket, AskOutcome),
    TaskStart(Ticket, TaskId),
    Start(Box<Start>),
    Close,
}

/// The machine; see the module's documentation.
#[derive(Debug)]
pub struct Machine {
    pub(super) head: Projection,
    pub(super) committed: Projection,
    /// Numbered and not yet on disk.
    pending: VecDeque<Arc<Numbered>>,
    held: VecDeque<Held>,
    /// Who waits for which open request.
    pub(super) asks: Vec<(RequestId, Ticket)>,
    /// Which call waits for answers to its questions.
    pub(super) questioned: Vec<(ToolUseId, Ticket)>,
    /// What becomes of a submission that a crash cut.
    pub(super) resume: Interrupted,
    /// Commands taken by gate A and not yet delivered.
    pub(super) leased: Vec<CommandId>,
    pub(super) desk: TaskDesk,
    pub(super) phase: Phase,
    pub(super) drain: Option<DrainStage>,
    /// Who waits for the session's deletion.
    pub(super) deleting: Vec<Ticket>,
    written: Seq,
    /// What this step appends: one record.
    record: Vec<Arc<Numbered>>,
    record_durability: Durability,
    pub(super) effects: Vec<Effect>,
    pub(super) now: Timestamp,
}

impl Machine {
    /// A machine over a session as it is on disk. [`Event::Loaded`] comes next.
    #[must_use]
    pub fn new(on_disk: Projection, resume: Interrupted) -> Machine {
        Machine {
            committed: on_disk.clone(),
            written: on_disk.last_seq,
            now: on_disk.updated_at,
            head: on_disk,
            pending: VecDeque::new(),
            held: VecDeque::new(),
            asks: Vec::new(),
            questioned: Vec::new(),
            resume,
            leased: Vec::new(),
            desk: TaskDesk::default(),
            phase: Phase::Idle,
            drain: None,
            deleting: Vec::new(),
            record: Vec::new(),
            record_durability: Durability::Written,
            effects: Vec::new(),
        }
    }

    /// What is on disk: all that clients may see.
    #[must_use]
    pub fn committed(&self) -> &Projection {
        &self.committed
    }

    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// What the running submission does when a call needs an answer.
    #[must_use]
    pub fn on_ask(&self) -> OnAsk {
        self.head.run.as_ref().map_or(OnAsk::Wait, |run| run.options.on_ask)
    }

    /// What waits for a loop while its tools run: what may end a `Sleep` early. Notes are held while it asks something itself.
    #[must_use]
    pub fn waits(&self, agent: Option<AgentId>) -> Waits {
        let waits = self.committed.queue.waits(|command| self.committed.addressee(command.agent) == agent);
        Waits { noted: waits.noted && !self.committed.asks(agent), ..waits }
    }

    /// Whether it can be unloaded: nothing runs, nothing is on its way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        match self.phase {
            Phase::Idle | Phase::Parked { .. } | Phase::Closed => {
                self.pending.is_empty() && self.held.is_empty() && self.head.running_tasks().next().is_none()
            }
            Phase::Starting { .. } | Phase::Running { .. } | Phase::Deleting | Phase::Failed => false,
        }
    }

    /// Takes one event at `now` and says what is to be done, in order. `fresh` has ids for what this step may begin.
    pub fn apply(&mut self, event: Event, now: Timestamp, fresh: Fresh) -> Vec<Effect> {
        // A clock that went back must not make a session's times go back.
        self.now = self.now.max(now);
        match event {
            Event::Submit { ticket, command } => self.submit(ticket, command, fresh),
            Event::Interrupt { ticket, submission, by } => self.interrupt(ticket, submission, by, fresh),
            Event::Respond { ticket, request, decision, by } => self.respond(ticket, request, decision, by, fresh),
            Event::Answer { ticket, question, choices, by } => self.answer_question(ticket, question, &choices, by, fresh),
            Event::Update { ticket, changes, by } => self.update(ticket, changes, by, fresh),
            Event::Delete { ticket, by } => self.delete(ticket, by, fresh),
            Event::Handed { from, ticket, entries, durability } => self.handed(from, ticket, entries, durability),
            Event::Asked { from, ticket, request, on_ask } => self.asked(from, ticket, request, on_ask),
            Event::AskedPerson { from, ticket, questions, on_ask } => self.asked_person(from, ticket, questions, on_ask),
            Event::Lease { from, ticket, slept } => self.lease(from, ticket, slept),
            Event::Absorb { from, ticket, attachments, entries } => self.absorb(from, ticket, &attachments, entries),
            Event::TaskStarts { from, ticket, start, lane } => self.task_starts(from, ticket, start, lane),
            Event::TaskMoved { from, task } => self.task_moved(from, task),
            Event::TaskOver { task, end } => self.task_over(task, end),
            Event::StopTasks { ticket, scope, by } => self.stop_tasks(ticket, scope, by),
            Event::MoveCall { ticket, tool_use } => self.move_call(ticket, tool_use),
            Event::Ended { from, how } => self.ended(from, how),
            Event::Written { upto } => self.written(upto),
            Event::Synced { upto } => self.synced(upto),
            Event::AppendFailed { from, failure } => self.append_failed(from, &failure),
            Event::Loaded => {
                self.tasks_lost();
                self.recover(fresh);
            }
            Event::Drain(stage) => self.drain(stage),
        }
        self.upkeep(fresh);
        self.flush();
        std::mem::take(&mut self.effects)
    }

    /// The only way the phase changes.
    pub(super) fn go(&mut self, to: Phase) {
        debug_assert!(is_legal(self.phase.name(), to.name()), "illegal change of phase: {:?} -> {:?}", self.phase, to);
        self.phase = to;
    }

    /// Numbers `entries` into this step's record and folds them. Returns the numbered events.
    pub(super) fn append(&mut self, entries: Vec<Entry>, durability: Durability) -> Vec<Arc<Numbered>> {
        let mut events = Vec::with_capacity(entries.len());
        for mut entry in entries {
            if let Body::Result(result) = &mut entry.body {
                // Only here it is known what tasks in the background cost meanwhile.
                result.session_cost = self.head.cost + result.cost;
            }
            let event = Arc::new(entry.number(self.head.id, self.head.last_seq.next(), self.now));
            self.head.fold(&event);
            self.pending.push_back(Arc::clone(&event));
            self.record.push(Arc::clone(&event));
            events.push(event);
        }
        match durability {
            Durability::Written => {}
            Durability::Synced => self.record_durability = Durability::Synced,
        }
        events
    }

    /// Does `then` when everything numbered so far has come as far as `need`.
    pub(super) fn hold(&mut self, need: Durability, then: Then) {
        self.held.push_back(Held { seq: self.head.last_seq, need, then });
        self.release();
    }

    pub(super) fn answer(&mut self, ticket: Ticket, outcome: Result<Outcome, Refusal>) {
        self.effects.push(Effect::Answer { ticket, outcome });
    }

    /// After every event, in this order: a cut submission that a queued command drops, deletion, gate B.
    fn upkeep(&mut self, fresh: Fresh) {
        if self.drain.is_none() {
            self.queue_drops_cut(fresh);
        }
        self.mind_tasks();
        if self.phase == Phase::Idle && !self.deleting.is_empty() && self.head.running_tasks().next().is_none() {
            self.append_deleted();
        }
        if self.phase == Phase::Idle && self.drain.is_none() {
            self.gate_b(fresh);
        }
    }

    /// This step's events become one journal record.
    fn flush(&mut self) {
        if self.record.is_empty() {
            return;
        }
        let events = std::mem::take(&mut self.record);
        let durability = std::mem::replace(&mut self.record_durability, Durability::Written);
        self.effects.push(Effect::Append { events, durability });
    }

    fn written(&mut self, upto: Seq) {
        self.written = self.written.max(upto);
        self.release();
    }

    fn synced(&mut self, upto: Seq) {
        self.written = self.written.max(upto);
        while let Some(event) = self.pending.pop_front_if(|event| event.seq <= upto) {
            self.committed.fold(&event);
        }
        self.forget_ends();
        self.effects.push(Effect::Publish { upto });
        self.release();
    }

    /// The entry and all later ones are dropped; their numbers are used again.
    fn append_failed(&mut self, from: Seq, failure: &StoreFailure) {
        self.pending.retain(|event| event.seq < from);
        let mut head = self.committed.clone();
        for event in &self.pending {
            head.fold(event);
        }
        self.head = head;
        self.written = self.written.min(self.head.last_seq);
        let (lost, kept): (VecDeque<Held>, VecDeque<Held>) = self.held.drain(..).partition(|held| held.seq >= from);
        self.held = kept;
        for held in lost {
            self.refuse(held.then, failure);
        }
        self.settle_lost(failure);
        self.leased.clear();
        self.desk.lanes.iter_mut().for_each(|lane| lane.leased.clear());
        self.effects.push(Effect::Reload);
        match &mut self.phase {
            // Its next append is answered with the failure, and it ends.
            Phase::Running { .. } => {}
            Phase::Starting { end, .. } => {
                let waiting = end.take().map(|wish| wish.waiting).unwrap_or_default();
                self.go(Phase::Failed);
                waiting.into_iter().for_each(|ticket| self.answer(ticket, Err(Refusal::Store(failure.clone()))));
            }
            Phase::Idle | Phase::Parked { .. } | Phase::Deleting => self.go(Phase::Failed),
            Phase::Failed | Phase::Closed => {}
        }
    }

    /// Whoever waits for a request or a question that was lost would wait for ever.
    fn settle_lost(&mut self, failure: &StoreFailure) {
        let mut lost = Vec::new();
        for (id, ticket) in std::mem::take(&mut self.asks) {
            match self.head.open.iter().any(|open| open.id == id) {
                true => self.asks.push((id, ticket)),
                false => lost.push(ticket),
            }
        }
        for (call, ticket) in std::mem::take(&mut self.questioned) {
            match self.asks_still(&call) {
                true => self.questioned.push((call, ticket)),
                false => lost.push(ticket),
            }
        }
        for ticket in lost {
            self.effects.push(Effect::Settle { ticket, outcome: AskOutcome::StoreFailed(failure.clone()) });
        }
    }

    fn refuse(&mut self, then: Then, failure: &StoreFailure) {
        match then {
            Then::Answer(ticket, _) => self.answer(ticket, Err(Refusal::Store(failure.clone()))),
            Then::Receipt(ticket, _) => self.effects.push(Effect::Receipt { ticket, result: Err(failure.clone()) }),
            Then::TaskStart(ticket, _) => {
                self.effects.push(Effect::TaskStart { ticket, result: Err(NotStarted::Store(failure.reason.clone())) });
            }
            Then::Settle(ticket, _) => self.effects.push(Effect::Settle { ticket, outcome: AskOutcome::StoreFailed(failure.clone()) }),
            Then::Start(_) | Then::Close => {}
        }
    }

    /// Does what was held and has come far enough, in order.
    fn release(&mut self) {
        let synced = self.committed.last_seq;
        let written = self.written;
        let ready = |held: &Held| match held.need {
            Durability::Written => held.seq <= written,
            Durability::Synced => held.seq <= synced,
        };
        let (done, rest): (VecDeque<Held>, VecDeque<Held>) = self.held.drain(..).partition(ready);
        self.held = rest;
        for held in done {
            match held.then {
                Then::Answer(ticket, outcome) => self.answer(ticket, Ok(outcome)),
                Then::Receipt(ticket, events) => self.effects.push(Effect::Receipt { ticket, result: Ok(events) }),
                Then::Settle(ticket, outcome) => self.effects.push(Effect::Settle { ticket, outcome }),
                Then::TaskStart(ticket, task) => self.effects.push(Effect::TaskStart { ticket, result: Ok(task) }),
                Then::Start(start) => self.start(*start),
                Then::Close => {
                    self.go(Phase::Closed);
                    self.effects.push(Effect::Close);
                }
            }
        }
    }

    /// What a submission starts with is on disk.
    fn start(&mut self, start: Start) {
        let Phase::Starting { submission, end } = self.phase.clone() else { return };
        let wish = end.as_ref().map(|wish| (wish.reason, wish.by.clone()));
        self.go(Phase::Running { submission, end });
        self.effects.push(Effect::Start(start));
        if let Some((reason, by)) = wish {
            self.effects.push(Effect::Cancel { submission, reason, by });
        }
    }
}

#[cfg(test)]
mod schedules;
#[cfg(test)]
mod task_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;
