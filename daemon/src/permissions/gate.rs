//! The gate before every call: decided by rules, or asked and waited for. It never runs a call.

use agentd_core::permission::{Policy, Subject, Verdict, decide, forbids};
use agentd_core::query::StoreFailure;
use agentd_core::tools::Effects;
use agentd_types::permission::PermissionMode;
use agentd_types::{Json, Origin, ToolUseId};

use super::asker::{Answer, Ask, Asked, Asker, Said};

/// What is in force, and who is asked.
pub struct Gate<'a> {
    policy: Policy,
    asker: &'a dyn Asker,
}

/// What became of a call at the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// `by` = the person who allowed it, if one was asked.
    Go {
        updated_input: Option<Json>,
        by: Option<Origin>,
    },
    /// What the model is told.
    Denied {
        message: String,
    },
    /// It stays open: nobody answers here and now.
    Open,
    Withdrawn,
    StoreFailed(StoreFailure),
}

/// What the rules alone say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    Go,
    /// What the model is told.
    Denied {
        message: String,
    },
    /// Somebody is to be asked.
    WouldAsk,
}

impl<'a> Gate<'a> {
    #[must_use]
    pub fn new(policy: Policy, asker: &'a dyn Asker) -> Self {
        Self { policy, asker }
    }

    /// What the rules alone say; nobody is asked.
    #[must_use]
    pub fn look(&self, tool: &str, effects: Effects, subject: &Subject) -> Look {
        match decide(&self.policy, tool, effects, subject) {
            Verdict::Allow { .. } => Look::Go,
            Verdict::Deny { why } => Look::Denied { message: denied(&why) },
            Verdict::Ask { .. } => Look::WouldAsk,
        }
    }

    /// Decides, or asks and waits for the first answer.
    pub async fn pass(&self, tool_use: &ToolUseId, tool: &str, input: &Json, effects: Effects, subject: &Subject) -> Passage {
        match decide(&self.policy, tool, effects, subject) {
            Verdict::Allow { .. } => Passage::Go { updated_input: None, by: None },
            Verdict::Deny { why } => Passage::Denied { message: denied(&why) },
            Verdict::Ask { why, suggestions } => {
                let ask = Ask { tool_use: tool_use.clone(), tool_name: tool.to_owned(), input: input.clone(), reason: why, suggestions };
                match self.asker.ask(ask).await {
                    Answer::Allowed { updated_input, by } => Passage::Go { updated_input, by: Some(by) },
                    Answer::Denied { message, by } => Passage::Denied { message: denied_by(&by, message.as_deref()) },
                    Answer::Open => Passage::Open,
                    Answer::Withdrawn => Passage::Withdrawn,
                    Answer::StoreFailed(failure) => Passage::StoreFailed(failure),
                }
            }
        }
    }

    /// Asks whoever is attached what a call wants to know.
    pub async fn ask_person(&self, tool_use: &ToolUseId, questions: Vec<Asked>) -> Said {
        match self.policy.mode {
            PermissionMode::DontAsk => Said::Denied { message: denied("mode dontAsk: nobody is asked") },
            PermissionMode::Default
            | PermissionMode::Plan
            | PermissionMode::AutoEdit
            | PermissionMode::FullAuto
            | PermissionMode::BypassPermissions => self.asker.ask_person(tool_use.clone(), questions).await,
        }
    }

    /// Whether a deny rule forbids what a person made of the call; what the model is told.
    #[must_use]
    pub fn forbids(&self, tool: &str, subject: &Subject) -> Option<String> {
        forbids(&self.policy, tool, subject).map(|rule| denied(&format!("rule {rule}")))
    }
}

fn denied(why: &str) -> String {
    format!("Permission denied: {why}. Do not try to reach the same end another way; say what you would have done.")
}

fn denied_by(by: &Origin, message: Option<&str>) -> String {
    match message {
        Some(message) => format!("The call was denied by {by}: {message}"),
        None => format!("The call was denied by {by}. Do not try to reach the same end another way."),
    }
}
