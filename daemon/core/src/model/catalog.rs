//! What each model can do: windows, limits, thinking. It never asks a provider.

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFacts {
    /// Tokens of input and output together.
    pub context_window: u32,
    /// Output tokens of one answer.
    pub max_output: u32,
    pub thinking: Thinking,
    pub prefix: Prefix,
    pub forced_tool_choice: ForcedToolChoice,
}

/// How a model thinks, and whether it is asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// Adaptive and always on.
    Always,
    /// Adaptive; can be left off.
    Adaptive,
    /// With a budget of tokens (`enabled`); we do not ask for it.
    Enabled,
    /// Not at all, or not known: the request says nothing of thinking.
    None,
}

/// Whether thinking is bound to everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// Once sent, system, tools and earlier messages must not change.
    Bound,
    Free,
}

/// Whether a request may force a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForcedToolChoice {
    Accepted,
    Refused,
}

/// How sure the table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// The model is in the table.
    Listed,
    /// It is not: the family's newest row, or cautious guesses.
    Flagged,
}

/// Output tokens asked for at first.
pub const DEFAULT_CAP: u32 = 8_000;
/// Output tokens asked for when the first cap was too low.
pub const RAISED_CAP: u32 = 64_000;

impl ModelFacts {
    /// The cap of a first request.
    #[must_use]
    pub const fn default_cap(&self) -> u32 {
        if self.max_output < DEFAULT_CAP { self.max_output } else { DEFAULT_CAP }
    }

    /// The raised cap: 64k, or the model's maximum where that is less.
    #[must_use]
    pub const fn raised_cap(&self) -> u32 {
        if self.max_output < RAISED_CAP { self.max_output } else { RAISED_CAP }
    }
}

const BOUND: ModelFacts = ModelFacts {
    context_window: 1_000_000,
    max_output: 128_000,
    thinking: Thinking::Always,
    prefix: Prefix::Bound,
    forced_tool_choice: ForcedToolChoice::Refused,
};
const BOUND_OPTIONAL: ModelFacts = ModelFacts { thinking: Thinking::Adaptive, forced_tool_choice: ForcedToolChoice::Accepted, ..BOUND };
const FREE_ALWAYS: ModelFacts = ModelFacts { prefix: Prefix::Free, forced_tool_choice: ForcedToolChoice::Accepted, ..BOUND };
const FREE: ModelFacts = ModelFacts { thinking: Thinking::Adaptive, ..FREE_ALWAYS };
const SMALL: ModelFacts = ModelFacts { context_window: 200_000, max_output: 64_000, thinking: Thinking::Enabled, ..FREE };
/// A model nobody told us of, often on a server of the user's own.
const UNKNOWN: ModelFacts = ModelFacts { context_window: 200_000, max_output: 32_000, thinking: Thinking::None, ..FREE };
/// A script: it has no limits of its own, so it gets those that exercise every path.
const REHEARSAL: ModelFacts = ModelFacts { context_window: 200_000, max_output: 128_000, thinking: Thinking::None, ..FREE };

/// Newest first within a family: the first row of a family is its fallback.
const TABLE: &[(&str, ModelFacts)] = &[
    ("claude-fable-5-2", BOUND),
    ("claude-fable-5-1", BOUND),
    ("claude-fable-5", FREE_ALWAYS),
    ("claude-mythos-5-2", BOUND),
    ("claude-mythos-5-1", BOUND),
    ("claude-mythos-5", FREE_ALWAYS),
    ("claude-opus-5-5", BOUND),
    ("claude-opus-5", FREE),
    ("claude-opus-4-8", FREE),
    ("claude-opus-4-7", FREE),
    ("claude-opus-4-6", FREE),
    ("claude-opus-4-5", SMALL),
    ("claude-sonnet-5-5", BOUND_OPTIONAL),
    ("claude-sonnet-5", FREE),
    ("claude-sonnet-4-6", FREE),
    ("claude-sonnet-4-5", SMALL),
    ("claude-haiku-5-5", BOUND_OPTIONAL),
    ("claude-haiku-4-5", SMALL),
];

/// Families, for models newer than the table.
pub(super) const FAMILIES: [&str; 5] = ["fable", "mythos", "opus", "sonnet", "haiku"];

/// Whether `model` names the built-in rehearsal: `rehearsal` or `rehearsal:…`.
#[must_use]
pub fn is_rehearsal(model: &str) -> bool {
    model == "rehearsal" || model.starts_with("rehearsal:")
}

/// The facts of `model`. A family's unknown member gets the newest row's limits and its caution about the prefix,
/// but the request says nothing of thinking.
#[must_use]
pub fn look_up(model: &str) -> (ModelFacts, Known) {
    if is_rehearsal(model) {
        return (REHEARSAL, Known::Listed);
    }
    let name = canonical(model);
    if let Some((_, facts)) = TABLE.iter().find(|(listed, _)| *listed == name) {
        return (*facts, Known::Listed);
    }
    let family = family_of(name).and_then(|family| TABLE.iter().find(|(listed, _)| family_of(listed) == Some(family)));
    match family {
        Some((_, facts)) => (ModelFacts { thinking: Thinking::None, ..*facts }, Known::Flagged),
        None => (UNKNOWN, Known::Flagged),
    }
}

/// Whether `reader` can read thinking that `writer` made; the same model always can.
#[must_use]
pub fn reads_thinking(reader: &str, writer: &str) -> bool {
    let (reader, writer) = (canonical(reader), canonical(writer));
    reader == writer || matches!((reader, writer), ("claude-fable-5-1", "claude-opus-5" | "claude-opus-5-5"))
}

/// The model's name without its date: `claude-haiku-4-5-20251001` is `claude-haiku-4-5`.
pub(super) fn canonical(model: &str) -> &str {
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => model,
    }
}

pub(super) fn family_of(model: &str) -> Option<&'static str> {
    FAMILIES.into_iter().find(|family| model.split('-').any(|part| part == *family))
}

#[cfg(test)]
mod tests;
