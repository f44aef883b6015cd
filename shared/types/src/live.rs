//! What a subscriber sees beside durable events: the snapshot, deltas, and news of the link. Nothing here is stored.

use serde::{Deserialize, Serialize};

use crate::event::ToolProgress;
use crate::permission::PermissionRequest;
use crate::question::Question;
use crate::queue::QueuedCommand;
use crate::session::SessionInfo;
use crate::task::Task;
use crate::{MessageId, Seq, SubmissionId, Timestamp, ToolUseId};

/// What kind of block a delta extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    Text,
    Thinking,
    ToolInput,
}

/// A piece of a block that is being streamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    pub message: MessageId,
    /// The block's index in its message.
    pub block: u32,
    /// Bytes of that block before this piece.
    pub offset: u64,
    pub kind: DeltaKind,
    pub text: String,
}

/// A thing that is seen now or never.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ephemeral {
    Delta(Delta),
    Progress(ToolProgress),
    Countdown(RetryCountdown),
}

/// A failed model request waits to be repeated; said about once a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryCountdown {
    /// The repeat that comes, from 1.
    pub attempt: u32,
    pub max_retries: u32,
    pub left_ms: u64,
}

/// A block of the message in progress with its text so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSoFar {
    pub block: u32,
    pub kind: DeltaKind,
    pub text: String,
}

/// The message that is being streamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSoFar {
    pub message: MessageId,
    pub blocks: Vec<BlockSoFar>,
}

/// A call that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningTool {
    pub tool_use: ToolUseId,
    pub name: String,
    pub started_at: Timestamp,
}

/// A client that is attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInfo {
    /// As the client named itself ("cli on pts/3").
    pub name: String,
    pub pid: Option<u32>,
    pub since: Timestamp,
}

/// A session as of `seq`: the first message of a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Events up to here are contained.
    pub seq: Seq,
    pub info: SessionInfo,
    pub submission: Option<SubmissionId>,
    pub permissions: Vec<PermissionRequest>,
    /// Open ones.
    pub questions: Vec<Question>,
    pub queue: Vec<QueuedCommand>,
    pub running_tools: Vec<RunningTool>,
    /// Those that run, and those that ended last; oldest first.
    pub tasks: Vec<Task>,
    pub clients: Vec<ClientInfo>,
    pub in_progress: Option<MessageSoFar>,
}
