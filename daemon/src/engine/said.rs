//! The engine's own words to the model: markers and nudges. Nothing a person said is altered here.

use agentd_core::session::recover::INTERRUPT_MARKER;
use agentd_types::event::{UserKind, UserMessage};
use agentd_types::{Block, Body, MessageId};

use crate::entropy::Entropy;

/// The marker of a person's cancel.
#[must_use]
pub fn interrupt_marker() -> String {
    INTERRUPT_MARKER.to_owned()
}

/// After an answer that was cut at the output limit.
#[must_use]
pub fn carry_on() -> String {
    "Your answer was cut at the output limit. Carry on exactly where it was cut: no apology, no recap. Take smaller pieces.".to_owned()
}

/// After an answer without a word that followed tool results.
#[must_use]
pub fn go_on() -> String {
    "You ended without a word. Continue: go on with the work, or say what came of it.".to_owned()
}

/// A nudge to go on with a token budget.
#[must_use]
pub fn nudge(spent: u64, left: u64) -> String {
    format!("{spent} tokens of your budget are spent, {left} are left. Go on with the work; stop only when nothing useful is left to do.")
}

/// A user message that nobody typed.
#[must_use]
pub fn meta_message(entropy: &dyn Entropy, text: String) -> Body {
    Body::User(UserMessage {
        message: MessageId::from_u128(entropy.id()),
        kind: UserKind::Meta,
        content: vec![Block::text(text)],
        commands: Vec::new(),
    })
}
