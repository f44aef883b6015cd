//! The history as it is stored, and the count of what had to be repaired to send it. It never changes a stored message.

use std::fmt;
use std::sync::Arc;

use agentd_types::Block;
use agentd_types::content::Role;

/// One stored message. Each tool result is a user message of its own; attachments are user messages too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub role: Role,
    /// Shared with the store's view of the conversation, never copied.
    pub content: Vec<Arc<Block>>,
    /// The model that said it; absent for users, and where it is not known.
    pub model: Option<Arc<str>>,
}

impl Said {
    #[must_use]
    pub fn user(content: Vec<Arc<Block>>) -> Said {
        Said { role: Role::User, content, model: None }
    }

    #[must_use]
    pub fn assistant(model: Arc<str>, content: Vec<Arc<Block>>) -> Said {
        Said { role: Role::Assistant, content, model: Some(model) }
    }
}

/// What normalisation had to do, by count. All zero = the history went out as it was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// Text blocks without a visible character.
    pub blank_texts: u32,
    /// Messages that had nothing to send.
    pub empty_messages: u32,
    /// Assistant messages without content that got a placeholder.
    pub filled_messages: u32,
    /// Thinking with nothing after it in its message.
    pub orphaned_thinking: u32,
    /// Thinking that the model asked cannot read.
    pub foreign_thinking: u32,
    /// Blocks of another provider or model that only it understands.
    pub internal_blocks: u32,
    /// Blocks that cannot stand in a message of that role.
    pub misplaced_blocks: u32,
    /// Calls whose name or input no provider takes.
    pub odd_calls: u32,
    /// Calls whose id is unusable or was there before.
    pub duplicate_calls: u32,
    /// Results without their call in the message before.
    pub orphaned_results: u32,
    /// Second results of one call.
    pub duplicate_results: u32,
    /// Calls without a result that got one.
    pub missing_results: u32,
    /// Results whose blank text was left out.
    pub blank_results: u32,
    /// User messages added because a request begins and ends with one.
    pub added_messages: u32,
}

impl Repairs {
    fn named(&self) -> [(&'static str, u32); 14] {
        [
            ("blank texts dropped", self.blank_texts),
            ("empty messages dropped", self.empty_messages),
            ("empty messages filled", self.filled_messages),
            ("orphaned thinking dropped", self.orphaned_thinking),
            ("another model's thinking dropped", self.foreign_thinking),
            ("another model's blocks dropped", self.internal_blocks),
            ("misplaced blocks dropped", self.misplaced_blocks),
            ("odd calls mended", self.odd_calls),
            ("duplicate calls dropped", self.duplicate_calls),
            ("orphaned results dropped", self.orphaned_results),
            ("duplicate results dropped", self.duplicate_results),
            ("missing results added", self.missing_results),
            ("blank results mended", self.blank_results),
            ("user messages added", self.added_messages),
        ]
    }

    /// Whether nothing was repaired.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Repairs::default()
    }

    /// How much was repaired.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.named().iter().map(|(_, count)| count).sum()
    }
}

/// For the log: `missing results added: 1, blank texts dropped: 2`.
impl fmt::Display for Repairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (what, count) in self.named().into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{separator}{what}: {count}")?;
            separator = ", ";
        }
        Ok(())
    }
}
