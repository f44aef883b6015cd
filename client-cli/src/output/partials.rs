//! Pieces of a message as `stream_event` lines, in the order of the Messages API's own stream. The whole message follows them.
//!
//! What the daemon does not stream is left open: the model, and a call's id and name before the call is whole.

use agentd_types::event::AssistantMessage;
use agentd_types::live::{Delta, DeltaKind};
use agentd_types::{MessageId, SessionId};
use serde_json::{Value, json};

use super::result::usage;

/// The message in progress.
pub struct Partials {
    session: SessionId,
    open: Option<Open>,
}

struct Open {
    message: MessageId,
    block: Option<u32>,
}

impl Partials {
    pub fn new(session: SessionId) -> Partials {
        Partials { session, open: None }
    }

    /// The lines of a delta: what it begins, then itself.
    pub fn delta(&mut self, delta: &Delta) -> Vec<Value> {
        let mut events = Vec::new();
        if self.open.as_ref().is_none_or(|open| open.message != delta.message) {
            // One that broke off never gets its end: that is how it reads in the original, too.
            self.open = Some(Open { message: delta.message, block: None });
            events.push(json!({
                "type": "message_start",
                "message": {"id": delta.message.to_string(), "type": "message", "role": "assistant", "content": [], "stop_reason": null},
            }));
        }
        if let Some(open) = &mut self.open
            && open.block != Some(delta.block)
        {
            events.extend(open.block.map(stop));
            open.block = Some(delta.block);
            events.push(json!({"type": "content_block_start", "index": delta.block, "content_block": empty(delta.kind)}));
        }
        let piece = match delta.kind {
            DeltaKind::Text => json!({"type": "text_delta", "text": delta.text}),
            DeltaKind::Thinking => json!({"type": "thinking_delta", "thinking": delta.text}),
            DeltaKind::ToolInput => json!({"type": "input_json_delta", "partial_json": delta.text}),
        };
        events.push(json!({"type": "content_block_delta", "index": delta.block, "delta": piece}));
        events.into_iter().map(|event| self.line(event)).collect()
    }

    /// The message is whole: the ends of what its pieces began.
    pub fn finish(&mut self, message: &AssistantMessage) -> Vec<Value> {
        let Some(open) = self.open.take_if(|open| open.message == message.message) else { return Vec::new() };
        let mut events: Vec<Value> = open.block.map(stop).into_iter().collect();
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": message.stop_reason}, "usage": usage(&message.usage)}));
        events.push(json!({"type": "message_stop"}));
        events.into_iter().map(|event| self.line(event)).collect()
    }

    fn line(&self, event: Value) -> Value {
        let uuid = uuid::Uuid::now_v7().to_string();
        json!({"type": "stream_event", "event": event, "parent_tool_use_id": null, "uuid": uuid, "session_id": self.session.to_string()})
    }
}

fn stop(block: u32) -> Value {
    json!({"type": "content_block_stop", "index": block})
}

fn empty(kind: DeltaKind) -> Value {
    match kind {
        DeltaKind::Text => json!({"type": "text", "text": ""}),
        DeltaKind::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
        DeltaKind::ToolInput => json!({"type": "tool_use", "id": null, "name": null, "input": {}}),
    }
}

#[cfg(test)]
mod tests;
