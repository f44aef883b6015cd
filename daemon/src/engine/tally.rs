//! What a submission's result will say beside the loop's state: texts, times, denials. It decides nothing.

use std::ops::AddAssign;

use agentd_core::model::price;
use agentd_core::query::{Reply, ReplyEnd};
use agentd_core::session::{Start, StartFrom};
use agentd_types::outcome::{Denial, ModelShare};
use agentd_types::{CommandId, Money, SubmissionId, Timestamp, Usage};

/// What was used, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    pub usage: Usage,
    pub cost: Money,
}

impl Bill {
    /// The call that ended so.
    #[must_use]
    pub fn reply(self, end: ReplyEnd) -> Reply {
        Reply { end, usage: self.usage, cost: self.cost }
    }
}

impl AddAssign for Bill {
    fn add_assign(&mut self, other: Bill) {
        self.usage += other.usage;
        self.cost += other.cost;
    }
}

/// What the next answer does to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Replaces,
    Joins,
}

/// One submission's running account.
#[derive(Debug)]
pub struct Tally {
    submission: SubmissionId,
    started_at: Timestamp,
    text: String,
    next: Next,
    stop_reason: Option<String>,
    api_ms: u64,
    /// By model, in the order they were first asked.
    shares: Vec<ModelShare>,
    /// Of calls that were interrupted: the loop never saw their end.
    cut_short: Bill,
    denials: Vec<Denial>,
    /// How many of them a `loop_state` record holds.
    recorded: usize,
    answered: Vec<CommandId>,
}

impl Tally {
    #[must_use]
    pub fn new(start: &Start, model: &str, said: Option<String>, before: Bill) -> Tally {
        // Gone on with in the middle: what was said before is its text until more is.
        let (text, denials) = match &start.from {
            StartFrom::Prompt => (String::new(), Vec::new()),
            StartFrom::Reopen { denials, .. } => (said.unwrap_or_default(), denials.clone()),
        };
        let mut tally = Tally {
            submission: start.submission,
            started_at: start.started_at,
            text,
            next: Next::Replaces,
            stop_reason: None,
            api_ms: 0,
            shares: Vec::new(),
            cut_short: Bill::default(),
            recorded: denials.len(),
            denials,
            answered: start.commands.clone(),
        };
        // Whose it was before a restart is not recorded: the session's own model's.
        tally.paid(model, before);
        tally
    }

    /// An answer came.
    pub fn said(&mut self, text: String, stop_reason: Option<String>) {
        match std::mem::replace(&mut self.next, Next::Replaces) {
            Next::Replaces => self.text = text,
            Next::Joins => self.text.push_str(&text),
        }
        self.stop_reason = stop_reason;
    }

    /// The answer was cut, and the next one carries on exactly there: both are one text.
    pub fn carries_on(&mut self) {
        self.next = Next::Joins;
    }

    pub fn waited_for_model(&mut self, millis: u64) {
        self.api_ms += millis;
    }

    /// `model` was asked, whatever came of it.
    pub fn paid(&mut self, model: &str, bill: Bill) {
        let at = self.shares.iter().position(|share| share.model == model).unwrap_or_else(|| {
            let share = ModelShare { model: model.to_owned(), usage: Usage::default(), cost: Money::ZERO, basis: price::basis(model) };
            self.shares.push(share);
            self.shares.len() - 1
        });
        self.shares[at].usage += bill.usage;
        self.shares[at].cost += bill.cost;
    }

    /// A call was interrupted after it had used this much.
    pub fn cut_short(&mut self, bill: Bill) {
        self.cut_short += bill;
    }

    /// What interrupted calls used.
    #[must_use]
    pub fn of_cut_calls(&self) -> Bill {
        self.cut_short
    }

    /// Who was asked, and what each used; the session's own model first.
    #[must_use]
    pub fn shares(&self) -> Vec<ModelShare> {
        self.shares.clone()
    }

    pub fn denied(&mut self, denials: Vec<Denial>) {
        self.denials.extend(denials);
    }

    /// Calls denied since this was asked last: they go into the next record, so that no restart forgets them.
    pub fn unrecorded_denials(&mut self) -> Vec<Denial> {
        let new = self.denials[self.recorded..].to_vec();
        self.recorded = self.denials.len();
        new
    }

    /// A queued command joined.
    pub fn answers(&mut self, command: CommandId) {
        self.answered.push(command);
    }

    #[must_use]
    pub fn submission(&self) -> SubmissionId {
        self.submission
    }

    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn stop_reason(&self) -> Option<String> {
        self.stop_reason.clone()
    }

    #[must_use]
    pub fn api_ms(&self) -> u64 {
        self.api_ms
    }

    #[must_use]
    pub fn denials(&self) -> Vec<Denial> {
        self.denials.clone()
    }

    #[must_use]
    pub fn answered(&self) -> Vec<CommandId> {
        self.answered.clone()
    }
}
