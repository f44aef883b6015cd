//! Blocks, origins, usage.

use agentd_types::content::ResultPart;
use agentd_types::{Block, Origin, ToolUseId, Usage};

use super::{all, id, json, required};
use crate::{WireError, v1};

impl TryFrom<v1::Block> for Block {
    type Error = WireError;
    fn try_from(block: v1::Block) -> Result<Self, WireError> {
        use v1::block::Kind;
        Ok(match required("content.kind", block.kind)? {
            Kind::Text(v1::TextBlock { text }) => Block::Text { text },
            Kind::Thinking(v1::ThinkingBlock { thinking, signature }) => Block::Thinking { thinking, signature },
            Kind::RedactedThinking(v1::RedactedThinkingBlock { data }) => Block::RedactedThinking { data },
            Kind::ToolUse(v1::ToolUseBlock { id, name, input_json }) => {
                Block::ToolUse { id: ToolUseId(id), name, input: json("tool_use.input_json", input_json)? }
            }
            Kind::ToolResult(v1::ToolResultBlock { tool_use_id, content, is_error }) => {
                Block::ToolResult { tool_use_id: ToolUseId(tool_use_id), content: all(content)?, is_error }
            }
            Kind::Image(v1::ImageBlock { media_type, data }) => Block::Image { media_type, data },
            Kind::Other(v1::OtherBlock { json: text }) => Block::Other { json: json("other.json", text)? },
        })
    }
}

impl TryFrom<v1::ResultPart> for ResultPart {
    type Error = WireError;
    fn try_from(part: v1::ResultPart) -> Result<Self, WireError> {
        use v1::result_part::Kind;
        Ok(match required("tool_result.content.kind", part.kind)? {
            Kind::Text(v1::TextBlock { text }) => ResultPart::Text { text },
            Kind::Image(v1::ImageBlock { media_type, data }) => ResultPart::Image { media_type, data },
        })
    }
}

impl TryFrom<v1::Origin> for Origin {
    type Error = WireError;
    fn try_from(origin: v1::Origin) -> Result<Self, WireError> {
        use v1::origin::Kind;
        Ok(match required("origin.kind", origin.kind)? {
            Kind::Person(v1::PersonOrigin { client }) => Origin::Person { client },
            Kind::Bridge(v1::BridgeOrigin { name, author }) => Origin::Bridge { name, author },
            Kind::Task(v1::TaskOrigin { id }) => Origin::Task { id },
            Kind::Hook(v1::HookOrigin { event }) => Origin::Hook { event },
            Kind::Session(v1::SessionOrigin { id: text }) => Origin::Session { id: id("origin.session.id", &text)? },
        })
    }
}

impl From<v1::Usage> for Usage {
    fn from(usage: v1::Usage) -> Self {
        let v1::Usage { input, output, cache_read, cache_write_5m, cache_write_1h } = usage;
        Usage { input, output, cache_read, cache_write_5m, cache_write_1h }
    }
}
