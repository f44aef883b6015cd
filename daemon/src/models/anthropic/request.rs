//! A request as the Messages API's JSON: fixed order, blocks as they came, at most four cache markers.

use std::sync::Arc;

use agentd_core::model::request::CacheMark;
use agentd_core::model::{ApiMessage, ModelRequest, Prefix, SystemPart, Thinking, catalog};
use agentd_core::tools::ToolSpec;
use agentd_types::content::{ResultPart, Role};
use agentd_types::{Block, Json};
use serde::Serialize;

/// The messages of the last request as they went out, markers aside. A conversation keeps one: what was sent is not made anew,
/// only what came since is written.
#[derive(Debug, Default)]
pub struct Written {
    /// Whose bytes these are.
    messages: Vec<ApiMessage>,
    /// Their JSON, with commas between.
    bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    ends: Vec<usize>,
}

impl Written {
    /// The request's body. Tools, system and messages come last and in the order the provider reads them, so that one request
    /// is a prefix of the next, markers aside.
    ///
    /// # Errors
    /// What serde says; our own types always have a JSON form.
    pub fn body(&mut self, request: &ModelRequest) -> Result<Vec<u8>, serde_json::Error> {
        self.catch_up(&request.messages)?;
        let mut body = head(request)?;
        // The head is an object: the messages become its last field.
        body.pop();
        body.extend_from_slice(b",\"messages\":[");
        body.reserve(self.bytes.len() + 256);
        let mut from = 0;
        for index in marked(&request.messages) {
            body.extend_from_slice(&self.bytes[from..self.start(index)]);
            serde_json::to_writer(&mut body, &message(&request.messages[index], Mark::Last))?;
            from = self.ends[index];
        }
        body.extend_from_slice(&self.bytes[from..]);
        body.extend_from_slice(b"]}");
        Ok(body)
    }

    /// Bytes that are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.bytes.len()
    }

    fn start(&self, index: usize) -> usize {
        // Behind the comma.
        index.checked_sub(1).map_or(0, |before| self.ends[before] + 1)
    }

    /// Keeps the messages that are the same, blocks shared, and writes the rest.
    fn catch_up(&mut self, messages: &[ApiMessage]) -> Result<(), serde_json::Error> {
        let kept = self.messages.iter().zip(messages).take_while(|(was, is)| is_shared(was, is)).count();
        self.messages.truncate(kept);
        self.ends.truncate(kept);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        for new in &messages[kept..] {
            if !self.ends.is_empty() {
                self.bytes.push(b',');
            }
            serde_json::to_writer(&mut self.bytes, &message(new, Mark::None))?;
            self.ends.push(self.bytes.len());
            self.messages.push(new.clone());
        }
        Ok(())
    }
}

/// The same blocks, not merely equal ones: that is known without reading them.
fn is_shared(was: &ApiMessage, is: &ApiMessage) -> bool {
    was.role == is.role
        && was.content.len() == is.content.len()
        && was.content.iter().zip(&is.content).all(|(was, is)| Arc::ptr_eq(was, is))
}

/// The body without its messages.
fn head(request: &ModelRequest) -> Result<Vec<u8>, serde_json::Error> {
    let (facts, _) = catalog::look_up(&request.model);
    let thinking = match facts.thinking {
        Thinking::Always | Thinking::Adaptive => Some(ThinkingField {
            kind: "adaptive",
            display: "summarized",
            block_binding: binds_thinking(&request.model).then_some(BlockBinding { prefix_mismatch_behavior: "drop_block" }),
        }),
        Thinking::Enabled | Thinking::None => None,
    };
    serde_json::to_vec(&Head {
        model: &request.model,
        max_tokens: request.max_tokens,
        stream: true,
        thinking,
        tools: tools(&request.tools),
        system: system(&request.system),
    })
}

/// Whether the model binds its thinking to what came before: then the request says that a mismatch drops the thinking
/// instead of the request, which needs a beta header.
#[must_use]
pub fn binds_thinking(model: &str) -> bool {
    let (facts, _) = catalog::look_up(model);
    facts.prefix == Prefix::Bound && matches!(facts.thinking, Thinking::Always | Thinking::Adaptive)
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<System<'a>>,
}

#[derive(Serialize)]
struct ThinkingField {
    #[serde(rename = "type")]
    kind: &'static str,
    display: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_binding: Option<BlockBinding>,
}

#[derive(Serialize)]
struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

/// A cache marker with a life of five minutes.
#[derive(Serialize)]
struct Marker {
    #[serde(rename = "type")]
    kind: &'static str,
}

const MARKER: Marker = Marker { kind: "ephemeral" };

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker>,
}

#[derive(Serialize)]
struct System<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Content<'a>>,
}

/// A block, with a marker where it can carry one.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Known {
        #[serde(flatten)]
        block: Known<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Marker>,
    },
    /// Byte for byte.
    AsItCame(Verbatim<'a>),
    Raw(&'a Json),
}

/// Blocks that can carry a marker. Their content is ours.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// Blocks of a model: they never carry a marker, and their bytes do not change.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Verbatim<'a> {
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a Json },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    /// A single text.
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

fn base64<'a>(media_type: &'a str, data: &'a str) -> Source<'a> {
    Source { kind: "base64", media_type, data }
}

/// The marker stands after the last tool.
fn tools(specs: &[ToolSpec]) -> Vec<Tool<'_>> {
    specs
        .iter()
        .enumerate()
        .map(|(index, spec)| Tool {
            name: &spec.name,
            description: &spec.description,
            input_schema: &spec.input_schema,
            cache_control: (index + 1 == specs.len()).then_some(MARKER),
        })
        .collect()
}

/// The marker stands after the last part that asks for one.
fn system(parts: &[SystemPart]) -> Vec<System<'_>> {
    let marked = parts.iter().rposition(|part| part.cache == CacheMark::Marked);
    parts
        .iter()
        .enumerate()
        .filter(|(_, part)| !part.text.trim().is_empty())
        .map(|(index, part)| System { kind: "text", text: &part.text, cache_control: (marked == Some(index)).then_some(MARKER) })
        .collect()
}

/// Whether a message ends with a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Last,
}

/// Markers stand at the end of the last user message and of the one before: there the request before ended, so that its
/// whole text is found in the cache however many blocks this round added.
fn marked(messages: &[ApiMessage]) -> Vec<usize> {
    let users = messages.iter().enumerate().rev().filter(|(_, message)| message.role == Role::User);
    let mut marked: Vec<usize> = users.take(2).map(|(index, _)| index).collect();
    marked.reverse();
    marked
}

fn message(message: &ApiMessage, mark: Mark) -> Message<'_> {
    let mut content: Vec<Content<'_>> = message.content.iter().map(|block| content(block)).collect();
    match mark {
        Mark::None => {}
        Mark::Last => mark_last(&mut content),
    }
    Message { role: message.role, content }
}

fn mark_last(content: &mut [Content<'_>]) {
    for block in content.iter_mut().rev() {
        match block {
            Content::Known { cache_control, .. } => {
                *cache_control = Some(MARKER);
                return;
            }
            Content::AsItCame(_) | Content::Raw(_) => {}
        }
    }
}

fn content(block: &Block) -> Content<'_> {
    let known = |block| Content::Known { block, cache_control: None };
    match block {
        Block::Text { text } => known(Known::Text { text }),
        Block::Image { media_type, data } => known(Known::Image { source: base64(media_type, data) }),
        Block::ToolResult { tool_use_id, content, is_error } => {
            known(Known::ToolResult { tool_use_id: tool_use_id.as_str(), content: result_content(content), is_error: *is_error })
        }
        Block::Thinking { thinking, signature } => Content::AsItCame(Verbatim::Thinking { thinking, signature }),
        Block::RedactedThinking { data } => Content::AsItCame(Verbatim::RedactedThinking { data }),
        Block::ToolUse { id, name, input } => Content::AsItCame(Verbatim::ToolUse { id: id.as_str(), name, input }),
        Block::Other { json } => Content::Raw(json),
    }
}

fn result_content(parts: &[ResultPart]) -> ResultContent<'_> {
    if let [ResultPart::Text { text }] = parts {
        return ResultContent::Text(text);
    }
    ResultContent::Parts(
        parts
            .iter()
            .map(|part| match part {
                ResultPart::Text { text } => Part::Text { text },
                ResultPart::Image { media_type, data } => Part::Image { source: base64(media_type, data) },
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests;
