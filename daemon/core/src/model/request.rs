//! A model request before any vendor's wire format. It never holds a key.

use std::sync::Arc;

use agentd_types::Block;
use agentd_types::content::Role;

use crate::tools::ToolSpec;

/// One message of the conversation; blocks are shared, never copied, from round to round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiMessage {
    pub role: Role,
    pub content: Vec<Arc<Block>>,
}

/// A part of the system field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemPart {
    pub text: String,
    pub cache: CacheMark,
}

/// Whether a cache marker follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheMark {
    Marked,
    Unmarked,
}

/// Everything one request says, normalised.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: String,
    pub system: Arc<[SystemPart]>,
    pub tools: Arc<[ToolSpec]>,
    pub messages: Vec<ApiMessage>,
    /// Output tokens at most.
    pub max_tokens: u32,
    /// Answers the main conversation of this session has already: a rehearsal's step number.
    pub replies: u32,
}
