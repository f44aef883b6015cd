//! A rehearsal's script: its TOML, read and checked. It never plays anything.

use serde::Deserialize;

/// Bytes of a script at most.
pub const MAX_BYTES: usize = 1 << 20;
/// Steps of a script at most.
const MAX_STEPS: usize = 10_000;
/// The longest wait between two deltas, and the longest stall, in milliseconds.
const MAX_WAIT_MS: u64 = 10 * 60 * 1000;

/// A script: the answers of one conversation, in order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    pub name: String,
    /// Milliseconds between two deltas, for steps that say nothing else.
    pub delay_ms: u64,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    pub agent: AgentPart,
}

/// What subagents answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentPart {
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// One model answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// What the last tool results must be.
    pub expect: Option<Expect>,
    pub thinking: Option<String>,
    /// Streamed in words.
    pub text: Option<String>,
    #[serde(rename = "tool")]
    pub tools: Vec<ScriptedCall>,
    pub stop: Option<StopReason>,
    pub delay_ms: Option<u64>,
    /// Silence before the first delta, in milliseconds.
    pub stall_ms: u64,
    /// The first requests of this step fail so.
    pub error: Option<ScriptedError>,
    /// The first request (after those of `error`) is refused as too long.
    pub prompt_too_long: bool,
    /// The first request (after the refused ones) breaks off half way.
    pub cut: bool,
    /// What it is said to have used; else counted from the text.
    pub usage: Option<ScriptedUsage>,
}

/// A tool call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub name: String,
    #[serde(default)]
    pub input: toml::Table,
}

/// What one of the last tool results must be; absent = anything.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The tool's name.
    pub tool: Option<String>,
    pub is_error: Option<bool>,
    pub contains: Option<String>,
}

/// A failing request.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// HTTP status.
    pub status: u16,
    /// How many requests of this step fail.
    #[serde(default = "once")]
    pub times: u32,
    /// What the server asks to wait.
    pub retry_after_ms: Option<u64>,
}

const fn once() -> u32 {
    1
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    PauseTurn,
    Refusal,
    ModelContextWindowExceeded,
}

impl StopReason {
    /// The provider's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            StopReason::EndTurn => "end_turn",
            StopReason::ToolUse => "tool_use",
            StopReason::MaxTokens => "max_tokens",
            StopReason::StopSequence => "stop_sequence",
            StopReason::PauseTurn => "pause_turn",
            StopReason::Refusal => "refusal",
            StopReason::ModelContextWindowExceeded => "model_context_window_exceeded",
        }
    }
}

/// A script that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script {file}{place}: {why}")]
pub struct ScriptError {
    pub file: String,
    /// ` (line 7, step 2)`, or empty.
    place: String,
    pub why: String,
}

impl Script {
    /// Reads and checks a script; `file` is for messages.
    ///
    /// # Errors
    /// What is wrong, with the line and the step it is in.
    pub fn parse(file: &str, text: &str) -> Result<Script, ScriptError> {
        let error = |place: String, why: String| ScriptError { file: file.to_owned(), place, why };
        if text.len() > MAX_BYTES {
            return Err(error(String::new(), format!("it is longer than {} MiB", MAX_BYTES >> 20)));
        }
        let script: Script = toml::from_str(text).map_err(|bad| {
            let place = bad.span().map(|span| place(text, span.start)).unwrap_or_default();
            error(place, bad.message().to_owned())
        })?;
        if script.steps.is_empty() {
            return Err(error(String::new(), "it has no [[step]]".to_owned()));
        }
        if script.steps.len() > MAX_STEPS || script.agent.steps.len() > MAX_STEPS {
            return Err(error(String::new(), format!("it has more than {MAX_STEPS} steps")));
        }
        for (kind, steps) in [("step", &script.steps), ("agent step", &script.agent.steps)] {
            for (index, step) in steps.iter().enumerate() {
                step.check().map_err(|why| error(format!(" ({kind} {})", index + 1), why))?;
            }
        }
        Ok(script)
    }
}

impl Step {
    fn check(&self) -> Result<(), String> {
        if self.tools.iter().any(|call| call.name.trim().is_empty()) {
            return Err("a tool has an empty name".to_owned());
        }
        if let Some(error) = self.error
            && !(300..=599).contains(&error.status)
        {
            return Err(format!("error.status must be an HTTP status from 300 to 599, not {}", error.status));
        }
        if self.stop == Some(StopReason::ToolUse) && self.tools.is_empty() {
            return Err("it stops with tool_use but has no [[step.tool]]".to_owned());
        }
        if self.stall_ms > MAX_WAIT_MS || self.delay_ms.unwrap_or(0) > MAX_WAIT_MS {
            return Err(format!("stall_ms and delay_ms are at most {MAX_WAIT_MS}"));
        }
        Ok(())
    }
}

/// The line of a byte offset, and the step whose header is the last one before it.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let line_end = text.get(offset..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| offset + length);
    let mut steps = 0;
    let mut agent_steps = 0;
    let mut last = None;
    for line in text.get(..line_end).unwrap_or(text).lines() {
        match line.split('#').next().unwrap_or_default().trim() {
            "[[step]]" => {
                steps += 1;
                last = Some(("step", steps));
            }
            "[[agent.step]]" => {
                agent_steps += 1;
                last = Some(("agent step", agent_steps));
            }
            _ => {}
        }
    }
    match last {
        Some((kind, number)) => format!(" (line {line}, {kind} {number})"),
        None => format!(" (line {line})"),
    }
}

#[cfg(test)]
mod tests;
