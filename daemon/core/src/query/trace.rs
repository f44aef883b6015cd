//! What a loop went through, in the names of its transitions. It never says why.

use super::step::Step;

impl Step {
    /// The name of a Continue or a Terminal; `parked` and `failed` for the two others.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Step::Continue(why) => why.name().as_str(),
            Step::Park(_) => "parked",
            Step::Stop(terminal) => terminal.name().as_str(),
            Step::Fail(_) => "failed",
        }
    }
}

/// One line: `next_turn > max_output_tokens_escalate > completed`.
#[must_use]
pub fn trace(names: impl IntoIterator<Item = &'static str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(" > ")
}
