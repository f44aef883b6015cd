//! What a message is made of; it never alters a block that came from a model.

use serde::{Deserialize, Serialize};

use crate::{Json, ToolUseId};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// One block of a message. Blocks that a model made go back to it exactly as they came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// A model's reasoning with the provider's signature over it.
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    /// A call the model asks for; `input` keeps the bytes the model sent.
    ToolUse {
        id: ToolUseId,
        name: String,
        input: Json,
    },
    ToolResult {
        tool_use_id: ToolUseId,
        content: Vec<ResultPart>,
        is_error: bool,
    },
    Image {
        media_type: String,
        data: String,
    },
    /// A block of a kind we do not know, as its JSON.
    Other {
        json: Json,
    },
}

impl Block {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text } => Some(text),
            Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse { .. }
            | Block::ToolResult { .. }
            | Block::Image { .. }
            | Block::Other { .. } => None,
        }
    }
}

impl Block {
    /// Bytes of content, markup aside: what bounds and gauges count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Block::Text { text } => text.len(),
            Block::Thinking { thinking, signature } => thinking.len() + signature.len(),
            Block::RedactedThinking { data } | Block::Image { data, .. } => data.len(),
            Block::ToolUse { name, input, .. } => name.len() + input.as_str().len(),
            Block::ToolResult { content, .. } => content.iter().map(ResultPart::bytes).sum(),
            Block::Other { json } => json.as_str().len(),
        }
    }
}

/// A part of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultPart {
    Text {
        text: String,
    },
    /// Base64 data of an image.
    Image {
        media_type: String,
        data: String,
    },
}

impl ResultPart {
    fn bytes(&self) -> usize {
        match self {
            ResultPart::Text { text } => text.len(),
            ResultPart::Image { data, .. } => data.len(),
        }
    }
}

/// The text blocks of `blocks`, joined by newlines.
#[must_use]
pub fn plain_text(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
    texts.join("\n")
}
