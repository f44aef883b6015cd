//! Service `Queue`. What may be submitted by whom is checked here, as far as the wire alone tells.

use agentd_proto::server::queue_server::Queue;
use agentd_proto::{enum_or_default, v1};
use agentd_types::queue::CommandMode;
use agentd_types::{Block, Origin, SubmissionId};
use tonic::{Request, Response, Status};

use super::peer::Caller;
use super::server::Rpc;
use super::status::{bad_field, invalid};
use crate::sessions::request::{Interrupted, Submit, TaskPick};

/// Longest idempotency key, in bytes.
const LONGEST_KEY: usize = 256;

#[tonic::async_trait]
impl Queue for Rpc {
    async fn submit(&self, request: Request<v1::SubmitRequest>) -> Result<Response<v1::SubmitResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let session = request.session_id.clone();
        let submit = submit_of(request, caller)?;
        let receipt = self.session(&session).await?.submit(submit).await?;
        Ok(Response::new(v1::SubmitResponse { command_id: receipt.command.to_string(), seq: receipt.seq.0 }))
    }

    async fn list_queue(&self, request: Request<v1::ListQueueRequest>) -> Result<Response<v1::ListQueueResponse>, Status> {
        let commands = self.session(&request.get_ref().session_id).await?.queue().await?;
        Ok(Response::new(v1::ListQueueResponse { commands: commands.iter().map(Into::into).collect() }))
    }

    async fn interrupt(&self, request: Request<v1::InterruptRequest>) -> Result<Response<v1::InterruptResponse>, Status> {
        let by = Caller::of(&request).origin();
        let v1::InterruptRequest { session_id, submission_id, task_id, all_tasks } = request.into_inner();
        if let Some(pick) = task_id.map(TaskPick::One).or(all_tasks.then_some(TaskPick::All)) {
            let tasks = self.session(&session_id).await?.stop_tasks(pick, by).await?;
            let outcome = if tasks.is_empty() { v1::InterruptOutcome::NothingRunning } else { v1::InterruptOutcome::Ended };
            let tasks = tasks.iter().map(Into::into).collect();
            return Ok(Response::new(v1::InterruptResponse { outcome: outcome.into(), submission_id: None, seq: None, tasks }));
        }
        let submission =
            submission_id.map(|id| id.parse::<SubmissionId>().map_err(|error| invalid("submission_id", error.to_string()))).transpose()?;
        let done = self.session(&session_id).await?.interrupt(submission, by).await?;
        Ok(Response::new(interrupted(done)))
    }
}

/// The command, whole and allowed.
fn submit_of(request: v1::SubmitRequest, caller: Caller) -> Result<Submit, Status> {
    let mode = enum_or_default::<v1::CommandMode, CommandMode>("mode", request.mode).map_err(bad_field)?;
    match mode {
        CommandMode::Prompt => {}
        CommandMode::Shell => return Err(invalid("mode", "shell mode is not available yet; submit a PROMPT")),
        CommandMode::TaskNotification => return Err(invalid("mode", "notes of tasks are made by the daemon only; use PROMPT")),
    }
    if request.content.is_empty() {
        return Err(invalid("content", "there is nothing to submit: give at least one block"));
    }
    if request.idempotency_key.as_ref().is_some_and(|key| key.len() > LONGEST_KEY) {
        return Err(invalid("idempotency_key", format!("longer than {LONGEST_KEY} bytes")));
    }
    let content: Vec<Block> = request.content.into_iter().map(Block::try_from).collect::<Result<_, _>>().map_err(bad_field)?;
    sayable(&content)?;
    Ok(Submit {
        content,
        priority: enum_or_default::<v1::Priority, _>("priority", request.priority).map_err(bad_field)?,
        mode,
        origin: origin_of(request.origin, caller)?,
        idempotency_key: request.idempotency_key,
        batching: enum_or_default::<v1::Batching, _>("batching", request.batching).map_err(bad_field)?,
        options: request.options.map(TryInto::try_into).transpose().map_err(bad_field)?.unwrap_or_default(),
    })
}

/// What somebody may say: text and images, and something in them. Calls, results and thinking are the engine's to make.
fn sayable(content: &[Block]) -> Result<(), Status> {
    for block in content {
        match block {
            Block::Text { text } if text.trim().is_empty() => return Err(invalid("content", "a text block is empty")),
            Block::Text { .. } | Block::Image { .. } => {}
            Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse { .. }
            | Block::ToolResult { .. }
            | Block::Other { .. } => {
                return Err(invalid("content", "only text and images can be submitted"));
            }
        }
    }
    Ok(())
}

/// Persons speak for themselves, bridges for persons; nobody speaks for a task, a hook or another session.
fn origin_of(given: Option<v1::Origin>, caller: Caller) -> Result<Origin, Status> {
    let Some(given) = given else { return Ok(caller.origin()) };
    match Origin::try_from(given).map_err(bad_field)? {
        Origin::Person { client } if client.is_empty() => Ok(caller.origin()),
        origin @ (Origin::Person { .. } | Origin::Bridge { .. }) => Ok(origin),
        Origin::Task { .. } | Origin::Hook { .. } | Origin::Session { .. } => {
            Err(invalid("origin", "a client may submit as a person or a bridge only"))
        }
    }
}

fn interrupted(done: Interrupted) -> v1::InterruptResponse {
    use v1::InterruptOutcome as Outcome;
    let (outcome, submission_id, seq) = match done {
        Interrupted::Ended { submission, seq } => (Outcome::Ended, Some(submission.to_string()), Some(seq.0)),
        Interrupted::AlreadyEnded { submission } => (Outcome::AlreadyEnded, Some(submission.to_string()), None),
        Interrupted::NothingRunning => (Outcome::NothingRunning, None, None),
    };
    v1::InterruptResponse { outcome: outcome.into(), submission_id, seq, tasks: Vec::new() }
}
