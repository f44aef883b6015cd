//! The answer's events as they come: parsed, timed, ended at the first error. It never holds more than one event of 16 MiB.

use std::collections::VecDeque;
use std::time::Duration;

use agentd_core::model::{BlockStart, ErrorClass, ModelError, Piece, StreamEvent, UsageUpdate};
use agentd_types::{Json, ToolUseId};
use serde::Deserialize;
use tokio::time::Instant;

use super::{Config, error};
use crate::models::http;
use crate::models::provider::ModelStream;
use crate::models::sse::{Decoder, SseEvent};

/// How long the rest of a finished answer is read, so that its connection can be used again.
const TAIL: Duration = Duration::from_secs(2);

/// What one event's data says.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    Event(StreamEvent),
    /// An `error` event: terminal.
    Error,
    /// A kind we do not know: nothing.
    Unknown,
}

/// The events of `response`.
pub fn open(response: reqwest::Response, config: Config) -> ModelStream {
    let reader =
        Reader { response, decoder: Decoder::default(), waiting: VecDeque::new(), deadline: Instant::now() + config.silence, config };
    Box::pin(futures_util::stream::unfold(State::Reading(Box::new(reader)), |state| async move {
        match state {
            State::Ended => None,
            State::Reading(mut reader) => match reader.next().await {
                Ok(StreamEvent::MessageStop) => {
                    tokio::spawn(read_tail(reader.response));
                    Some((Ok(StreamEvent::MessageStop), State::Ended))
                }
                Ok(event) => Some((Ok(event), State::Reading(reader))),
                Err(error) => Some((Err(error), State::Ended)),
            },
        }
    }))
}

enum State {
    Reading(Box<Reader>),
    Ended,
}

struct Reader {
    response: reqwest::Response,
    decoder: Decoder,
    waiting: VecDeque<SseEvent>,
    /// Something other than a ping must come before.
    deadline: Instant,
    config: Config,
}

impl Reader {
    async fn next(&mut self) -> Result<StreamEvent, ModelError> {
        loop {
            while let Some(event) = self.waiting.pop_front() {
                match parse(&event.data) {
                    Ok(Parsed::Event(event)) => {
                        if event != StreamEvent::Ping {
                            self.deadline = Instant::now() + self.config.silence;
                        }
                        return Ok(event);
                    }
                    Ok(Parsed::Error) => return Err(error::in_stream(&event.data, &self.config)),
                    Ok(Parsed::Unknown) => tracing::debug!(name = event.name, "an event of a kind we do not know"),
                    Err(why) => return Err(self.failure(ErrorClass::Protocol, &format!("an event cannot be read: {why}"))),
                }
            }
            self.read().await?;
        }
    }

    /// Reads until there is at least one byte more.
    async fn read(&mut self) -> Result<(), ModelError> {
        match tokio::time::timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                self.decoder.feed(&chunk, &mut self.waiting).map_err(|error| self.failure(ErrorClass::Protocol, &error.to_string()))
            }
            Ok(Ok(None)) => Err(self.failure(ErrorClass::StreamCut, "the answer broke off before its end")),
            Ok(Err(error)) if error.is_timeout() => Err(self.silence()),
            Ok(Err(error)) => {
                let why = http::chain(&error.without_url());
                Err(self.failure(ErrorClass::StreamCut, &format!("the answer broke off: {why}")))
            }
            Err(_) => Err(self.silence()),
        }
    }

    fn silence(&self) -> ModelError {
        self.failure(ErrorClass::Silence, &format!("nothing but pings came for {} s", self.config.silence.as_secs_f64()))
    }

    fn failure(&self, class: ErrorClass, what: &str) -> ModelError {
        error::failure(&self.config.base, class, what)
    }
}

/// A connection goes back to the pool only when its body was read to the end.
async fn read_tail(mut response: reqwest::Response) {
    let reading = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = tokio::time::timeout(TAIL, reading).await;
}

#[derive(Deserialize)]
struct Wire {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: u32,
    message: Option<WireMessage>,
    content_block: Option<Json>,
    delta: Option<Json>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    input_transformations: Option<Vec<WireTransformation>>,
    error: Option<Json>,
}

#[derive(Deserialize)]
struct WireMessage {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    input_transformations: Option<Vec<WireTransformation>>,
}

#[derive(Deserialize, Default)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<WireCreation>,
}

#[derive(Deserialize, Default)]
struct WireCreation {
    ephemeral_5m_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

/// A thinking block that the server dropped, or let pass.
#[derive(Deserialize)]
struct WireTransformation {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct WireKind {
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireBlock {
    text: String,
    thinking: String,
    signature: String,
    data: String,
    id: String,
    name: String,
    input: Option<Json>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireDelta {
    text: String,
    thinking: String,
    signature: String,
    partial_json: String,
    stop_reason: Option<String>,
    stop_details: Option<WireStop>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireStop {
    category: Option<String>,
}

/// Reads one event's data.
///
/// # Errors
/// Why it is none: no JSON, or a known event without what it must have.
pub fn parse(data: &str) -> Result<Parsed, String> {
    if data == "[DONE]" {
        return Ok(Parsed::Unknown);
    }
    let wire: Wire = serde_json::from_str(data).map_err(|error| error.to_string())?;
    let missing = |what: &str| format!("`{}` has no `{what}`", wire.kind);
    let index = wire.index;
    let event = match wire.kind.as_str() {
        "message_start" => {
            let message = wire.message.ok_or_else(|| missing("message"))?;
            note_transformations(message.input_transformations.as_deref());
            StreamEvent::MessageStart { api_id: message.id, model: message.model, usage: usage(message.usage) }
        }
        "content_block_start" => {
            let block = wire.content_block.as_ref().ok_or_else(|| missing("content_block"))?;
            StreamEvent::BlockStart { index, block: block_start(block)? }
        }
        "content_block_delta" => {
            let delta = wire.delta.as_ref().ok_or_else(|| missing("delta"))?;
            StreamEvent::Piece { index, piece: piece(delta)? }
        }
        "content_block_stop" => StreamEvent::BlockStop { index },
        "message_delta" => {
            note_transformations(wire.input_transformations.as_deref());
            let delta: WireDelta = match &wire.delta {
                Some(json) => json.read().map_err(|error| error.to_string())?,
                None => WireDelta::default(),
            };
            let refusal = delta.stop_details.and_then(|details| details.category);
            StreamEvent::MessageDelta { stop_reason: delta.stop_reason, refusal, usage: usage(wire.usage) }
        }
        "message_stop" => StreamEvent::MessageStop,
        "ping" => StreamEvent::Ping,
        "error" => return Ok(Parsed::Error),
        // Servers that only half speak this dialect send `{"error":{…}}`.
        _ if wire.error.is_some() => return Ok(Parsed::Error),
        _ => return Ok(Parsed::Unknown),
    };
    Ok(Parsed::Event(event))
}

fn block_start(json: &Json) -> Result<BlockStart, String> {
    let WireKind { kind } = json.read().map_err(|error| error.to_string())?;
    let is_known = matches!(kind.as_str(), "text" | "thinking" | "redacted_thinking" | "tool_use");
    if !is_known {
        return Ok(BlockStart::Other { json: json.clone() });
    }
    let block: WireBlock = json.read().map_err(|error| error.to_string())?;
    Ok(match kind.as_str() {
        "text" => BlockStart::Text { text: block.text },
        "thinking" => BlockStart::Thinking { thinking: block.thinking, signature: block.signature },
        "redacted_thinking" => BlockStart::RedactedThinking { data: block.data },
        _ => BlockStart::ToolUse { id: ToolUseId::new(block.id), name: block.name, input: block.input },
    })
}

fn piece(json: &Json) -> Result<Piece, String> {
    let WireKind { kind } = json.read().map_err(|error| error.to_string())?;
    let is_known = matches!(kind.as_str(), "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta");
    if !is_known {
        return Ok(Piece::Other);
    }
    let delta: WireDelta = json.read().map_err(|error| error.to_string())?;
    Ok(match kind.as_str() {
        "text_delta" => Piece::Text(delta.text),
        "thinking_delta" => Piece::Thinking(delta.thinking),
        "signature_delta" => Piece::Signature(delta.signature),
        _ => Piece::InputJson(delta.partial_json),
    })
}

fn usage(wire: Option<WireUsage>) -> UsageUpdate {
    let wire = wire.unwrap_or_default();
    let (write_5m, write_1h) = match wire.cache_creation {
        Some(by_life) => (by_life.ephemeral_5m_input_tokens, by_life.ephemeral_1h_input_tokens),
        None => (None, None),
    };
    UsageUpdate {
        input: wire.input_tokens,
        output: wire.output_tokens,
        cache_read: wire.cache_read_input_tokens,
        // A server that does not tell the lives apart has the short one.
        cache_write_5m: if write_5m.is_none() && write_1h.is_none() { wire.cache_creation_input_tokens } else { write_5m },
        cache_write_1h: write_1h,
    }
}

/// Thinking that the server dropped because what came before it has changed: it costs quality and says that we broke the prefix.
fn note_transformations(transformations: Option<&[WireTransformation]>) {
    for it in transformations.unwrap_or_default() {
        tracing::warn!(kind = it.kind, path = it.path, reason = it.reason, "the server did not take a thinking block as it was sent");
    }
}

#[cfg(test)]
mod tests;
