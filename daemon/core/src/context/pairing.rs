//! Every tool call has its result, at once and in order: check and repair. It never runs a call to get one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentd_types::content::{ResultPart, Role};
use agentd_types::{Block, ToolUseId};

use super::transcript::Repairs;
use crate::model::ApiMessage;

/// What a call without a result is answered with.
pub const MISSING_RESULT: &str = "No result of this call was recorded: it may have run, in part or not at all.";

/// Why a provider would refuse a list of messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("there is no message")]
    NoMessage,
    #[error("message {0} has the same role as the one before")]
    SameRole(usize),
    #[error("the first and the last message must be the user's")]
    Ends,
    #[error("message {0} has no content")]
    Empty(usize),
    #[error("message {0} holds blank text")]
    Blank(usize),
    #[error("message {0} holds a block that its role cannot say")]
    Misplaced(usize),
    #[error("message {0} ends with thinking")]
    TrailingThinking(usize),
    #[error("call `{0}` occurs twice")]
    DuplicateCall(ToolUseId),
    #[error("message {0} does not begin with the results of the calls before it, in their order")]
    Unpaired(usize),
}

/// Whether a provider would take these messages.
///
/// # Errors
/// The first flaw, from the front.
pub fn check(messages: &[ApiMessage]) -> Result<(), Flaw> {
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else { return Err(Flaw::NoMessage) };
    if first.role != Role::User || last.role != Role::User {
        return Err(Flaw::Ends);
    }
    let mut ids = HashSet::new();
    let mut owed: Vec<&ToolUseId> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if index > 0 && messages[index - 1].role == message.role {
            return Err(Flaw::SameRole(index));
        }
        check_blocks(index, message)?;
        let results = results_of(message);
        let leading = message.content.iter().take_while(|block| matches!(***block, Block::ToolResult { .. })).count();
        if results != owed || leading != results.len() {
            return Err(Flaw::Unpaired(index));
        }
        owed = calls_of(message);
        if let Some(twice) = owed.iter().find(|id| !ids.insert((**id).clone())) {
            return Err(Flaw::DuplicateCall((*twice).clone()));
        }
    }
    Ok(())
}

fn check_blocks(index: usize, message: &ApiMessage) -> Result<(), Flaw> {
    let last = message.content.last().ok_or(Flaw::Empty(index))?;
    if matches!(**last, Block::Thinking { .. } | Block::RedactedThinking { .. }) {
        return Err(Flaw::TrailingThinking(index));
    }
    for block in &message.content {
        let fits = match &**block {
            Block::Text { text } if text.trim().is_empty() => return Err(Flaw::Blank(index)),
            Block::ToolResult { content, .. } if content.iter().any(is_blank) => return Err(Flaw::Blank(index)),
            Block::Text { .. } | Block::Other { .. } => true,
            Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolUse { .. } => message.role == Role::Assistant,
            Block::ToolResult { .. } | Block::Image { .. } => message.role == Role::User,
        };
        if !fits {
            return Err(Flaw::Misplaced(index));
        }
    }
    Ok(())
}

/// Gives every assistant message's calls their results: first in the user message after it, in the calls' order. Results
/// without a call in the message before, and second results, go. `turns` alternate in role and have unique call ids.
pub(super) fn pair(turns: Vec<ApiMessage>, repairs: &mut Repairs) -> Vec<ApiMessage> {
    let mut out: Vec<ApiMessage> = Vec::with_capacity(turns.len() + 1);
    for turn in turns {
        match turn.role {
            Role::Assistant => {
                settle(Vec::new(), &mut out, repairs);
                append(turn, &mut out);
            }
            Role::User => settle(turn.content, &mut out, repairs),
        }
    }
    settle(Vec::new(), &mut out, repairs);
    out
}

/// Appends a user message made of `content` whose results are exactly those the last message's calls need.
fn settle(content: Vec<Arc<Block>>, out: &mut Vec<ApiMessage>, repairs: &mut Repairs) {
    let calls: Vec<ToolUseId> = out.last().map(calls_of).unwrap_or_default().into_iter().cloned().collect();
    let mut results: HashMap<ToolUseId, Arc<Block>> = HashMap::new();
    let mut rest = Vec::new();
    for block in content {
        let Block::ToolResult { tool_use_id, .. } = &*block else {
            rest.push(block);
            continue;
        };
        if !calls.contains(tool_use_id) {
            repairs.orphaned_results += 1;
        } else if results.contains_key(tool_use_id) {
            repairs.duplicate_results += 1;
        } else {
            results.insert(tool_use_id.clone(), Arc::clone(&block));
        }
    }
    let mut settled = Vec::with_capacity(calls.len() + rest.len());
    for call in calls {
        settled.push(results.remove(&call).unwrap_or_else(|| {
            repairs.missing_results += 1;
            missing(call)
        }));
    }
    settled.append(&mut rest);
    if !settled.is_empty() {
        append(ApiMessage { role: Role::User, content: settled }, out);
    }
}

/// Appends, joining messages of one role.
pub(super) fn append(message: ApiMessage, out: &mut Vec<ApiMessage>) {
    match out.last_mut() {
        Some(last) if last.role == message.role => last.content.extend(message.content),
        Some(_) | None => out.push(message),
    }
}

/// A text part that shows nothing.
pub(super) fn is_blank(part: &ResultPart) -> bool {
    match part {
        ResultPart::Text { text } => text.trim().is_empty(),
        ResultPart::Image { .. } => false,
    }
}

fn missing(call: ToolUseId) -> Arc<Block> {
    let content = vec![ResultPart::Text { text: MISSING_RESULT.to_owned() }];
    Arc::new(Block::ToolResult { tool_use_id: call, content, is_error: true })
}

fn calls_of(message: &ApiMessage) -> Vec<&ToolUseId> {
    message.content.iter().filter(|block| matches!(***block, Block::ToolUse { .. })).filter_map(|block| named(block)).collect()
}

fn results_of(message: &ApiMessage) -> Vec<&ToolUseId> {
    message.content.iter().filter(|block| matches!(***block, Block::ToolResult { .. })).filter_map(|block| named(block)).collect()
}

/// The call a block is, or answers.
fn named(block: &Block) -> Option<&ToolUseId> {
    match block {
        Block::ToolUse { id, .. } => Some(id),
        Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        Block::Text { .. } | Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::Image { .. } | Block::Other { .. } => None,
    }
}

#[cfg(test)]
mod tests;
