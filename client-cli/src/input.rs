//! Lines of `--input-format stream-json`: read on a thread of their own, and what each one means. It submits nothing.

use std::io::{BufRead, Read};

use agentd_types::Block;
use agentd_types::queue::Priority;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Bytes of one line at most: 10 MB.
const MAX_LINE: u64 = 10 * 1024 * 1024;
/// Lines read and not yet acted upon.
const READ_AHEAD: usize = 4;

/// What a line asks for.
#[derive(Debug, PartialEq)]
pub enum Said {
    Message {
        content: Vec<Block>,
        priority: Priority,
    },
    /// End what runs.
    Interrupt {
        request_id: Value,
    },
    /// A request that is not served here; its sender gets this answer.
    Refused {
        answer: Value,
    },
    Nothing,
}

/// Lines of stdin as they come; an error is the last.
pub fn lines() -> mpsc::Receiver<Result<String, String>> {
    let (to, from) = mpsc::channel(READ_AHEAD);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        while let Some(line) = next_line(&mut stdin).transpose() {
            let over = line.is_err();
            if to.blocking_send(line).is_err() || over {
                return;
            }
        }
    });
    from
}

fn next_line(reader: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    reader.take(MAX_LINE + 1).read_until(b'\n', &mut bytes).map_err(|error| format!("stdin: {error}"))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() as u64 > MAX_LINE {
        return Err("a line of stdin is longer than 10 MB".to_owned());
    }
    String::from_utf8(bytes).map(Some).map_err(|error| format!("stdin is no text: {error}"))
}

/// Reads one line.
///
/// # Errors
/// What is wrong with it.
pub fn parse(line: &str) -> Result<Said, String> {
    if line.trim().is_empty() {
        return Ok(Said::Nothing);
    }
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    match value["type"].as_str() {
        Some("user") => Ok(Said::Message { content: content(&value["message"])?, priority: priority(&value["priority"])? }),
        Some("control_request") if value["request"]["subtype"] == "interrupt" => {
            Ok(Said::Interrupt { request_id: value["request_id"].clone() })
        }
        Some("control_request") => {
            let subtype = value["request"]["subtype"].as_str().unwrap_or("without a subtype");
            let why = format!("control request `{subtype}` is not served here");
            let response = json!({"subtype": "error", "request_id": value["request_id"], "error": why});
            Ok(Said::Refused { answer: json!({"type": "control_response", "response": response}) })
        }
        Some("keep_alive" | "control_cancel_request" | "control_response") => Ok(Said::Nothing),
        Some(other) => Err(format!("type `{other}` is not known; messages look like {EXAMPLE}")),
        None => Err(format!("there is no `type`; messages look like {EXAMPLE}")),
    }
}

const EXAMPLE: &str = r#"{"type":"user","message":{"role":"user","content":"hello"}}"#;

/// The answer to an interrupt that was carried out.
pub fn interrupted(request_id: &Value) -> Value {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": request_id, "response": {}}})
}

fn priority(value: &Value) -> Result<Priority, String> {
    match value.as_str() {
        None | Some("next") => Ok(Priority::Next),
        Some("now") => Ok(Priority::Now),
        Some("later") => Ok(Priority::Later),
        Some(other) => Err(format!("priority `{other}` is not now, next or later")),
    }
}

fn content(message: &Value) -> Result<Vec<Block>, String> {
    if let Some(role) = message["role"].as_str().filter(|role| *role != "user") {
        return Err(format!("message.role must be user, not `{role}`"));
    }
    let blocks = match &message["content"] {
        Value::String(text) => vec![Block::text(text.as_str())],
        Value::Array(blocks) => blocks.iter().map(block).collect::<Result<_, _>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("message.content must be a text or a list of blocks".to_owned());
        }
    };
    let empty = |block: &Block| block.as_text().is_some_and(|text| text.trim().is_empty());
    if blocks.iter().all(empty) { Err("message.content is empty".to_owned()) } else { Ok(blocks) }
}

fn block(block: &Value) -> Result<Block, String> {
    let text = |value: &Value, what: &str| value.as_str().map(str::to_owned).ok_or_else(|| format!("a block without {what}"));
    match block["type"].as_str() {
        Some("text") => Ok(Block::text(text(&block["text"], "text")?)),
        Some("image") if block["source"]["type"] == "base64" => Ok(Block::Image {
            media_type: text(&block["source"]["media_type"], "source.media_type")?,
            data: text(&block["source"]["data"], "source.data")?,
        }),
        Some("image") => Err("images are taken as base64 only".to_owned()),
        Some(other) => Err(format!("a block of type `{other}` cannot be submitted; text and image can")),
        None => Err("a block without a type".to_owned()),
    }
}

#[cfg(test)]
mod tests;
