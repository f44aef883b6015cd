//! "Allow always": the answer's rule is kept for the session's folder before the answerer hears of it. It decides nothing.

use std::pin::Pin;

use agentd_core::session::{Outcome, Refusal};
use agentd_types::AbsPath;
use agentd_types::permission::{AllowScope, Decision, PermissionResolved};
use agentd_types::rule::Rule;

use super::actor::Actor;
use super::error::SessionError;
use super::perform::answer;
use super::waiting::Waiter;
use crate::permissions::rules::{NotWritten, RuleWriter};
use crate::settings::Folders;

impl RuleWriter for Folders {
    fn write(&self, folder: AbsPath, rule: Rule) -> Pin<Box<dyn Future<Output = Result<(), NotWritten>> + Send + '_>> {
        Box::pin(async move { self.allow(folder, rule).await.map_err(NotWritten) })
    }
}

impl Actor {
    /// Tells the answerer, after the rule is kept if the answer makes one. The session does not wait for that.
    pub(super) fn answer(&self, waiter: Waiter, outcome: Result<Outcome, Refusal>) {
        let rule = match &outcome {
            Ok(Outcome::Resolved(resolved)) => rule_of(resolved),
            Ok(_) | Err(_) => None,
        };
        let (Some(rule), Waiter::Respond(_)) = (rule, &waiter) else { return answer(waiter, outcome) };
        let (writer, folder) = (std::sync::Arc::clone(&self.shared.rules), self.machine.committed().meta.cwd.clone());
        tokio::spawn(async move {
            match (writer.write(folder.clone(), rule.clone()).await, waiter) {
                (Ok(()), waiter) => answer(waiter, outcome),
                (Err(NotWritten(why)), Waiter::Respond(reply)) => {
                    tracing::error!(%folder, %rule, why, "a rule was not written");
                    let _ = reply.send(Err(SessionError::RuleNotWritten { rule: rule.to_string(), why }));
                }
                (Err(_), waiter) => answer(waiter, outcome),
            }
        });
    }
}

/// The rule that "always" is to keep.
fn rule_of(resolved: &PermissionResolved) -> Option<Rule> {
    match &resolved.decision {
        Decision::Allow { scope: AllowScope::Always, .. } => resolved.rule.as_ref().and_then(|rule| rule.parse().ok()),
        Decision::Allow { scope: AllowScope::Once | AllowScope::Session, .. } | Decision::Deny { .. } | Decision::Withdrawn => None,
    }
}
