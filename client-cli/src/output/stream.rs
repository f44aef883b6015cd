//! Events as stream-json lines: the reference's shapes for a run, one durable event a line for a log.

use agentd_types::event::UserKind;
use agentd_types::live::{Delta, DeltaKind};
use agentd_types::system::System;
use agentd_types::{Block, Body, Event};
use serde_json::{Value, json};

use super::result::{self, value};
use super::timestamp;

/// The lines of a run for one event; none for what scripts do not know.
pub fn lines(event: &Event) -> Vec<Value> {
    let session = event.session.to_string();
    let parent = event.parent_tool_use.as_ref().map(|it| it.as_str().to_owned());
    let uuid = format!("{session}:{}", event.seq);
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
        Body::Assistant(message) => message
            .content
            .iter()
            .map(|it| {
                json!({
                    "type": "assistant",
                    "message": {
                        "id": message.api_id, "type": "message", "role": "assistant", "model": message.model, "content": [block(it)],
                        "stop_reason": null, "stop_sequence": null,
                        "usage": {"input_tokens": message.usage.input, "output_tokens": message.usage.output},
                    },
                    "parent_tool_use_id": parent, "uuid": uuid, "session_id": session,
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
        | Body::Tombstone { .. }
        | Body::PermissionRequest(_)
        | Body::PermissionResolved(_)
        | Body::Queue(_) => Vec::new(),
    }
}

/// A delta as a `stream_event` line.
pub fn delta(session: &str, delta: &Delta) -> Value {
    let piece = match delta.kind {
        DeltaKind::Text => json!({"type": "text_delta", "text": delta.text}),
        DeltaKind::Thinking => json!({"type": "thinking_delta", "thinking": delta.text}),
        DeltaKind::ToolInput => json!({"type": "input_json_delta", "partial_json": delta.text}),
    };
    json!({
        "type": "stream_event", "event": {"type": "content_block_delta", "index": delta.block, "delta": piece},
        "parent_tool_use_id": null, "uuid": delta.message.to_string(), "session_id": session,
    })
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
