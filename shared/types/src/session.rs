//! What a session is, as clients see it; the state machine is `core::session`.

use serde::{Deserialize, Serialize};

use crate::permission::PermissionMode;
use crate::{AbsPath, Money, Seq, SessionId, Timestamp};

/// What a session is doing. `Interrupted` = cut by a crash and dropped, or by a user cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Idle,
    Running,
    WaitingPermission,
    WaitingAnswer,
    Interrupted,
    Failed,
    Archived,
}

impl SessionState {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SessionState::Idle => "idle",
            SessionState::Running => "running",
            SessionState::WaitingPermission => "waiting_permission",
            SessionState::WaitingAnswer => "waiting_answer",
            SessionState::Interrupted => "interrupted",
            SessionState::Failed => "failed",
            SessionState::Archived => "archived",
        }
    }
}

/// Whether background notes start submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotesMode {
    #[default]
    Start,
    /// Stored and shown; nothing starts until a person speaks.
    Record,
}

/// A session's brakes. Absent = the engine's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Rounds of one submission.
    pub max_turns: Option<u32>,
    /// The session's whole life.
    pub max_budget: Option<Money>,
}

/// What a session is created with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    pub name: Option<String>,
    pub cwd: AbsPath,
    /// The model's name; empty = the daemon's default at that time.
    pub model: String,
    pub permission_mode: PermissionMode,
    pub limits: Limits,
    pub notes: NotesMode,
    /// What tools see; captured from the creating client, secrets of providers removed.
    pub environment: Vec<(String, String)>,
    /// Appended to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Rules that hold for this session only.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

/// A row of the session list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    pub id: SessionId,
    pub name: Option<String>,
    pub state: SessionState,
    pub cwd: AbsPath,
    pub model: String,
    pub permission_mode: PermissionMode,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub cost: Money,
    pub queued: u32,
    pub tasks_running: u32,
    pub permissions_open: u32,
    /// The end of what was said last; at most 200 characters.
    pub last_text: String,
    pub last_seq: Seq,
}
