//! Questions to whoever is attached: asked by a call, or by the session itself after a crash. The first answer wins.

use agentd_types::question::{Answered, Asks, Choice, Question, Reply};
use agentd_types::queue::{CommandMode, OnAsk, QueuedCommand};
use agentd_types::{AgentId, Body, Entry, Origin, RequestId, SubmissionId, ToolUseId};

use super::choice;
use super::effect::{AskOutcome, Effect, Outcome, Refusal};
use super::event::{Durability, Fresh, Ticket};
use super::fold::Run;
use super::machine::{Machine, Then};
use super::phase::Phase;

/// A cut submission goes on.
pub const CONTINUE: &str = "continue";
/// It is dropped.
pub const DROP: &str = "drop";

impl Machine {
    /// A call asks. All its questions are one record; what was answered before a restart is not asked again.
    pub(super) fn asked_person(&mut self, from: SubmissionId, ticket: Ticket, questions: Vec<Question>, on_ask: OnAsk) {
        let Some(Asks::Call { tool_use, .. }) = questions.first().map(|question| question.asks.clone()) else {
            return self.settle(ticket, AskOutcome::Replied(Vec::new()));
        };
        let on_ask = self.patience(on_ask);
        if !self.takes_questions(from) {
            return self.settle(ticket, AskOutcome::Withdrawn);
        }
        let is_known = self.head.run.as_ref().is_some_and(|run| run.replies.iter().any(|(call, _, _)| *call == tool_use));
        match (is_known || self.asks_still(&tool_use), on_ask) {
            (true, OnAsk::Wait | OnAsk::Park | OnAsk::Deny) => {}
            (false, OnAsk::Deny) => {
                let by = Origin::Hook { event: "on-ask deny".to_owned() };
                return self.settle(ticket, AskOutcome::Denied { by });
            }
            (false, OnAsk::Wait | OnAsk::Park) => {
                let entries = questions
                    .into_iter()
                    .map(|question| Entry { agent: question.agent, ..Entry::of(from, Body::Question(question)) })
                    .collect();
                self.append(entries, Durability::Synced);
            }
        }
        match (self.asks_still(&tool_use), on_ask) {
            (false, OnAsk::Wait | OnAsk::Park | OnAsk::Deny) => {
                let replies = self.replies_to(&tool_use);
                self.hold(Durability::Synced, Then::Settle(ticket, AskOutcome::Replied(replies)));
            }
            (true, OnAsk::Wait) => self.questioned.push((tool_use, ticket)),
            (true, OnAsk::Park | OnAsk::Deny) => self.hold(Durability::Synced, Then::Settle(ticket, AskOutcome::Open)),
        }
    }

    pub(super) fn answer_question(&mut self, ticket: Ticket, id: RequestId, choices: &[String], by: Origin, fresh: Fresh) {
        self.try_again(fresh);
        let Some(question) = self.head.questions.iter().find(|question| question.id == id).cloned() else {
            let replied = self.head.replied.iter().find(|(it, _, _)| it.id == id);
            let refusal = match replied {
                Some((_, answered, at)) => Refusal::AlreadyReplied { answered: Box::new(answered.clone()), at: *at },
                None => Refusal::NoSuchRequest { id },
            };
            return self.answer(ticket, Err(refusal));
        };
        match choice::read(&question, choices) {
            Err(bad) => self.answer(ticket, Err(Refusal::BadChoice(bad))),
            Ok(choices) => {
                let answered = Answered { id, reply: Reply::Chosen { choices: choices.clone() }, by: by.clone() };
                self.append_answer(&question, answered.clone());
                self.hold(Durability::Synced, Then::Answer(ticket, Outcome::Answered(Box::new(answered))));
                self.after_answer(&question, &choices, by, fresh);
            }
        }
    }

    fn after_answer(&mut self, question: &Question, choices: &[String], by: Origin, fresh: Fresh) {
        match &question.asks {
            Asks::Call { tool_use, .. } if self.asks_still(tool_use) => {}
            Asks::Call { tool_use, .. } => {
                let replies = self.replies_to(tool_use);
                self.settle_questioned(tool_use, &AskOutcome::Replied(replies));
                self.resume_parked();
            }
            // A daemon that goes down leaves it to the next one.
            Asks::Resume if choices.iter().any(|choice| choice == CONTINUE) && self.drain.is_some() => {}
            Asks::Resume if choices.iter().any(|choice| choice == CONTINUE) => self.resume(),
            Asks::Resume => self.drop_cut(by, fresh),
        }
    }

    /// Asks whether a cut submission shall go on.
    pub(super) fn ask_to_resume(&mut self, run: &Run, why: &str, id: RequestId) {
        let option = |label: &str, description: &str| Choice { label: label.to_owned(), description: description.to_owned() };
        let question = Question {
            id,
            agent: None,
            asks: Asks::Resume,
            header: "Interrupted".to_owned(),
            question: format!("{why} Shall the submission go on?"),
            options: vec![
                option(CONTINUE, "the model is told what is known, and goes on"),
                option(DROP, "the submission ends here; the next message starts another"),
            ],
            multi_select: false,
            asked_at: self.now,
        };
        self.append(vec![Entry::of(run.id, Body::Question(question))], Durability::Synced);
    }

    /// A queued command that would start a submission drops the cut one, if that only waits to be told.
    pub(super) fn queue_drops_cut(&mut self, fresh: Fresh) {
        let Phase::Parked { .. } = self.phase else { return };
        let Some(question) = self.head.questions.iter().find(|question| question.asks == Asks::Resume).cloned() else { return };
        // A note is nobody's word on whether it shall go on.
        let speaks = |command: &QueuedCommand| command.mode != CommandMode::TaskNotification && self.head.may_start(command);
        let Some(first) = self.head.queue.gate_b(speaks).first().and_then(|id| self.head.queue.get(*id)).cloned() else { return };
        let by = first.origin;
        let reply = Reply::Chosen { choices: vec![DROP.to_owned()] };
        self.append_answer(&question, Answered { id: question.id, reply, by: by.clone() });
        self.drop_cut(by, fresh);
    }

    /// Open questions end with their submission, as withdrawn.
    pub(super) fn withdraw_questions(&mut self, agent: Option<AgentId>, by: &Origin) {
        for question in self.head.questions.clone() {
            if question.agent != agent {
                continue;
            }
            self.append_answer(&question, Answered { id: question.id, reply: Reply::Withdrawn, by: by.clone() });
            if let Asks::Call { tool_use, .. } = &question.asks {
                self.settle_questioned(tool_use, &AskOutcome::Withdrawn);
            }
        }
    }

    fn append_answer(&mut self, question: &Question, answered: Answered) {
        let submission = self.head.run.as_ref().map(|run| run.id);
        let by = answered.by.clone();
        let entry = Entry { submission, agent: question.agent, ..Entry::outside(Body::Answer(answered)).by(by) };
        self.append(vec![entry], Durability::Synced);
    }

    /// Whether the call has what it waited for.
    pub(super) fn is_answered(&self, run: &Run, call: &ToolUseId) -> bool {
        let replied = run.replies.iter().any(|(it, _, _)| it == call) && !self.asks_still(call);
        run.answers.contains_key(call) || replied
    }

    pub(super) fn asks_still(&self, call: &ToolUseId) -> bool {
        self.head.questions.iter().any(|question| matches!(&question.asks, Asks::Call { tool_use, .. } if tool_use == call))
    }

    fn replies_to(&self, call: &ToolUseId) -> Vec<Answered> {
        let mut replies: Vec<_> = self.head.run.iter().flat_map(|run| &run.replies).filter(|(it, _, _)| it == call).collect();
        replies.sort_by_key(|(_, place, _)| *place);
        replies.into_iter().map(|(_, _, answered)| answered.clone()).collect()
    }

    fn settle_questioned(&mut self, call: &ToolUseId, outcome: &AskOutcome) {
        let (told, rest): (Vec<_>, Vec<_>) = self.questioned.drain(..).partition(|(it, _)| it == call);
        self.questioned = rest;
        for (_, ticket) in told {
            self.hold(Durability::Synced, Then::Settle(ticket, outcome.clone()));
        }
    }

    fn settle(&mut self, ticket: Ticket, outcome: AskOutcome) {
        self.effects.push(Effect::Settle { ticket, outcome });
    }
}
