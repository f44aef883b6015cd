//! What came of an answer before it was whole, folded for the case of a crash. It is never sent to a model.

use std::collections::BTreeMap;

use agentd_types::MessageId;
use agentd_types::system::Partial;

use super::Projection;

/// An answer that is not whole: its blocks' text, and whether each has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    pub message: MessageId,
    pub blocks: BTreeMap<u32, (String, bool)>,
}

/// Whether somebody said that a cut submission shall go on: it is not asked again before it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    No,
    Yes,
}

impl Projection {
    pub(super) fn fold_tombstone(&mut self, message: MessageId) {
        let Some(run) = &mut self.run else { return };
        run.partial.take_if(|half| half.message == message);
        run.cut.take_if(|cut| *cut == message);
    }

    pub(super) fn fold_partial(&mut self, partial: &Partial) {
        let Some(run) = &mut self.run else { return };
        let half = match &mut run.partial {
            Some(half) if half.message == partial.message => half,
            Some(_) | None => run.partial.insert(Half { message: partial.message, blocks: BTreeMap::new() }),
        };
        for piece in &partial.pieces {
            let block = half.blocks.entry(piece.block).or_default();
            block.0.push_str(&piece.text);
            block.1 |= piece.complete;
        }
    }
}
