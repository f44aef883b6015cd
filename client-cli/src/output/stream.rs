//! Events as stream-json lines: the reference's shapes for a run, one durable event a line for a log.

use agentd_types::event::UserKind;
use agentd_types::system::System;
use agentd_types::{Block, Body, Event};
use serde_json::{Value, json};

use super::result::{self, value};
use super::timestamp;

/// The lines of a run for one event; none for what scripts do not know.
pub fn lines(event: &Event) -> Vec<Value> {
    let session = event.session.to_string();
    let parent = event.parent_tool_use.as_ref().map(|it| it.as_str().to_owned());
    let uuid = uuid(event, 0);
    match &event.body {
        Body::System(System::Init(init)) => vec![json!({
            "type": "system", "subtype": "init", "cwd": init.cwd.to_string(), "session_id": session, "tools": init.tools,
            "mcp_servers": [], "model": init.model, "permissionMode": init.permission_mode.name(), "slash_commands": [],
            "apiKeySource": init.api_key_source, "claude_code_version": init.version, "output_style": "default", "skills": [],
            "plugins": [], "uuid": uuid,
        })],
        Body::System(System::ApiRetry(retry)) => vec![json!({
            "type": "system", "subtype": "api_retry", "attempt": retry.attempt, "max_retries": retry.max_retries,
            "retry_delay_ms": retry.delay_ms, "error_status": retry.status, "error": retry.error, "uuid": uuid, "session_id": session,
        })],
        Body::System(System::ModelFallback(fallback)) => vec![json!({
            "type": "system", "subtype": "model_fallback", "from": fallback.from, "to": fallback.to, "error": fallback.error,
            "reason": fallback.reason, "uuid": uuid, "session_id": session,
        })],
        Body::System(System::Notice { text }) => vec![json!({
            "type": "system", "subtype": "informational", "content": text, "level": "notice", "uuid": uuid, "session_id": session,
        })],
        // Ours: a message that was shown in pieces and does not count.
        Body::Tombstone { message, reason } => vec![json!({
            "type": "tombstone", "message_id": message.to_string(), "reason": reason, "uuid": uuid, "session_id": session,
        })],
        Body::Assistant(message) => message
            .content
            .iter()
            .enumerate()
            .map(|(index, it)| {
                json!({
                    "type": "assistant",
                    "message": {
                        "id": message.api_id, "type": "message", "role": "assistant", "model": message.model, "content": [block(it)],
                        "stop_reason": null, "stop_sequence": null,
                        "usage": result::usage(&message.usage),
                    },
                    "parent_tool_use_id": parent, "uuid": self::uuid(event, index), "session_id": session,
                })
            })
            .collect(),
        Body::User(user) if user.kind == UserKind::ToolResults => vec![json!({
            "type": "user", "message": {"role": "user", "content": user.content.iter().map(block).collect::<Vec<_>>()},
            "parent_tool_use_id": parent, "uuid": uuid, "session_id": session,
        })],
        Body::Result(submission) => vec![result::object(event.session, submission)],
        Body::User(_)
        | Body::Attachment(_)
        | Body::System(_)
        | Body::PermissionRequest(_)
        | Body::PermissionResolved(_)
        | Body::Question(_)
        | Body::Answer(_)
        | Body::Queue(_)
        | Body::Task(_) => Vec::new(),
    }
}

/// The same for the same event, another one for each of its lines.
fn uuid(event: &Event, line: usize) -> String {
    let mut bytes = *event.session.as_bytes();
    let number = event.seq.0.wrapping_shl(16) | (line as u64 & 0xffff);
    for (byte, mixed) in bytes[8..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= mixed;
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// A durable event as one line of `log`.
pub fn logged(event: &Event) -> Value {
    let mut line = serde_json::to_value(&event.body).unwrap_or(Value::Null);
    line["seq"] = json!(event.seq.0);
    line["type"] = json!(event.body.type_name());
    line["timestamp"] = json!(timestamp(event.time));
    line["session_id"] = json!(event.session.to_string());
    if let Some(submission) = event.submission {
        line["submission_id"] = json!(submission.to_string());
    }
    if let Some(agent) = event.agent {
        line["agent_id"] = json!(agent.to_string());
    }
    if let Some(call) = &event.parent_tool_use {
        line["parent_tool_use_id"] = json!(call.as_str());
    }
    if let Some(origin) = &event.origin {
        line["origin"] = serde_json::to_value(origin).unwrap_or(Value::Null);
    }
    line
}

/// A block in the Messages API's shape.
fn block(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Thinking { thinking, signature } => json!({"type": "thinking", "thinking": thinking, "signature": signature}),
        Block::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Block::ToolUse { id, name, input } => json!({"type": "tool_use", "id": id.as_str(), "name": name, "input": value(input)}),
        Block::ToolResult { tool_use_id, content, is_error } => {
            json!({"type": "tool_result", "tool_use_id": tool_use_id.as_str(), "content": content, "is_error": is_error})
        }
        Block::Image { media_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        }
        Block::Other { json } => value(json),
    }
}

#[cfg(test)]
mod tests;
