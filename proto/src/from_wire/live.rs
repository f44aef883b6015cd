//! The snapshot, deltas and progress.

use agentd_types::event::ToolProgress;
use agentd_types::live::{BlockSoFar, ClientInfo, Delta, MessageSoFar, RetryCountdown, RunningTool, Snapshot};
use agentd_types::{Seq, Timestamp, ToolUseId};

use super::{all, enum_of, id, maybe, maybe_id, required};
use crate::{WireError, v1};

impl TryFrom<v1::Snapshot> for Snapshot {
    type Error = WireError;
    fn try_from(snapshot: v1::Snapshot) -> Result<Self, WireError> {
        Ok(Snapshot {
            seq: Seq(snapshot.seq),
            info: required("snapshot.info", snapshot.info)?.try_into()?,
            submission: maybe_id("snapshot.submission_id", snapshot.submission_id.as_deref())?,
            permissions: all(snapshot.permissions)?,
            questions: all(snapshot.questions)?,
            queue: all(snapshot.queue)?,
            running_tools: snapshot.running_tools.into_iter().map(RunningTool::from).collect(),
            tasks: all(snapshot.tasks)?,
            clients: snapshot.clients.into_iter().map(ClientInfo::from).collect(),
            in_progress: maybe(snapshot.in_progress)?,
        })
    }
}

impl From<v1::RunningTool> for RunningTool {
    fn from(tool: v1::RunningTool) -> Self {
        RunningTool { tool_use: ToolUseId(tool.tool_use_id), name: tool.name, started_at: Timestamp(tool.started_at_ms) }
    }
}

impl From<v1::ClientInfo> for ClientInfo {
    fn from(client: v1::ClientInfo) -> Self {
        ClientInfo { name: client.name, pid: client.pid, since: Timestamp(client.since_ms) }
    }
}

impl TryFrom<v1::MessageSoFar> for MessageSoFar {
    type Error = WireError;
    fn try_from(message: v1::MessageSoFar) -> Result<Self, WireError> {
        Ok(MessageSoFar { message: id("in_progress.message_id", &message.message_id)?, blocks: all(message.blocks)? })
    }
}

impl TryFrom<v1::BlockSoFar> for BlockSoFar {
    type Error = WireError;
    fn try_from(block: v1::BlockSoFar) -> Result<Self, WireError> {
        let kind = enum_of::<v1::DeltaKind, _>("in_progress.blocks.kind", block.kind)?;
        Ok(BlockSoFar { block: block.block, kind, text: block.text })
    }
}

impl TryFrom<v1::Delta> for Delta {
    type Error = WireError;
    fn try_from(delta: v1::Delta) -> Result<Self, WireError> {
        Ok(Delta {
            message: id("delta.message_id", &delta.message_id)?,
            block: delta.block,
            offset: delta.offset,
            kind: enum_of::<v1::DeltaKind, _>("delta.kind", delta.kind)?,
            text: delta.text,
        })
    }
}

impl From<v1::RetryCountdown> for RetryCountdown {
    fn from(countdown: v1::RetryCountdown) -> Self {
        RetryCountdown { attempt: countdown.attempt, max_retries: countdown.max_retries, left_ms: countdown.left_ms }
    }
}

impl From<v1::ToolProgress> for ToolProgress {
    fn from(progress: v1::ToolProgress) -> Self {
        ToolProgress { tool_use: ToolUseId(progress.tool_use_id), text: progress.text }
    }
}
