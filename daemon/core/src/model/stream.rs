//! What comes back while a model answers, vendor aside; errors by class.

use agentd_types::{Json, ToolUseId};

/// One thing a provider's stream said.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    MessageStart { api_id: String, model: String, usage: UsageUpdate },
    BlockStart { index: u32, block: BlockStart },
    Piece { index: u32, piece: Piece },
    BlockStop { index: u32 },
    MessageDelta { stop_reason: Option<String>, refusal: Option<String>, usage: UsageUpdate },
    MessageStop,
    Ping,
}

/// A block that begins.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockStart {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    /// `input` where the provider gave it at once; else it comes in pieces.
    ToolUse {
        id: ToolUseId,
        name: String,
        input: Option<Json>,
    },
    /// A kind we do not know, as it came.
    Other {
        json: Json,
    },
}

/// A piece of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Thinking(String),
    /// Replaces the block's signature.
    Signature(String),
    /// A fragment of the tool input's JSON text.
    InputJson(String),
    /// A kind of delta we do not know.
    Other,
}

/// Counts as reported; absent = unchanged. Present values replace earlier ones of the same message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageUpdate {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write_5m: Option<u64>,
    pub cache_write_1h: Option<u64>,
}

/// What kind of trouble a provider reported; decides about a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    InvalidRequest,
    PromptTooLong,
    MediaTooLarge,
    Authentication,
    Billing,
    Permission,
    NotFound,
    RequestTooLarge,
    RateLimit,
    /// A spending limit: waiting does not help.
    SpendLimit,
    Server,
    Overloaded,
    Timeout,
    /// No connection was made.
    Connect,
    /// The stream broke before its end.
    StreamCut,
    /// Nothing came for too long.
    Silence,
    /// An answer that is no answer.
    Protocol,
    /// A rehearsal script's expectation did not hold.
    ExpectFailed,
}

impl ErrorClass {
    /// The class's name in events and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ErrorClass::InvalidRequest => "invalid_request_error",
            ErrorClass::PromptTooLong => "prompt_too_long",
            ErrorClass::MediaTooLarge => "media_too_large",
            ErrorClass::Authentication => "authentication_error",
            ErrorClass::Billing => "billing_error",
            ErrorClass::Permission => "permission_error",
            ErrorClass::NotFound => "not_found_error",
            ErrorClass::RequestTooLarge => "request_too_large",
            ErrorClass::RateLimit => "rate_limit_error",
            ErrorClass::SpendLimit => "spend_limit",
            ErrorClass::Server => "api_error",
            ErrorClass::Overloaded => "overloaded_error",
            ErrorClass::Timeout => "timeout_error",
            ErrorClass::Connect => "connection_error",
            ErrorClass::StreamCut => "stream_cut",
            ErrorClass::Silence => "stream_silent",
            ErrorClass::Protocol => "protocol_error",
            ErrorClass::ExpectFailed => "expect_failed",
        }
    }
}

/// A provider's error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub class: ErrorClass,
    pub status: Option<u16>,
    /// For a person; never holds a key.
    pub message: String,
    /// What the server asked us to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
}
