//! The stored history as messages a provider takes. Pure, idempotent, and stable: what was sent once is sent again.

use std::collections::HashSet;
use std::sync::Arc;

use agentd_types::content::{ResultPart, Role};
use agentd_types::{Block, Json, ToolUseId};

use super::pairing::{self, append, is_blank};
use super::transcript::{Repairs, Said};
use crate::model::catalog;
use crate::model::{ApiMessage, repair};

/// What stands in an assistant message without content.
const NO_CONTENT: &str = "(no content)";
/// What stands in a tool result without content.
const NO_OUTPUT: &str = "(no output)";
/// What a user says where a request needs one.
const CARRY_ON: &str = "Continue.";

/// A request's messages, and what was repaired to get them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized {
    pub messages: Vec<ApiMessage>,
    pub repairs: Repairs,
}

/// Makes messages out of `history` (from the last compact boundary on) that `model` takes. Every decision about a message
/// looks at it and at what came before, so that the result for a longer history begins with the result for this one,
/// provided that this one ends with a user and owes no result. Blocks are shared; a new one is made for a repair only.
#[must_use]
pub fn normalize(history: &[Said], model: &str) -> Normalized {
    shape(history, model, Tail::Users)
}

/// The same for an answer that paused itself: it stays the last message, and is sent back as it is.
#[must_use]
pub fn resend(history: &[Said], model: &str) -> Normalized {
    shape(history, model, Tail::AsItIs)
}

/// Whose the last message must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Users,
    AsItIs,
}

fn shape(history: &[Said], model: &str, tail: Tail) -> Normalized {
    let mut repairs = Repairs::default();
    let mut calls = HashSet::new();
    let mut turns: Vec<ApiMessage> = Vec::with_capacity(history.len());
    for said in history {
        let content = match said.role {
            Role::Assistant => clean_assistant(said, model, &mut calls, &mut repairs),
            Role::User => clean_user(said, &mut repairs),
        };
        if content.is_empty() {
            repairs.empty_messages += 1;
        } else {
            append(ApiMessage { role: said.role, content }, &mut turns);
        }
    }
    let mut messages = pairing::pair(turns, &mut repairs);
    if messages.first().is_some_and(|message| message.role == Role::Assistant) {
        repairs.added_messages += 1;
        messages.insert(0, carry_on());
    }
    let is_open = match messages.last() {
        None => true,
        Some(last) => last.role == Role::Assistant && tail == Tail::Users,
    };
    if is_open {
        repairs.added_messages += 1;
        messages.push(carry_on());
    }
    Normalized { messages, repairs }
}

fn carry_on() -> ApiMessage {
    ApiMessage { role: Role::User, content: vec![Arc::new(Block::text(CARRY_ON))] }
}

/// What of an assistant message goes out; nothing = the message is dropped.
fn clean_assistant(said: &Said, model: &str, calls: &mut HashSet<ToolUseId>, repairs: &mut Repairs) -> Vec<Arc<Block>> {
    if said.content.is_empty() {
        repairs.filled_messages += 1;
        return vec![Arc::new(Block::text(NO_CONTENT))];
    }
    let readable = said.model.as_deref().is_some_and(|writer| catalog::reads_thinking(model, writer));
    let mut content = Vec::with_capacity(said.content.len());
    for block in &said.content {
        match &**block {
            Block::Text { text } if text.trim().is_empty() => repairs.blank_texts += 1,
            Block::Text { .. } => content.push(Arc::clone(block)),
            Block::Thinking { .. } | Block::RedactedThinking { .. } if readable => content.push(Arc::clone(block)),
            Block::Thinking { .. } | Block::RedactedThinking { .. } => repairs.foreign_thinking += 1,
            Block::Other { json } if readable && is_unknown_kind(json) => content.push(Arc::clone(block)),
            Block::Other { .. } => repairs.internal_blocks += 1,
            Block::ToolUse { id, .. } if !repair::is_good_id(id.as_str()) || !calls.insert(id.clone()) => repairs.duplicate_calls += 1,
            Block::ToolUse { id, name, input } => content.push(mended_call(block, id, name, input, repairs)),
            Block::ToolResult { .. } | Block::Image { .. } => repairs.misplaced_blocks += 1,
        }
    }
    while content.last().is_some_and(|block| matches!(**block, Block::Thinking { .. } | Block::RedactedThinking { .. })) {
        repairs.orphaned_thinking += 1;
        content.pop();
    }
    content
}

fn clean_user(said: &Said, repairs: &mut Repairs) -> Vec<Arc<Block>> {
    let mut content = Vec::with_capacity(said.content.len());
    for block in &said.content {
        match &**block {
            Block::Text { text } if text.trim().is_empty() => repairs.blank_texts += 1,
            Block::Text { .. } | Block::Image { .. } => content.push(Arc::clone(block)),
            Block::Other { json } if is_unknown_kind(json) => content.push(Arc::clone(block)),
            Block::ToolResult { tool_use_id, content: parts, is_error } if parts.is_empty() || parts.iter().any(is_blank) => {
                repairs.blank_results += 1;
                content.push(mended_result(tool_use_id, parts, *is_error));
            }
            Block::ToolResult { .. } => content.push(Arc::clone(block)),
            Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolUse { .. } | Block::Other { .. } => {
                repairs.misplaced_blocks += 1;
            }
        }
    }
    content
}

/// A call as providers take it. Stored calls are good already; this is for histories that came from elsewhere.
fn mended_call(block: &Arc<Block>, id: &ToolUseId, name: &str, input: &Json, repairs: &mut Repairs) -> Arc<Block> {
    if repair::is_good_name(name) && input.is_object() {
        return Arc::clone(block);
    }
    repairs.odd_calls += 1;
    let name = if repair::is_good_name(name) { name.to_owned() } else { repair::good_name(name) };
    let input = if input.is_object() { input.clone() } else { repair::stand_in(input.as_str(), "it is JSON, but not an object") };
    Arc::new(Block::ToolUse { id: id.clone(), name, input })
}

fn mended_result(call: &ToolUseId, parts: &[ResultPart], is_error: bool) -> Arc<Block> {
    let mut content: Vec<ResultPart> = parts.iter().filter(|part| !is_blank(part)).cloned().collect();
    if content.is_empty() {
        content.push(ResultPart::Text { text: NO_OUTPUT.to_owned() });
    }
    Arc::new(Block::ToolResult { tool_use_id: call.clone(), content, is_error })
}

/// Whether this is an object of a kind that has no variant of its own: anything else cannot be judged, and does not go out.
fn is_unknown_kind(json: &Json) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    json.read::<Kind<'_>>()
        .is_ok_and(|it| !matches!(&*it.kind, "text" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result" | "image"))
}

#[cfg(test)]
mod tests;
