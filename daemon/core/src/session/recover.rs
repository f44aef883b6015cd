//! A submission that nobody drives: ended while parked, or found cut after a restart. Nothing is run again here.

use agentd_types::content::ResultPart;
use agentd_types::event::{UserKind, UserMessage};
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::system::{InterruptReason, RecoveryOutcome, System};
use agentd_types::{Block, Body, Entry, MessageId, Money, Origin};

use super::calls::reopen;
use super::event::{Durability, Fresh};
use super::fold::{OpenCall, Run};
use super::machine::{Machine, Then};
use super::phase::Phase;
use super::standing::Standing;
use crate::query::LoopState;

/// What the model is told of a call that ran when the daemon died.
pub const OUTCOME_UNKNOWN: &str = "The daemon was killed while this call ran: its outcome is unknown and it may have had effects. \
     It was not run again; check before you repeat it.";
/// What the model is told of a call that never started.
pub const NEVER_STARTED: &str = "This call was interrupted before it started; it had no effect.";
/// The marker of a person's cancel.
pub const INTERRUPT_MARKER: &str = "[Request interrupted by user]";

impl Machine {
    /// After reading back: a cut submission goes on, still waits, or is dropped, by what is known of its calls.
    pub(super) fn recover(&mut self, fresh: Fresh) {
        let Some(run) = self.head.run.clone() else { return };
        let started: Vec<OpenCall> = run.calls.iter().filter(|call| call.started.is_some()).cloned().collect();
        let waits = !self.head.open.is_empty();
        if !started.is_empty() {
            self.append_results(&run, &started, OUTCOME_UNKNOWN, fresh.results);
        }
        match (waits, started.is_empty()) {
            (true, _) => {
                if !run.parked {
                    self.append_recovered(&run, RecoveryOutcome::Waiting);
                }
                self.go(Phase::Parked { submission: run.id });
            }
            (false, false) => {
                self.append_recovered(&run, RecoveryOutcome::Dropped);
                let detail = "the daemon was killed in the middle of a call whose outcome is unknown; send a message to go on";
                self.append_cut_result(&run, detail, fresh.message);
            }
            (false, true) => {
                self.append_recovered(&run, RecoveryOutcome::Continued);
                self.go(Phase::Starting { submission: run.id, end: None });
                self.hold(Durability::Synced, Then::Start(Box::new(reopen(&run))));
            }
        }
    }

    /// A parked submission ends without a task: requests withdrawn, calls paired, result written, in one record.
    pub(super) fn end_parked(&mut self, reason: InterruptReason, by: Option<Origin>, fresh: Fresh) {
        if !matches!(self.phase, Phase::Parked { .. }) {
            return;
        }
        self.withdraw_open(&by.clone().unwrap_or(Origin::Hook { event: reason.as_str().to_owned() }));
        if let Some(run) = self.head.run.clone() {
            let interrupted = System::Interrupted { reason, by };
            self.append(vec![Entry::of(run.id, Body::System(interrupted))], Durability::Synced);
            let detail = match reason {
                InterruptReason::UserCancel => "interrupted while it waited for an answer",
                InterruptReason::Interrupt => "a more urgent message ended it while it waited for an answer",
                InterruptReason::Drain => "the daemon went down",
            };
            self.append_results(&run, &run.calls, NEVER_STARTED, fresh.results);
            match reason {
                InterruptReason::UserCancel => self.append_marker(&run, fresh.message),
                InterruptReason::Interrupt | InterruptReason::Drain => {}
            }
            self.append_cut_result(&run, detail, fresh.message);
        }
        self.go(Phase::Idle);
    }

    fn append_recovered(&mut self, run: &Run, outcome: RecoveryOutcome) {
        let recovered = System::Recovered { submission: run.id, outcome };
        self.append(vec![Entry::of(run.id, Body::System(recovered))], Durability::Synced);
    }

    /// Synthetic results: one message with a block for each call.
    fn append_results(&mut self, run: &Run, calls: &[OpenCall], says: &str, message: MessageId) {
        if calls.is_empty() {
            return;
        }
        let content = calls
            .iter()
            .map(|call| Block::ToolResult {
                tool_use_id: call.id.clone(),
                content: vec![ResultPart::Text { text: says.to_owned() }],
                is_error: true,
            })
            .collect();
        let results = UserMessage { message, kind: UserKind::ToolResults, content, commands: Vec::new() };
        self.append(vec![Entry::of(run.id, Body::User(results))], Durability::Synced);
    }

    fn append_marker(&mut self, run: &Run, message: MessageId) {
        let content = vec![Block::text(INTERRUPT_MARKER)];
        let marker = UserMessage { message, kind: UserKind::Meta, content, commands: Vec::new() };
        self.append(vec![Entry::of(run.id, Body::User(marker))], Durability::Synced);
    }

    /// The remaining calls are paired and the submission gets its result.
    fn append_cut_result(&mut self, run: &Run, detail: &str, message: MessageId) {
        let left = self.head.run.as_ref().map(|run| run.calls.clone()).unwrap_or_default();
        self.append_results(run, &left, NEVER_STARTED, message);
        let state = run.loop_state.as_ref().and_then(Standing::read).map_or_else(LoopState::start, |standing| standing.state);
        let cost = state.spend.cost;
        let result = SubmissionResult {
            submission: run.id,
            terminal: TerminalName::AbortedTools,
            detail: detail.to_owned(),
            error_kind: None,
            error_status: None,
            text: self.head.last_text.clone(),
            stop_reason: None,
            num_turns: state.round,
            duration_ms: self.now.since(run.started_at),
            duration_api_ms: 0,
            usage: state.spend.usage,
            cost,
            session_cost: Money(self.head.cost.0.saturating_add(cost.0)),
            models: Vec::new(),
            denials: Vec::new(),
            answered: run.commands.clone(),
        };
        self.append(vec![Entry::of(run.id, Body::Result(result))], Durability::Synced);
    }
}
