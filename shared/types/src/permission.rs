//! Permission modes, open requests and their answers; deciding is `core::permission`.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Json, Origin, RequestId, Timestamp, ToolUseId};

/// How much a session may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum PermissionMode {
    #[default]
    #[serde(rename = "default", alias = "manual", alias = "auto")]
    Default,
    #[serde(rename = "plan")]
    Plan,
    #[serde(rename = "autoEdit", alias = "acceptEdits")]
    AutoEdit,
    #[serde(rename = "fullAuto")]
    FullAuto,
    #[serde(rename = "bypassPermissions")]
    BypassPermissions,
    /// `default`, but what would ask is denied.
    #[serde(rename = "dontAsk")]
    DontAsk,
}

/// Not a permission mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no permission mode; use default, plan, autoEdit, fullAuto, bypassPermissions or dontAsk")]
pub struct BadMode(pub String);

impl PermissionMode {
    /// The name in settings, flags and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PermissionMode::Default => "default",
            PermissionMode::Plan => "plan",
            PermissionMode::AutoEdit => "autoEdit",
            PermissionMode::FullAuto => "fullAuto",
            PermissionMode::BypassPermissions => "bypassPermissions",
            PermissionMode::DontAsk => "dontAsk",
        }
    }
}

impl std::str::FromStr for PermissionMode {
    type Err = BadMode;
    fn from_str(text: &str) -> Result<Self, BadMode> {
        match text {
            "default" | "manual" | "auto" => Ok(PermissionMode::Default),
            "plan" => Ok(PermissionMode::Plan),
            "autoEdit" | "acceptEdits" => Ok(PermissionMode::AutoEdit),
            "fullAuto" => Ok(PermissionMode::FullAuto),
            "bypassPermissions" => Ok(PermissionMode::BypassPermissions),
            "dontAsk" => Ok(PermissionMode::DontAsk),
            _ => Err(BadMode(text.to_owned())),
        }
    }
}

/// A call that waits for an answer; durable, answerable by any client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRequest {
    pub id: RequestId,
    pub agent: Option<AgentId>,
    pub tool_use: ToolUseId,
    pub tool_name: String,
    pub input: Json,
    /// Why it asks, for a person.
    pub reason: String,
    /// Rules that "allow always" would write.
    pub suggestions: Vec<String>,
    pub asked_at: Timestamp,
}

/// How long an allow holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowScope {
    #[default]
    Once,
    Session,
    /// Writes a rule for this folder.
    Always,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Allow {
        scope: AllowScope,
        updated_input: Option<Json>,
    },
    /// `message` goes to the model.
    Deny {
        message: Option<String>,
    },
    /// Nobody answered: the call's submission ended first.
    Withdrawn,
}

impl Decision {
    /// The word for logs and the "already answered" error.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Decision::Allow { .. } => "allow",
            Decision::Deny { .. } => "deny",
            Decision::Withdrawn => "withdrawn",
        }
    }
}

/// A request's end: the first answer wins and its author is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionResolved {
    pub id: RequestId,
    pub tool_use: ToolUseId,
    pub decision: Decision,
    pub by: Origin,
    /// The rule that "allow for the session/always" puts in force.
    pub rule: Option<String>,
}
