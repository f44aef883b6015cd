//! What is asked of the daemon and what it answers, in our own words; no wire type.

use agentd_types::permission::{PermissionRequest, PermissionResolved};
use agentd_types::question::{Answered, Question};
use agentd_types::queue::{Batching, Priority, RunOptions};
use agentd_types::session::SessionMeta;
use agentd_types::{AbsPath, Block, CommandId, Origin, Seq, SubmissionId, Timestamp};

/// A session to be made. The same key gives the same session, for 7 days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub meta: SessionMeta,
    pub idempotency_key: Option<String>,
}

/// A command for a session's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub content: Vec<Block>,
    pub priority: Priority,
    /// `None` = the person at this client.
    pub origin: Option<Origin>,
    pub idempotency_key: Option<String>,
    pub batching: Batching,
    pub options: RunOptions,
}

/// Given after the command is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub command: CommandId,
    pub seq: Seq,
}

/// What an interrupt did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptOutcome {
    Ended { submission: SubmissionId, seq: Seq },
    AlreadyEnded,
    NothingRunning,
}

/// A permission request; `resolved` absent = open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRow {
    pub request: PermissionRequest,
    pub resolved: Option<(PermissionResolved, Timestamp)>,
}

/// A question; `answered` absent = open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    pub question: Question,
    pub answered: Option<(Answered, Timestamp)>,
}

/// Who answers on the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonInfo {
    pub version: String,
    pub protocol: u32,
    pub pid: u32,
    pub started_at: Timestamp,
    pub socket: AbsPath,
    pub data_dir: AbsPath,
    pub default_model: String,
    pub provider_key_source: String,
    pub sessions: u64,
    /// `opening`, `ready` or `draining`.
    pub state: String,
    /// Who would be asked for the default model; empty = nobody can be.
    pub provider: String,
    /// Where; empty without a server.
    pub provider_base_url: String,
    /// Why nobody can be asked; empty when somebody can.
    pub provider_problem: String,
}

/// Whether something that happened should not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Note,
    Attention,
}

/// Something that happened to the daemon's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreEvent {
    pub at: Timestamp,
    pub weight: Weight,
    pub text: String,
}

/// How the daemon's store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStatus {
    /// Empty when all is well.
    pub trouble: String,
    /// Since the daemon started, oldest first.
    pub events: Vec<StoreEvent>,
    /// Sessions that are kept apart (their ids), and why.
    pub quarantined: Vec<(String, String)>,
    /// Folders of damaged databases.
    pub set_aside: Vec<String>,
    pub sessions: u64,
    pub segments: u64,
    pub database_bytes: u64,
}
