//! A message's text as it comes: snapshot, deltas and the whole message joined, each byte once. It never prints.

use std::collections::BTreeMap;

use agentd_types::event::AssistantMessage;
use agentd_types::live::{Delta, DeltaKind, MessageSoFar};
use agentd_types::{Block, MessageId};

/// Text of one block that was not handed out before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The block's index in its message.
    pub block: u32,
    pub text: &'a str,
}

/// What is left of a message when it is whole.
#[derive(Debug, PartialEq, Eq)]
pub enum Rest<'a> {
    /// What follows upon the pieces handed out; nothing more when empty.
    Tail(Vec<Piece<'a>>),
    /// The pieces had a hole: everything, from the start.
    Again(Vec<Piece<'a>>),
}

/// How far the message in progress was handed out.
#[derive(Debug, Default)]
pub struct Streamed {
    message: Option<MessageId>,
    /// Bytes per block.
    blocks: BTreeMap<u32, u64>,
    state: State,
    /// Its late pieces count no more.
    done: Option<MessageId>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Joined,
    /// A piece is missing: the rest comes with the whole message.
    Torn,
}

impl Streamed {
    /// The part of `delta` that is new; `None` for what is no text, came before, or follows upon a hole.
    pub fn delta<'a>(&mut self, delta: &'a Delta) -> Option<Piece<'a>> {
        match delta.kind {
            DeltaKind::Text => self.piece(delta.message, delta.block, delta.offset, &delta.text),
            DeltaKind::Thinking | DeltaKind::ToolInput => None,
        }
    }

    /// The new text of a snapshot's message in progress. After a lost link most of it came before.
    pub fn snapshot<'a>(&mut self, message: &'a MessageSoFar) -> Vec<Piece<'a>> {
        let texts = message.blocks.iter().filter(|block| block.kind == DeltaKind::Text);
        texts.filter_map(|block| self.piece(message.message, block.block, 0, &block.text)).collect()
    }

    /// The message is whole.
    pub fn finish<'a>(&mut self, message: &'a AssistantMessage) -> Rest<'a> {
        let begun = self.message == Some(message.message);
        let torn = begun && self.state == State::Torn;
        let rest = texts(message).filter_map(|(block, text)| {
            let shown = if begun && !torn { self.blocks.get(&block).copied().unwrap_or(0) } else { 0 };
            from(text, shown).map(|text| Piece { block, text })
        });
        let rest = rest.collect();
        self.forget(message.message);
        if torn { Rest::Again(rest) } else { Rest::Tail(rest) }
    }

    /// The message does not count any more. Whether some of it was handed out.
    pub fn drop_message(&mut self, message: MessageId) -> bool {
        let begun = self.message == Some(message) && self.blocks.values().any(|bytes| *bytes > 0);
        self.forget(message);
        begun
    }

    fn forget(&mut self, message: MessageId) {
        if self.message == Some(message) {
            self.message = None;
            self.blocks.clear();
            self.state = State::Joined;
        }
        self.done = Some(message);
    }

    fn piece<'a>(&mut self, message: MessageId, block: u32, offset: u64, text: &'a str) -> Option<Piece<'a>> {
        if self.done == Some(message) {
            return None;
        }
        if self.message != Some(message) {
            *self = Streamed { message: Some(message), done: self.done, ..Streamed::default() };
        }
        let shown = self.blocks.entry(block).or_default();
        if offset > *shown {
            self.state = State::Torn;
        }
        if self.state == State::Torn {
            return None;
        }
        let new = from(text, *shown - offset)?;
        *shown += new.len() as u64;
        Some(Piece { block, text: new })
    }
}

/// `text` without its first `bytes`; `None` when nothing is left.
fn from(text: &str, bytes: u64) -> Option<&str> {
    usize::try_from(bytes).ok().and_then(|at| text.get(at..)).filter(|rest| !rest.is_empty())
}

fn texts(message: &AssistantMessage) -> impl Iterator<Item = (u32, &str)> {
    let blocks = (0..).zip(&message.content);
    blocks.filter_map(|(index, block): (u32, &Block)| block.as_text().map(|text| (index, text)))
}

#[cfg(test)]
mod tests;
