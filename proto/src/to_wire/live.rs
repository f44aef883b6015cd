//! The snapshot, deltas and progress.

use agentd_types::event::ToolProgress;
use agentd_types::live::{BlockSoFar, ClientInfo, Delta, Ephemeral, MessageSoFar, RetryCountdown, RunningTool, Snapshot};

use super::{all, number, text};
use crate::v1;

impl From<&Snapshot> for v1::Snapshot {
    fn from(snapshot: &Snapshot) -> Self {
        v1::Snapshot {
            seq: snapshot.seq.0,
            info: Some((&snapshot.info).into()),
            submission_id: text(&snapshot.submission),
            permissions: all(&snapshot.permissions),
            questions: all(&snapshot.questions),
            queue: all(&snapshot.queue),
            running_tools: all(&snapshot.running_tools),
            tasks: all(&snapshot.tasks),
            clients: all(&snapshot.clients),
            in_progress: snapshot.in_progress.as_ref().map(Into::into),
        }
    }
}

impl From<&RunningTool> for v1::RunningTool {
    fn from(tool: &RunningTool) -> Self {
        v1::RunningTool { tool_use_id: tool.tool_use.to_string(), name: tool.name.clone(), started_at_ms: tool.started_at.0 }
    }
}

impl From<&ClientInfo> for v1::ClientInfo {
    fn from(client: &ClientInfo) -> Self {
        v1::ClientInfo { name: client.name.clone(), pid: client.pid, since_ms: client.since.0 }
    }
}

impl From<&MessageSoFar> for v1::MessageSoFar {
    fn from(message: &MessageSoFar) -> Self {
        v1::MessageSoFar { message_id: message.message.to_string(), blocks: all(&message.blocks) }
    }
}

impl From<&BlockSoFar> for v1::BlockSoFar {
    fn from(block: &BlockSoFar) -> Self {
        v1::BlockSoFar { block: block.block, kind: number::<v1::DeltaKind>(block.kind), text: block.text.clone() }
    }
}

impl From<&Delta> for v1::Delta {
    fn from(delta: &Delta) -> Self {
        v1::Delta {
            message_id: delta.message.to_string(),
            block: delta.block,
            offset: delta.offset,
            kind: number::<v1::DeltaKind>(delta.kind),
            text: delta.text.clone(),
        }
    }
}

impl From<&ToolProgress> for v1::ToolProgress {
    fn from(progress: &ToolProgress) -> Self {
        v1::ToolProgress { tool_use_id: progress.tool_use.to_string(), text: progress.text.clone() }
    }
}

impl From<&RetryCountdown> for v1::RetryCountdown {
    fn from(countdown: &RetryCountdown) -> Self {
        v1::RetryCountdown { attempt: countdown.attempt, max_retries: countdown.max_retries, left_ms: countdown.left_ms }
    }
}

impl From<&Ephemeral> for v1::SubscribeResponse {
    fn from(ephemeral: &Ephemeral) -> Self {
        use v1::subscribe_response::Item;
        let item = match ephemeral {
            Ephemeral::Delta(delta) => Item::Delta(delta.into()),
            Ephemeral::Progress(progress) => Item::Progress(progress.into()),
            Ephemeral::Countdown(countdown) => Item::Countdown(countdown.into()),
        };
        v1::SubscribeResponse { item: Some(item) }
    }
}
