//! When a submission goes over to its fallback model. It never chooses which one.

use crate::query::{FailureKind, ReplyEnd};

use super::stream::ErrorClass;

/// Why another model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoOver {
    /// The class of what the model said.
    pub error: &'static str,
    /// For a person.
    pub reason: String,
}

/// Whether a call that ended so is repeated on another model: overloaded beyond its retries, or refused. Everything else
/// would fail there too, or is somebody's own mistake.
#[must_use]
pub fn go_over(end: &ReplyEnd) -> Option<GoOver> {
    let failure = match end {
        ReplyEnd::Failed(failure) => failure,
        ReplyEnd::Whole { .. } | ReplyEnd::OutputLimit { .. } | ReplyEnd::Withheld(_) | ReplyEnd::OverBudget { .. } => return None,
    };
    match &failure.kind {
        FailureKind::Api(class) if class == ErrorClass::Overloaded.name() => {
            Some(GoOver { error: ErrorClass::Overloaded.name(), reason: format!("it stays overloaded ({})", failure.message) })
        }
        FailureKind::Refusal(_) => Some(GoOver { error: "refusal", reason: failure.message.clone() }),
        FailureKind::Api(_) | FailureKind::OutputLimit | FailureKind::ToolFatal | FailureKind::ExpectFailed => None,
    }
}

#[cfg(test)]
mod tests;
