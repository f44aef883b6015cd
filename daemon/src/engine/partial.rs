//! What streamed of an answer and is not in the log yet: text only, for the case of a crash. It appends nothing itself.

use std::collections::BTreeMap;
use std::time::Duration;

use agentd_core::model::FoldDelta;
use agentd_types::live::DeltaKind;
use agentd_types::system::{Partial, PartialPiece, System};
use agentd_types::{Body, MessageId};
use tokio::time::Instant;

/// Text is in the log this long after it came.
const PAUSE: Duration = Duration::from_secs(1);

/// One answer's text that is not recorded.
#[derive(Debug)]
pub struct Unrecorded {
    message: MessageId,
    pieces: BTreeMap<u32, PartialPiece>,
    /// When it is to be recorded; absent = there is nothing.
    due: Option<Instant>,
}

impl Unrecorded {
    #[must_use]
    pub fn new(message: MessageId) -> Unrecorded {
        Unrecorded { message, pieces: BTreeMap::new(), due: None }
    }

    /// A piece came.
    pub fn add(&mut self, delta: &FoldDelta) {
        if delta.kind == DeltaKind::Text {
            self.piece(delta.block).text.push_str(&delta.text);
            self.due.get_or_insert_with(|| Instant::now() + PAUSE);
        }
    }

    /// A block came to its end; only one that had text counts.
    pub fn ended(&mut self, block: u32, had_text: bool) {
        if had_text {
            self.piece(block).complete = true;
            self.due.get_or_insert_with(|| Instant::now() + PAUSE);
        }
    }

    /// Returns when there is something to record; never, while there is nothing.
    pub async fn is_due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// What is to be recorded.
    pub fn take(&mut self) -> Body {
        self.due = None;
        let pieces = std::mem::take(&mut self.pieces).into_values().collect();
        Body::System(System::Partial(Partial { message: self.message, pieces }))
    }

    fn piece(&mut self, block: u32) -> &mut PartialPiece {
        self.pieces.entry(block).or_insert_with(|| PartialPiece { block, text: String::new(), complete: false })
    }
}

#[cfg(test)]
mod tests;
