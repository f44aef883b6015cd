//! A rehearsal folded from its events: each call, who decided what and why, and how it ended. It does no IO.

use agentd_tui::plain::result_text;
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::system::System;
use agentd_types::{Block, Body, Event, RequestId, ToolUseId};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::result::names;

/// Characters of an input or a result that a line shows.
const SHOWN: usize = 120;

/// What is known so far.
#[derive(Debug, Default)]
pub struct Summary {
    calls: Vec<Call>,
    /// Answers of the main conversation.
    replies: usize,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    Result(Box<SubmissionResult>),
    Parked,
}

#[derive(Debug)]
struct Call {
    id: ToolUseId,
    name: String,
    input: String,
    request: Option<RequestId>,
    decision: Decided,
    outcome: Outcome,
}

#[derive(Debug)]
enum Decided {
    /// No question was put: rules and mode decided.
    ByPolicy,
    Asked {
        why: String,
    },
    By {
        word: &'static str,
        who: String,
        why: String,
    },
}

#[derive(Debug)]
enum Outcome {
    NotRun,
    Ok(String),
    Error(String),
}

impl Summary {
    /// Folds an event in.
    pub fn note(&mut self, event: &Event) {
        match &event.body {
            Body::Assistant(message) => {
                if event.agent.is_none() {
                    self.replies += 1;
                }
                self.calls.extend(message.content.iter().filter_map(called));
            }
            Body::PermissionRequest(request) => {
                if let Some(call) = self.call(&request.tool_use) {
                    call.request = Some(request.id);
                    call.decision = Decided::Asked { why: request.reason.clone() };
                }
            }
            Body::PermissionResolved(resolved) => {
                if let Some(call) = self.call(&resolved.tool_use) {
                    let why = match &call.decision {
                        Decided::Asked { why } | Decided::By { why, .. } => why.clone(),
                        Decided::ByPolicy => String::new(),
                    };
                    call.decision = Decided::By { word: resolved.decision.word(), who: resolved.by.to_string(), why };
                }
            }
            Body::User(user) => user.content.iter().for_each(|block| self.result(block)),
            Body::System(System::Parked { .. }) => self.end = Some(End::Parked),
            Body::Result(result) => {
                for denial in &result.denials {
                    if let Some(call) = self.call(&denial.tool_use)
                        && matches!(call.decision, Decided::ByPolicy | Decided::Asked { .. })
                    {
                        let why = String::new();
                        call.decision = Decided::By { word: "deny", who: "policy (nobody is asked in this rehearsal)".to_owned(), why };
                    }
                }
                self.end = Some(End::Result(result.clone().into()));
            }
            Body::Attachment(_)
            | Body::System(_)
            | Body::Tombstone { .. }
            | Body::Question(_)
            | Body::Answer(_)
            | Body::Queue(_)
            | Body::Task(_) => {}
        }
    }

    pub const fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub const fn replies(&self) -> usize {
        self.replies
    }

    /// Without regard to expectations that were not reached.
    pub fn exit(&self) -> Exit {
        match &self.end {
            Some(End::Result(result)) => Exit::of(result.terminal),
            Some(End::Parked) => Exit::Parked,
            None => Exit::Failed,
        }
    }

    /// For a person; `missed` are the steps whose expectation was not reached.
    pub fn lines(&self, missed: &[usize]) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, call) in self.calls.iter().enumerate() {
            lines.push(format!("{}. {} {}", number + 1, call.name, call.input));
            lines.push(format!("   {}", call.decision.text()));
            lines.push(format!("   {}", call.outcome.text()));
        }
        let ended = match &self.end {
            Some(End::Result(result)) if result.detail.is_empty() => result.terminal.as_str().to_owned(),
            Some(End::Result(result)) => format!("{}: {}", result.terminal.as_str(), result.detail),
            Some(End::Parked) => "parked".to_owned(),
            None => "no end".to_owned(),
        };
        lines.push(format!("{ended} (replies: {}, calls: {})", self.replies, self.calls.len()));
        lines.push(match (self.held(), missed) {
            (true, []) => "every expectation held".to_owned(),
            (_, []) => "not every expectation held".to_owned(),
            (_, missed) => format!("never reached: the expectation of step {}", list(missed)),
        });
        lines.iter().map(|line| agentd_client::printable(line).into_owned()).collect()
    }

    /// For programs.
    pub fn json(&self, session: &str, missed: &[usize]) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(Call::json).collect();
        let (reason, detail) = match &self.end {
            Some(End::Result(result)) => (names(result.terminal).1, result.detail.as_str()),
            Some(End::Parked) => ("parked", ""),
            None => ("none", ""),
        };
        json!({
            "type": "rehearsal", "session_id": session, "held": self.held() && missed.is_empty(), "not_reached": missed,
            "terminal_reason": reason, "detail": detail, "replies": self.replies, "calls": calls,
        })
    }

    fn held(&self) -> bool {
        matches!(&self.end, Some(End::Result(result)) if result.terminal == TerminalName::Completed)
    }

    fn call(&mut self, id: &ToolUseId) -> Option<&mut Call> {
        self.calls.iter_mut().rev().find(|call| call.id == *id)
    }

    fn result(&mut self, block: &Block) {
        if let Block::ToolResult { tool_use_id, content, is_error } = block
            && let Some(call) = self.call(tool_use_id)
        {
            let text = short(&result_text(content));
            call.outcome = if *is_error { Outcome::Error(text) } else { Outcome::Ok(text) };
        }
    }
}

impl Call {
    fn json(&self) -> Value {
        let (decision, by, why) = match &self.decision {
            Decided::ByPolicy => ("allow", "policy", ""),
            Decided::Asked { why } => ("open", "", why.as_str()),
            Decided::By { word, who, why } => (*word, who.as_str(), why.as_str()),
        };
        let (outcome, text) = match &self.outcome {
            Outcome::NotRun => ("not_run", ""),
            Outcome::Ok(text) => ("ok", text.as_str()),
            Outcome::Error(text) => ("error", text.as_str()),
        };
        json!({
            "tool_use_id": self.id.as_str(), "tool_name": self.name, "input": self.input, "decision": decision, "by": by, "why": why,
            "request": self.request.map(|id| id.to_string()), "outcome": outcome, "result": text,
        })
    }
}

impl Decided {
    fn text(&self) -> String {
        match self {
            Decided::ByPolicy => "not asked: decided by rules and mode".to_owned(),
            Decided::Asked { why } => format!("asked ({why}), not answered"),
            Decided::By { word, who, why } if why.is_empty() => format!("{word} by {who}"),
            Decided::By { word, who, why } => format!("{word} by {who}; asked because: {why}"),
        }
    }
}

impl Outcome {
    fn text(&self) -> String {
        match self {
            Outcome::NotRun => "no result".to_owned(),
            Outcome::Ok(text) => format!("ok: {text}"),
            Outcome::Error(text) => format!("error: {text}"),
        }
    }
}

fn called(block: &Block) -> Option<Call> {
    match block {
        Block::ToolUse { id, name, input } => Some(Call {
            id: id.clone(),
            name: name.clone(),
            input: short(input.as_str()),
            request: None,
            decision: Decided::ByPolicy,
            outcome: Outcome::NotRun,
        }),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Other { .. } => None,
    }
}

fn list(steps: &[usize]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn short(text: &str) -> String {
    let flat = text.trim_end().replace('\n', "⏎ ");
    match flat.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}

#[cfg(test)]
mod tests;
