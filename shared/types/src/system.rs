//! What the daemon itself says on a session's stream; never anything a person or a model said.

use serde::{Deserialize, Serialize};

use crate::outcome::Denial;
use crate::permission::PermissionMode;
use crate::session::{Limits, NotesMode, SessionMeta};
use crate::{Json, MessageId, Origin, SubmissionId, ToolUseId};

/// A `system` event's body, by subtype.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum System {
    /// The session's first event.
    Created {
        meta: SessionMeta,
        idempotency_key: Option<String>,
    },
    /// What changed of the session's settings.
    SessionUpdated {
        changes: SessionChanges,
    },
    /// A submission starts: what the model is offered.
    Init(Init),
    /// What stands in front of the messages; the last one holds.
    Frame(Frame),
    /// Where the query loop stands; written at every iteration.
    LoopState(LoopRecord),
    /// A call with side effects is about to run.
    ToolStarted(ToolStarted),
    /// What came of an answer that still streams, since the last such entry; the whole message supersedes it.
    Partial(Partial),
    /// A request failed and will be repeated.
    ApiRetry(ApiRetry),
    /// The submission goes over to another model.
    ModelFallback(ModelFallback),
    /// The submission waits for answers that nobody here gives; resumable.
    Parked {
        open: Vec<ToolUseId>,
    },
    /// An interrupt ended the submission.
    Interrupted {
        reason: InterruptReason,
        by: Option<Origin>,
    },
    /// The daemon came back and found the submission cut.
    Recovered {
        submission: SubmissionId,
        outcome: RecoveryOutcome,
    },
    /// The session could not go on.
    Failed {
        reason: String,
    },
    Notice {
        text: String,
    },
    /// The session's last event.
    Deleted,
}

impl System {
    /// The subtype's name on the wire and in JSON.
    #[must_use]
    pub const fn subtype(&self) -> &'static str {
        match self {
            System::Created { .. } => "created",
            System::SessionUpdated { .. } => "session_updated",
            System::Init(_) => "init",
            System::Frame(_) => "frame",
            System::LoopState(_) => "loop_state",
            System::ToolStarted(_) => "tool_started",
            System::Partial(_) => "partial",
            System::ApiRetry(_) => "api_retry",
            System::ModelFallback(_) => "model_fallback",
            System::Parked { .. } => "parked",
            System::Interrupted { .. } => "interrupted",
            System::Recovered { .. } => "recovered",
            System::Failed { .. } => "failed",
            System::Notice { .. } => "notice",
            System::Deleted => "deleted",
        }
    }
}

/// Absent fields did not change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionChanges {
    pub name: Option<String>,
    pub model: Option<String>,
    pub permission_mode: Option<PermissionMode>,
    pub limits: Option<Limits>,
    pub notes: Option<NotesMode>,
}

/// What a submission starts with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    pub model: String,
    pub tools: Vec<String>,
    pub cwd: crate::AbsPath,
    pub permission_mode: PermissionMode,
    /// Where the key came from (`ANTHROPIC_API_KEY`, `settings`, `rehearsal`, …), never the key.
    pub api_key_source: String,
    pub version: String,
}

/// The system field's bytes, kept so that a restart does not change what the provider has in its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The same in every session of one version.
    pub fixed: String,
    /// Where the session was when the frame was made.
    pub tail: String,
}

/// The loop's state as written to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopRecord {
    pub round: u32,
    /// Why the last iteration continued, in the engine's words.
    pub transition: Option<String>,
    /// `core::query::LoopState` as JSON.
    pub state: Json,
    /// Calls denied since the last record.
    #[serde(default)]
    pub denials: Vec<Denial>,
}

/// A part of an answer that still streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partial {
    pub message: MessageId,
    pub pieces: Vec<PartialPiece>,
}

/// New text of one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialPiece {
    /// The block's index in its message.
    pub block: u32,
    pub text: String,
    /// Whether the block has come to its end.
    pub complete: bool,
}

/// Written before a call with side effects runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStarted {
    pub tool_use: ToolUseId,
    pub name: String,
    /// What really runs, where it differs from the model's input.
    pub effective_input: Option<Json>,
    /// Who changed it.
    pub changed_by: Option<Origin>,
}

/// One announced repeat of a model request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiRetry {
    /// From 1.
    pub attempt: u32,
    pub max_retries: u32,
    pub delay_ms: u64,
    pub status: Option<u16>,
    /// The error's class (`overloaded_error`, `rate_limit_error`, `stream_cut`, …).
    pub error: String,
}

/// Another model is asked, for the rest of the submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFallback {
    pub from: String,
    pub to: String,
    /// The class of what `from` said: `overloaded_error` or `refusal`.
    pub error: String,
    /// For a person.
    pub reason: String,
}

/// Why a submission was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InterruptReason {
    /// A person said stop.
    #[serde(rename = "user-cancel")]
    UserCancel,
    /// A `now` command, or typing while only `cancel` tools ran.
    #[serde(rename = "interrupt")]
    Interrupt,
    /// The daemon is going down.
    #[serde(rename = "drain")]
    Drain,
}

impl InterruptReason {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            InterruptReason::UserCancel => "user-cancel",
            InterruptReason::Interrupt => "interrupt",
            InterruptReason::Drain => "drain",
        }
    }
}

/// What became of a submission that was cut by a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// It goes on where it was.
    Continued,
    /// A call's outcome is unknown: it stops here, the next prompt goes on.
    Dropped,
    /// It waits for answers: to what was open already, or to whether it shall go on.
    Waiting,
}
