//! Whether the last tool results are what a step expects; if not, what differed. It never changes a result.

use std::fmt::Write;

use agentd_core::model::{ApiMessage, ErrorClass, ModelError};
use agentd_core::session::recover::{NEVER_STARTED, OUTCOME_UNKNOWN};
use agentd_types::content::{ResultPart, Role};
use agentd_types::{Block, ToolUseId};

use super::script::Expect;

/// Characters of a result that are shown in a miss.
const SHOWN: usize = 300;

/// A result in the last message, with the name of its tool.
struct LastResult<'a> {
    tool: &'a str,
    is_error: bool,
    text: String,
}

/// Checks `expect` against the results in the last message: one of them must fit.
///
/// # Errors
/// Class `ExpectFailed`, saying what was expected of step `number` (from 1) and what there was.
pub fn check(expect: &Expect, number: u32, messages: &[ApiMessage]) -> Result<(), ModelError> {
    let results = last_results(messages);
    if results.iter().any(|result| fits(expect, result)) {
        return Ok(());
    }
    // What a crash cut has no outcome to be checked: the script goes on when a person does.
    if results.iter().any(|result| result.text == OUTCOME_UNKNOWN || result.text == NEVER_STARTED) {
        tracing::info!(step = number, "the expectation is not checked: the daemon was killed in the middle of the call");
        return Ok(());
    }
    let mut message = format!("step {number} of the script expected a result{}", wanted(expect));
    if results.is_empty() {
        message.push_str("; there was no tool result");
    } else {
        message.push_str("; there was:");
    }
    for result in &results {
        let shown: String = result.text.chars().take(SHOWN).collect();
        let more = if shown.len() < result.text.len() { "…" } else { "" };
        let _ = write!(message, "\n  {} (is_error = {}): {shown:?}{more}", result.tool, result.is_error);
    }
    Err(ModelError { class: ErrorClass::ExpectFailed, status: None, message, retry_after_ms: None })
}

fn fits(expect: &Expect, result: &LastResult<'_>) -> bool {
    expect.tool.as_deref().is_none_or(|tool| tool == result.tool)
        && expect.is_error.is_none_or(|is_error| is_error == result.is_error)
        && expect.contains.as_deref().is_none_or(|part| result.text.contains(part))
}

fn wanted(expect: &Expect) -> String {
    let mut text = String::new();
    if let Some(tool) = &expect.tool {
        let _ = write!(text, " of {tool}");
    }
    if let Some(is_error) = expect.is_error {
        let _ = write!(text, " with is_error = {is_error}");
    }
    if let Some(part) = &expect.contains {
        let _ = write!(text, " that contains {part:?}");
    }
    text
}

fn last_results(messages: &[ApiMessage]) -> Vec<LastResult<'_>> {
    let Some((last, before)) = messages.split_last() else { return Vec::new() };
    if last.role != Role::User {
        return Vec::new();
    }
    last.content
        .iter()
        .filter_map(|block| match &**block {
            Block::ToolResult { tool_use_id, content, is_error } => {
                Some(LastResult { tool: tool_of(tool_use_id, before), is_error: *is_error, text: text_of(content) })
            }
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse { .. }
            | Block::Image { .. }
            | Block::Other { .. } => None,
        })
        .collect()
}

/// The name of the tool that was called with this id.
fn tool_of<'a>(call: &ToolUseId, messages: &'a [ApiMessage]) -> &'a str {
    let calls = messages.iter().rev().flat_map(|message| message.content.iter());
    calls
        .filter_map(|block| match &**block {
            Block::ToolUse { id, name, .. } if id == call => Some(name.as_str()),
            Block::ToolUse { .. }
            | Block::Text { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolResult { .. }
            | Block::Image { .. }
            | Block::Other { .. } => None,
        })
        .next()
        .unwrap_or("?")
}

fn text_of(parts: &[ResultPart]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .map(|part| match part {
            ResultPart::Text { text } => text.as_str(),
            ResultPart::Image { .. } => "[image]",
        })
        .collect();
    texts.join("\n")
}
