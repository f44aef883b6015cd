//! How a rule that a person allowed "always" comes to stay; implemented by `sessions` over the settings. It decides nothing.

use std::pin::Pin;

use agentd_types::AbsPath;
use agentd_types::rule::Rule;

/// The rule could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotWritten(pub String);

/// Keeps allow rules of folders.
pub trait RuleWriter: Send + Sync {
    /// Returns when the rule is on disk and in force for new calls of sessions in `folder`; a rule that is there already is as one written.
    fn write(&self, folder: AbsPath, rule: Rule) -> Pin<Box<dyn Future<Output = Result<(), NotWritten>> + Send + '_>>;
}
