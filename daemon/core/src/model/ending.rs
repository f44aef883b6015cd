//! What a whole answer's end asks for, within one model call. It never asks a model and appends nothing.

use agentd_types::Block;

use super::fold::Folded;
use crate::query::CallLimits;

/// What is to become of a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It stands: text, calls or both.
    Stands,
    /// It was cut at the output limit; complete calls of it may stand.
    OutputLimit,
    /// The context window is full: as a prompt that is too long.
    WindowFull,
    /// The model refused: nothing of it is kept.
    Refused,
    /// It paused itself: it is sent back as it is, and goes on.
    SendBack,
    /// It paused itself too often: it stands as it is.
    PausedOut,
    /// Not a word after tool results: the model is asked once more.
    AskAgain,
    /// Not a word: it stands, and somebody should know.
    Silent,
}

/// What the conversation's newest user message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum After {
    /// Results of tools, whatever stands below them.
    Results,
    /// Words alone.
    Words,
}

/// What was repeated in this call so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repeats {
    pub pauses: u8,
    pub empties: u8,
}

/// Judges an answer that came to its end.
#[must_use]
pub fn judge(limits: &CallLimits, folded: &Folded, after: After, so_far: Repeats) -> Ending {
    let stop = folded.stop_reason.as_deref().unwrap_or_default();
    let has_calls = folded.calls().next().is_some();
    let is_empty = !folded.blocks.iter().any(says_something);
    match (stop, has_calls) {
        ("refusal", _) => Ending::Refused,
        ("max_tokens", _) | ("model_context_window_exceeded", true) => Ending::OutputLimit,
        ("model_context_window_exceeded", false) => Ending::WindowFull,
        (_, true) => Ending::Stands,
        ("pause_turn", false) if !is_empty && so_far.pauses < limits.pauses => Ending::SendBack,
        ("pause_turn", false) if !is_empty => Ending::PausedOut,
        (_, false) if !is_empty => Ending::Stands,
        (_, false) if after == After::Results && so_far.empties < limits.empty_repeats => Ending::AskAgain,
        (_, false) => Ending::Silent,
    }
}

/// Thinking alone is no answer.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::ToolUse { .. } | Block::Other { .. } => true,
        Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolResult { .. } | Block::Image { .. } => false,
    }
}

#[cfg(test)]
mod tests;
