//! The message in progress: what a snapshot shows of it, grown by deltas. Never stored.

use agentd_types::MessageId;
use agentd_types::live::{BlockSoFar, Delta, MessageSoFar};

/// Bytes of a message in progress that a snapshot carries at most: it must fit a message of the wire.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Grows with every delta, ends with its message's event.
#[derive(Debug, Default)]
pub(super) struct InProgress {
    message: Option<MessageSoFar>,
    bytes: usize,
}

impl InProgress {
    pub(super) fn grow(&mut self, delta: &Delta) {
        let message = match &mut self.message {
            Some(message) if message.message == delta.message => message,
            Some(_) | None => {
                self.bytes = 0;
                self.message.insert(MessageSoFar { message: delta.message, blocks: Vec::new() })
            }
        };
        if self.bytes + delta.text.len() > MAX_BYTES {
            return;
        }
        self.bytes += delta.text.len();
        match message.blocks.iter_mut().find(|it| it.block == delta.block) {
            // Joins exactly or not at all.
            Some(block) if block.text.len() as u64 == delta.offset => block.text.push_str(&delta.text),
            Some(_) => {}
            None => message.blocks.push(BlockSoFar { block: delta.block, kind: delta.kind, text: delta.text.clone() }),
        }
    }

    /// The message is whole, or does not count.
    pub(super) fn done(&mut self, message: MessageId) {
        if self.message.as_ref().is_some_and(|it| it.message == message) {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.message = None;
        self.bytes = 0;
    }

    pub(super) fn so_far(&self) -> Option<MessageSoFar> {
        self.message.clone()
    }
}
