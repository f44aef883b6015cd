//! What a submission's result will say beside the loop's state: texts, times, denials. It decides nothing.

use agentd_core::session::{Start, StartFrom};
use agentd_types::outcome::Denial;
use agentd_types::{CommandId, SubmissionId, Timestamp};

/// One submission's running account.
#[derive(Debug)]
pub struct Tally {
    submission: SubmissionId,
    started_at: Timestamp,
    model: String,
    text: String,
    stop_reason: Option<String>,
    api_ms: u64,
    denials: Vec<Denial>,
    /// How many of them a `loop_state` record holds.
    recorded: usize,
    answered: Vec<CommandId>,
}

impl Tally {
    #[must_use]
    pub fn new(start: &Start, model: &str, said: Option<String>) -> Tally {
        // Gone on with in the middle: what was said before is its text until more is.
        let (text, denials) = match &start.from {
            StartFrom::Prompt => (String::new(), Vec::new()),
            StartFrom::Reopen { denials, .. } => (said.unwrap_or_default(), denials.clone()),
        };
        Tally {
            submission: start.submission,
            started_at: start.started_at,
            model: model.to_owned(),
            text,
            stop_reason: None,
            api_ms: 0,
            recorded: denials.len(),
            denials,
            answered: start.commands.clone(),
        }
    }

    /// An answer came.
    pub fn said(&mut self, text: String, stop_reason: Option<String>) {
        self.text = text;
        self.stop_reason = stop_reason;
    }

    pub fn waited_for_model(&mut self, millis: u64) {
        self.api_ms += millis;
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
    pub fn model(&self) -> &str {
        &self.model
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
