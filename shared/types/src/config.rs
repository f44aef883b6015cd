//! The settings' shape and defaults; it never reads a file or the environment.

use serde::{Deserialize, Serialize};

use crate::permission::PermissionMode;
use crate::rule::Rule;

/// `settings.json`. Unknown keys are kept apart by the reader, which warns of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Default model of new sessions.
    pub model: Option<String>,
    /// Models that are asked instead when the session's own stays overloaded or refuses, in this order.
    pub fallback_models: Vec<String>,
    pub permissions: Permissions,
    pub provider: ProviderSettings,
    pub resume: Resume,
    /// Environment of tools, on top of the session's.
    pub env: std::collections::BTreeMap<String, String>,
    /// Rounds of one submission.
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<f64>,
}

/// The permission part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub default_mode: Option<PermissionMode>,
    /// Folders that count as allowed beside the session's own.
    pub additional_directories: Vec<String>,
}

/// What becomes of a submission that a crash cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resume {
    pub interrupted: Interrupted,
}

/// Whether a cut submission goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupted {
    /// It does when no call has an unknown outcome; else somebody is asked.
    #[default]
    Continue,
    /// Somebody is asked.
    Ask,
}

/// Where the model is asked. Keys here are read and never written anywhere.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderSettings {
    pub anthropic_base_url: Option<String>,
    #[serde(skip_serializing)]
    pub anthropic_api_key: Option<String>,
    #[serde(skip_serializing)]
    pub anthropic_auth_token: Option<String>,
    /// Milliseconds before a failed request is first repeated; the wait doubles with each repeat. Default 500.
    pub retry_base_ms: Option<u64>,
    /// Milliseconds a model may be silent before its answer counts as broken; pings do not count. Default 300 000.
    pub silence_ms: Option<u64>,
}

impl std::fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |key: &Option<String>| key.as_ref().map(|_| "set");
        f.debug_struct("ProviderSettings")
            .field("anthropic_base_url", &self.anthropic_base_url)
            .field("anthropic_api_key", &shown(&self.anthropic_api_key))
            .field("anthropic_auth_token", &shown(&self.anthropic_auth_token))
            .field("retry_base_ms", &self.retry_base_ms)
            .field("silence_ms", &self.silence_ms)
            .finish()
    }
}
