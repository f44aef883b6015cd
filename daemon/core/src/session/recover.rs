//! A submission that nobody drives: ended while parked, or found cut after a restart. Nothing is run again here.

use agentd_types::config::Interrupted;
use agentd_types::content::ResultPart;
use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::question::Asks;
use agentd_types::system::{InterruptReason, RecoveryOutcome, System};
use agentd_types::{Block, Body, Entry, MessageId, Money, Origin, ToolUseId, Usage};

use super::calls::reopen;
use super::event::{Durability, Fresh};
use super::fold::{Half, OpenCall, Point, Run, Told};
use super::machine::{Machine, Then};
use super::phase::Phase;
use super::standing::Standing;
use crate::model::price;
use crate::query::LoopState;

/// What the model is told of a call that ran when the daemon died.
pub const OUTCOME_UNKNOWN: &str = "The daemon was killed while this call ran: its outcome is unknown and it may have had effects. \
     It was not run again; check before you repeat it.";
/// What the model is told of a call that never started.
pub const NEVER_STARTED: &str = "This call was interrupted before it started; it had no effect.";
/// The marker of a person's cancel.
pub const INTERRUPT_MARKER: &str = "[Request interrupted by user]";

/// What is known of a call that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It ran: what came of it nobody knows.
    Started,
    NeverStarted,
    /// It waits for an answer, or has one and did not start yet.
    Waits,
}

impl Machine {
    /// After reading back: a cut submission goes on, still waits, or waits to be told, by what is known of its calls.
    pub(super) fn recover(&mut self, fresh: Fresh) {
        let Some(run) = self.head.run.clone() else { return };
        let known: Vec<(ToolUseId, Known)> = run.calls.iter().map(|call| (call.id.clone(), self.known(&run, call))).collect();
        let results = known.iter().filter_map(|(id, known)| match known {
            Known::Started => Some((id.clone(), OUTCOME_UNKNOWN)),
            Known::NeverStarted => Some((id.clone(), NEVER_STARTED)),
            Known::Waits => None,
        });
        self.append_results(&run, results.collect(), fresh.results);
        let unknown = known.iter().any(|(_, known)| *known == Known::Started);
        let waits = self.head.asks(None);
        let may_ask = self.resume == Interrupted::Ask && run.point != Point::Answered && run.told == Told::No;
        let must_ask = unknown || may_ask;
        match (waits, must_ask) {
            (true, _) => {
                if !run.parked {
                    self.append_recovered(&run, RecoveryOutcome::Waiting);
                }
                self.go(Phase::Parked { submission: run.id });
            }
            (false, true) => {
                self.keep_complete_blocks(&run);
                let why = if unknown {
                    "The daemon was killed while a call ran: its outcome is unknown."
                } else {
                    "The daemon was killed before the submission's end."
                };
                self.ask_to_resume(&run, why, fresh.question);
                self.append_recovered(&run, RecoveryOutcome::Waiting);
                self.go(Phase::Parked { submission: run.id });
            }
            (false, false) => {
                self.append_recovered(&run, RecoveryOutcome::Continued);
                self.go_on();
            }
        }
    }

    /// A person said that it shall go on.
    pub(super) fn resume(&mut self) {
        let Some(run) = self.head.run.clone() else { return };
        self.append_recovered(&run, RecoveryOutcome::Continued);
        self.go_on();
    }

    /// What had come of an answer does not count any more: the request is repeated.
    fn go_on(&mut self) {
        let Some(run) = self.head.run.clone() else { return };
        let half = run.partial.as_ref().map(|half| half.message).or(run.cut);
        if let Some(message) = half {
            let reason = "the daemon was killed while it was written; it is asked for again".to_owned();
            self.append(vec![Entry::of(run.id, Body::Tombstone { message, reason })], Durability::Synced);
        }
        let Some(run) = self.head.run.clone() else { return };
        self.go(Phase::Starting { submission: run.id, end: None });
        self.hold(Durability::Synced, Then::Start(Box::new(reopen(&run))));
    }

    /// A cut submission ends here, by an answer or by a message that comes instead.
    pub(super) fn drop_cut(&mut self, by: Origin, fresh: Fresh) {
        let Some(run) = self.head.run.clone() else { return };
        let dropped = System::Recovered { submission: run.id, outcome: RecoveryOutcome::Dropped };
        self.append(vec![Entry::of(run.id, Body::System(dropped)).by(by)], Durability::Synced);
        let detail = "the daemon was killed in the middle of it, and it was not gone on with";
        self.append_cut_result(&run, detail, fresh.leftover);
        self.go(Phase::Idle);
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
            self.append_results(&run, never_started(&run.calls), fresh.results);
            match reason {
                InterruptReason::UserCancel => self.append_marker(&run, fresh.marker),
                InterruptReason::Interrupt | InterruptReason::Drain => {}
            }
            self.append_cut_result(&run, detail, fresh.leftover);
        }
        self.go(Phase::Idle);
    }

    fn known(&self, run: &Run, call: &OpenCall) -> Known {
        let asks = |asks: &Asks| matches!(asks, Asks::Call { tool_use, .. } if *tool_use == call.id);
        let waits = self.head.open.iter().any(|open| open.tool_use == call.id)
            || self.head.questions.iter().any(|question| asks(&question.asks))
            || run.answers.contains_key(&call.id)
            || run.replies.iter().any(|(id, _, _)| *id == call.id);
        match (call.started, waits) {
            (Some(_), _) => Known::Started,
            (None, true) => Known::Waits,
            (None, false) => Known::NeverStarted,
        }
    }

    /// Of an answer that was cut, complete blocks of text are kept; the rest stays what it is: shown, never sent.
    fn keep_complete_blocks(&mut self, run: &Run) {
        let Some(Half { message, blocks }) = &run.partial else { return };
        let complete = blocks.values().filter(|(text, complete)| *complete && !text.trim().is_empty());
        let content: Vec<Block> = complete.map(|(text, _)| Block::text(text.clone())).collect();
        if content.is_empty() {
            return;
        }
        let kept = AssistantMessage {
            message: *message,
            api_id: String::new(),
            model: self.head.meta.model.clone(),
            content,
            stop_reason: None,
            usage: Usage::default(),
        };
        self.append(vec![Entry::of(run.id, Body::Assistant(kept))], Durability::Synced);
    }

    fn append_recovered(&mut self, run: &Run, outcome: RecoveryOutcome) {
        let recovered = System::Recovered { submission: run.id, outcome };
        self.append(vec![Entry::of(run.id, Body::System(recovered))], Durability::Synced);
    }

    /// Synthetic results: one message with a block for each call.
    fn append_results(&mut self, run: &Run, calls: Vec<(ToolUseId, &str)>, message: MessageId) {
        if calls.is_empty() {
            return;
        }
        let block = |(tool_use_id, says): (ToolUseId, &str)| Block::ToolResult {
            tool_use_id,
            content: vec![ResultPart::Text { text: says.to_owned() }],
            is_error: true,
        };
        let content = calls.into_iter().map(block).collect();
        let results = UserMessage { message, kind: UserKind::ToolResults, content, commands: Vec::new() };
        self.append(vec![Entry::of(run.id, Body::User(results))], Durability::Synced);
    }

    fn append_marker(&mut self, run: &Run, message: MessageId) {
        let content = vec![Block::text(INTERRUPT_MARKER)];
        let marker = UserMessage { message, kind: UserKind::Meta, content, commands: Vec::new() };
        self.append(vec![Entry::of(run.id, Body::User(marker))], Durability::Synced);
    }

    /// The remaining calls are paired and the submission gets its result, with all that it used and was denied.
    fn append_cut_result(&mut self, run: &Run, detail: &str, leftover: MessageId) {
        let left = self.head.run.as_ref().map(|run| run.calls.clone()).unwrap_or_default();
        self.append_results(run, never_started(&left), leftover);
        let state = stands(run.loop_state.as_ref().and_then(Standing::read), &run.unpaid);
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
            denials: run.denials.clone(),
            answered: run.commands.clone(),
        };
        self.append(vec![Entry::of(run.id, Body::Result(result))], Durability::Synced);
    }
}

/// The loop's state as recorded, with what was used since.
#[must_use]
pub fn stands(recorded: Option<Standing>, unpaid: &[(String, Usage)]) -> LoopState {
    let mut state = recorded.map_or_else(LoopState::start, |standing| standing.state);
    for (model, usage) in unpaid {
        state.spend.usage += *usage;
        state.spend.cost += price::cost(model, usage).0;
    }
    state
}

fn never_started(calls: &[OpenCall]) -> Vec<(ToolUseId, &'static str)> {
    calls.iter().map(|call| (call.id.clone(), NEVER_STARTED)).collect()
}
