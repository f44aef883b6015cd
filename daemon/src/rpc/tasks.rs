//! Service `Tasks`. What a task is and when it ends is the session's to say; here its output is read piece by piece.

use std::pin::Pin;
use std::time::Duration;

use agentd_proto::server::tasks_server::Tasks;
use agentd_proto::v1;
use agentd_types::ToolUseId;
use agentd_types::task::Task;
use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::peer::Caller;
use super::server::Rpc;
use crate::sessions::SessionError;
use crate::sessions::request::{TaskPick, WatchedTask};
use crate::sessions::task_output;

/// Bytes of one piece.
const PIECE: u64 = 256 * 1024;
/// Pieces that wait for a slow reader.
const AHEAD: usize = 4;
/// How soon new output is looked for.
const LOOK: Duration = Duration::from_millis(100);

#[tonic::async_trait]
impl Tasks for Rpc {
    type StreamTaskOutputStream = Pin<Box<dyn Stream<Item = Result<v1::StreamTaskOutputResponse, Status>> + Send>>;

    async fn list_tasks(&self, request: Request<v1::ListTasksRequest>) -> Result<Response<v1::ListTasksResponse>, Status> {
        let tasks = self.session(&request.get_ref().session_id).await?.tasks().await?;
        Ok(Response::new(v1::ListTasksResponse { tasks: tasks.iter().map(Into::into).collect() }))
    }

    async fn stream_task_output(
        &self,
        request: Request<v1::StreamTaskOutputRequest>,
    ) -> Result<Response<Self::StreamTaskOutputStream>, Status> {
        let v1::StreamTaskOutputRequest { session_id, task_id, offset, follow } = request.into_inner();
        let watched = self.session(&session_id).await?.watch_task(task_id).await?;
        let (pieces, stream) = mpsc::channel(AHEAD);
        tokio::spawn(send_output(watched, offset, if follow { Until::Ended } else { Until::Now }, pieces));
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }

    async fn stop_task(&self, request: Request<v1::StopTaskRequest>) -> Result<Response<v1::StopTaskResponse>, Status> {
        let by = Caller::of(&request).origin();
        let v1::StopTaskRequest { session_id, task_id } = request.into_inner();
        let tasks = self.session(&session_id).await?.stop_tasks(TaskPick::One(task_id.clone()), by).await?;
        let task = tasks.first().ok_or(SessionError::NoSuchTask { id: task_id })?;
        Ok(Response::new(v1::StopTaskResponse { task: Some(task.into()) }))
    }

    async fn background_tool(&self, request: Request<v1::BackgroundToolRequest>) -> Result<Response<v1::BackgroundToolResponse>, Status> {
        let v1::BackgroundToolRequest { session_id, tool_use_id } = request.into_inner();
        let tasks = self.session(&session_id).await?.move_call(ToolUseId::new(tool_use_id.clone())).await?;
        let task = tasks.first().ok_or(SessionError::NotRunning { call: tool_use_id })?;
        Ok(Response::new(v1::BackgroundToolResponse { task: Some(task.into()) }))
    }
}

/// How long a stream of output goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Now,
    /// Until the task has ended.
    Ended,
}

/// Reads what there is, then what comes; ends with the task as it is then. A reader that has gone ends it.
async fn send_output(
    watched: WatchedTask,
    mut offset: u64,
    until: Until,
    pieces: mpsc::Sender<Result<v1::StreamTaskOutputResponse, Status>>,
) {
    let WatchedTask { mut task, tasks } = watched;
    loop {
        // Looked at before the output: what it printed until its end is read after that.
        task = now(&tasks, task);
        loop {
            let data = match task_output::piece(&task, offset, PIECE).await {
                Ok(data) => data,
                Err(why) => {
                    let _ = pieces.send(Err(Status::internal(format!("the output of task {} cannot be read: {why}", task.id())))).await;
                    return;
                }
            };
            if data.is_empty() {
                break;
            }
            let length = data.len() as u64;
            let piece = v1::StreamTaskOutputResponse { offset, data: Bytes::from(data), task: None };
            if pieces.send(Ok(piece)).await.is_err() {
                return;
            }
            offset += length;
        }
        match (until, task.is_running()) {
            (Until::Now, _) | (Until::Ended, false) => break,
            (Until::Ended, true) => tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = pieces.closed() => return,
            },
        }
    }
    let end = v1::StreamTaskOutputResponse { offset, data: Bytes::new(), task: Some((&task).into()) };
    let _ = pieces.send(Ok(end)).await;
}

fn now(tasks: &tokio::sync::watch::Receiver<std::sync::Arc<[Task]>>, before: Task) -> Task {
    tasks.borrow().iter().find(|task| task.id() == before.id()).cloned().unwrap_or(before)
}
