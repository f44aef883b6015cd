//! Blocks, origins, usage.

use agentd_types::content::ResultPart;
use agentd_types::{Block, Origin, Usage};

use super::all;
use crate::v1;

impl From<&Block> for v1::Block {
    fn from(block: &Block) -> Self {
        use v1::block::Kind;
        let kind = match block {
            Block::Text { text } => Kind::Text(v1::TextBlock { text: text.clone() }),
            Block::Thinking { thinking, signature } => {
                Kind::Thinking(v1::ThinkingBlock { thinking: thinking.clone(), signature: signature.clone() })
            }
            Block::RedactedThinking { data } => Kind::RedactedThinking(v1::RedactedThinkingBlock { data: data.clone() }),
            Block::ToolUse { id, name, input } => {
                Kind::ToolUse(v1::ToolUseBlock { id: id.to_string(), name: name.clone(), input_json: input.to_string() })
            }
            Block::ToolResult { tool_use_id, content, is_error } => {
                Kind::ToolResult(v1::ToolResultBlock { tool_use_id: tool_use_id.to_string(), content: all(content), is_error: *is_error })
            }
            Block::Image { media_type, data } => Kind::Image(v1::ImageBlock { media_type: media_type.clone(), data: data.clone() }),
            Block::Other { json } => Kind::Other(v1::OtherBlock { json: json.to_string() }),
        };
        v1::Block { kind: Some(kind) }
    }
}

impl From<&ResultPart> for v1::ResultPart {
    fn from(part: &ResultPart) -> Self {
        use v1::result_part::Kind;
        let kind = match part {
            ResultPart::Text { text } => Kind::Text(v1::TextBlock { text: text.clone() }),
            ResultPart::Image { media_type, data } => Kind::Image(v1::ImageBlock { media_type: media_type.clone(), data: data.clone() }),
        };
        v1::ResultPart { kind: Some(kind) }
    }
}

impl From<&Origin> for v1::Origin {
    fn from(origin: &Origin) -> Self {
        use v1::origin::Kind;
        let kind = match origin {
            Origin::Person { client } => Kind::Person(v1::PersonOrigin { client: client.clone() }),
            Origin::Bridge { name, author } => Kind::Bridge(v1::BridgeOrigin { name: name.clone(), author: author.clone() }),
            Origin::Task { id } => Kind::Task(v1::TaskOrigin { id: id.clone() }),
            Origin::Hook { event } => Kind::Hook(v1::HookOrigin { event: event.clone() }),
            Origin::Session { id } => Kind::Session(v1::SessionOrigin { id: id.to_string() }),
        };
        v1::Origin { kind: Some(kind) }
    }
}

impl From<&Usage> for v1::Usage {
    fn from(usage: &Usage) -> Self {
        let Usage { input, output, cache_read, cache_write_5m, cache_write_1h } = *usage;
        v1::Usage { input, output, cache_read, cache_write_5m, cache_write_1h }
    }
}
