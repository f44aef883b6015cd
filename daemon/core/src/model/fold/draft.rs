//! A block while it grows, and what becomes of it when the message is closed. It never shows anything.

use std::collections::BTreeMap;

use agentd_types::{Block, Json, ToolUseId};

use super::FoldEnd;
use crate::model::repair::{self, Repair};
use crate::model::stream::BlockStart;

/// A block that grows.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: DraftKind,
    pub(super) stopped: bool,
}

#[derive(Debug)]
pub(super) enum DraftKind {
    Text(String),
    Thinking { thinking: String, signature: String },
    Redacted(String),
    ToolUse { id: ToolUseId, name: String, given: Option<Json>, pieces: String },
    Other { json: Json, pieces: String },
}

/// Whether the last call may have been cut in its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutCalls {
    Possible,
    Impossible,
}

/// Where a draft stands when the message is closed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) end: FoldEnd,
    pub(super) cut_calls: CutCalls,
    pub(super) is_last: bool,
}

/// The block of a draft; none when there is nothing to store.
pub(super) fn close(draft: Draft, place: Place, repairs: &mut Vec<Repair>) -> Option<Block> {
    let cut = place.end == FoldEnd::Cut && !draft.stopped;
    match draft.kind {
        DraftKind::Text(text) if text.trim().is_empty() => None,
        DraftKind::Text(text) => Some(Block::Text { text }),
        DraftKind::Thinking { .. } | DraftKind::Redacted(_) | DraftKind::Other { .. } if cut => None,
        DraftKind::Thinking { thinking, signature } => {
            // Nothing in it and nothing signed: no provider would take it back.
            (!thinking.is_empty() || !signature.is_empty()).then_some(Block::Thinking { thinking, signature })
        }
        DraftKind::Redacted(data) => Some(Block::RedactedThinking { data }),
        DraftKind::Other { json, pieces } => Some(Block::Other { json: with_input(json, &pieces) }),
        DraftKind::ToolUse { id, name, given, pieces } => {
            if cut {
                repairs.push(Repair::CutCall { call: id, name });
                return None;
            }
            close_call(Call { id, name, given, pieces }, place, repairs)
        }
    }
}

struct Call {
    id: ToolUseId,
    name: String,
    given: Option<Json>,
    pieces: String,
}

fn close_call(call: Call, place: Place, repairs: &mut Vec<Repair>) -> Option<Block> {
    let Call { id, name, given, pieces } = call;
    // A whole input at the start counts only where no pieces came; providers start with an empty one.
    let text = if pieces.trim().is_empty() { given.as_ref().map_or("", Json::as_str) } else { &pieces };
    let nothing_came = pieces.trim().is_empty() && given.as_ref().is_none_or(|it| it.as_str() == "{}");
    let may_be_cut = place.cut_calls == CutCalls::Possible;
    if may_be_cut && place.is_last && nothing_came {
        repairs.push(Repair::CutCall { call: id, name });
        return None;
    }
    match repair::read_input(text) {
        Ok(input) => Some(Block::ToolUse { id, name, input }),
        Err(bad) if bad.cut && may_be_cut => {
            repairs.push(Repair::CutCall { call: id, name });
            None
        }
        Err(bad) => {
            let input = repair::stand_in(text, &bad.why);
            repairs.push(Repair::Input { call: id.clone(), why: bad.why });
            Some(Block::ToolUse { id, name, input })
        }
    }
}

/// A block we do not know whose `input` came in pieces (a server's own tool call): the pieces are its input.
fn with_input(json: Json, pieces: &str) -> Json {
    if pieces.is_empty() {
        return json;
    }
    let Ok(input) = Json::parse(pieces) else { return json };
    let Ok(mut fields) = json.read::<BTreeMap<String, Json>>() else { return json };
    fields.insert("input".to_owned(), input);
    Json::of(&fields).unwrap_or(json)
}

/// Drops thinking: its signature covers what was repaired.
pub(super) fn drop_thinking(blocks: &mut Vec<Block>, repairs: &mut Vec<Repair>) {
    let before = blocks.len();
    blocks.retain(|block| !matches!(block, Block::Thinking { .. } | Block::RedactedThinking { .. }));
    let dropped = before - blocks.len();
    if dropped > 0 {
        repairs.push(Repair::Thinking { blocks: u32::try_from(dropped).unwrap_or(u32::MAX) });
    }
}

pub(super) fn size(block: &BlockStart) -> usize {
    match block {
        BlockStart::Text { text } => text.len(),
        BlockStart::Thinking { thinking, signature } => thinking.len() + signature.len(),
        BlockStart::RedactedThinking { data } => data.len(),
        BlockStart::ToolUse { id, name, input } => id.as_str().len() + name.len() + input.as_ref().map_or(0, |it| it.as_str().len()),
        BlockStart::Other { json } => json.as_str().len(),
    }
}
