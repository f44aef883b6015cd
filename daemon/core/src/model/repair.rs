//! Repairs of what a model got wrong in a tool call, before anything is stored. It never repairs a stored message.

use std::fmt;

use agentd_types::{Json, ToolUseId};
use serde::{Deserialize, Serialize};

/// The longest tool name that every provider takes, in bytes.
pub const MAX_NAME: usize = 64;
/// The longest call id that is kept as it is, in bytes. Gateways make long ones.
pub const MAX_ID: usize = 128;

/// How much of an odd name or id is kept in front of its hash, in bytes: both together are a good name.
const KEPT: usize = 40;

/// What was repaired; its text is the notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The name does not fit `^[a-zA-Z0-9_-]{1,64}$`.
    ToolName { was: String, now: String },
    /// The call's id is odd, or the conversation has it already.
    CallId { was: ToolUseId, now: ToolUseId },
    /// The input is not a JSON object.
    Input { call: ToolUseId, why: String },
    /// The call was cut by the output limit and is dropped.
    CutCall { call: ToolUseId, name: String },
    /// The message's thinking is signed over what was repaired, and dropped.
    Thinking { blocks: u32 },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::ToolName { was, now } => {
                write!(f, "the model called a tool by the impossible name {:?}; it is stored as `{now}`", shortened(was))
            }
            Repair::CallId { was, now } => {
                write!(f, "the model used the call id {:?}, which is odd or taken; it is stored as `{now}`", shortened(was.as_str()))
            }
            Repair::Input { call, why } => write!(f, "the input of call `{call}` is no JSON object ({why}); the call will not run"),
            Repair::CutCall { call, name } => {
                write!(f, "call `{call}` of `{name}` was cut at the output limit; it is dropped and will not run")
            }
            Repair::Thinking { blocks } => write!(f, "{blocks} thinking block(s) of a repaired message are dropped"),
        }
    }
}

/// Whether every provider takes this as a tool's name: `^[a-zA-Z0-9_-]{1,64}$`.
#[must_use]
pub fn is_good_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_good_byte)
}

/// Whether a provider takes this as a call's id: the same alphabet, up to 128 bytes.
#[must_use]
pub fn is_good_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(is_good_byte)
}

/// A good name for an odd one: its beginning and a hash of the whole, so that two odd names stay two.
#[must_use]
pub fn good_name(odd: &str) -> String {
    let prefix: String = odd.chars().take(KEPT).map(|c| if u8::try_from(c).is_ok_and(is_good_byte) { c } else { '_' }).collect();
    let prefix = if prefix.is_empty() { "unnamed" } else { &prefix };
    format!("{prefix}_{:016x}", fnv1a(odd.as_bytes()))
}

/// A good id that `is_taken` denies: the given one if it can be, else a variant of it.
pub fn good_id(given: &ToolUseId, is_taken: impl Fn(&ToolUseId) -> bool) -> ToolUseId {
    let base = if is_good_id(given.as_str()) { given.as_str().to_owned() } else { good_name(given.as_str()) };
    let first = ToolUseId::new(base.clone());
    if !is_taken(&first) {
        return first;
    }
    // Among one more candidate than there are taken ids, one is free.
    let base: String = base.chars().take(MAX_ID - 24).collect();
    (2_u64..).map(|n| ToolUseId::new(format!("{base}_{n}"))).find(|id| !is_taken(id)).unwrap_or(first)
}

/// What stands in for an input that is no JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnreadableInput {
    /// What the model sent.
    #[serde(rename = "_unreadable_input")]
    pub text: String,
    /// Why it could not be read.
    #[serde(rename = "_why")]
    pub why: String,
}

/// The call's input from the JSON text the model sent; empty text is `{}`.
///
/// # Errors
/// Why it is no JSON object. `cut` in it tells whether the text merely ends too early.
pub fn read_input(text: &str) -> Result<Json, BadInput> {
    if text.trim().is_empty() {
        return Ok(Json::empty_object());
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        return Err(BadInput { why: error.to_string(), cut: error.is_eof() });
    }
    match Json::parse(text) {
        Ok(json) if json.is_object() => Ok(json),
        Ok(_) => Err(BadInput { why: "it is JSON, but not an object".to_owned(), cut: false }),
        Err(error) => Err(BadInput { why: error.to_string(), cut: false }),
    }
}

/// Why an input could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInput {
    pub why: String,
    /// The text ends before the value does.
    pub cut: bool,
}

/// The object that is stored in place of an input that cannot be read.
#[must_use]
pub fn stand_in(text: &str, why: &str) -> Json {
    let unreadable = UnreadableInput { text: text.to_owned(), why: why.to_owned() };
    Json::of(&unreadable).unwrap_or_else(|_| Json::empty_object())
}

/// Whether `input` stands in for one that could not be read: the executor answers such a call with an input error.
#[must_use]
pub fn unreadable_input(input: &Json) -> Option<UnreadableInput> {
    input.read().ok()
}

fn is_good_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The first 40 characters, for a notice.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
