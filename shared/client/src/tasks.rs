//! Typed calls about tasks. It follows an output only as long as its reader does.

use agentd_proto::v1;
use agentd_proto::v1::queue_client::QueueClient;
use agentd_proto::v1::tasks_client::TasksClient;
use agentd_types::task::Task;

use crate::connect::{Connection, LARGEST, field};
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

/// A task's output as it comes.
pub struct TaskOutput {
    stream: tonic::Streaming<v1::StreamTaskOutputResponse>,
}

/// A piece of a task's output, or its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPiece {
    Data {
        offset: u64,
        bytes: Vec<u8>,
    },
    /// The task as it is now; the last piece.
    End(Box<Task>),
}

/// Whether a task's output is read to what is there, or to the task's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    No,
    UntilEnd,
}

impl TaskOutput {
    /// The next piece; `None` after the end.
    ///
    /// # Errors
    /// What the daemon said, or a lost link.
    pub async fn next(&mut self) -> Result<Option<TaskPiece>> {
        let Some(piece) = self.stream.message().await? else { return Ok(None) };
        Ok(Some(match piece.task {
            Some(task) => TaskPiece::End(Box::new(task.try_into()?)),
            None => TaskPiece::Data { offset: piece.offset, bytes: piece.data.into() },
        }))
    }
}

impl Connection {
    fn tasks_client(&self) -> TasksClient<tonic::transport::Channel> {
        TasksClient::new(self.channel.clone()).max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST)
    }

    /// Those that run, and the newest that ended; oldest first.
    pub async fn tasks(&self, what: &str) -> Result<Vec<Task>> {
        let request = v1::ListTasksRequest { session_id: what.to_owned() };
        let answer = self.tasks_client().list_tasks(self.request(request)).await?.into_inner();
        answer.tasks.into_iter().map(|task| Task::try_from(task).map_err(Into::into)).collect()
    }

    /// What a task printed, from `offset`.
    pub async fn task_output(&self, what: &str, task: &str, offset: u64, follow: Follow) -> Result<TaskOutput> {
        let request = v1::StreamTaskOutputRequest {
            session_id: what.to_owned(),
            task_id: task.to_owned(),
            offset,
            follow: follow == Follow::UntilEnd,
        };
        let stream = self.tasks_client().stream_task_output(self.request(request)).await?.into_inner();
        Ok(TaskOutput { stream })
    }

    /// Ends a task; returns it when nothing of it runs any more.
    pub async fn stop_task(&self, what: &str, task: &str) -> Result<Task> {
        let request = v1::StopTaskRequest { session_id: what.to_owned(), task_id: task.to_owned() };
        let answer = self.tasks_client().stop_task(self.request(request)).await?.into_inner();
        Ok(field("task", answer.task)?.try_into()?)
    }

    /// Ends all tasks that run; returns them when nothing of them runs any more.
    pub async fn stop_all_tasks(&self, what: &str) -> Result<Vec<Task>> {
        let request = v1::InterruptRequest { session_id: what.to_owned(), all_tasks: true, ..v1::InterruptRequest::default() };
        let queue = QueueClient::new(self.channel.clone());
        let answer = queue.max_decoding_message_size(LARGEST).interrupt(self.request(request)).await?.into_inner();
        answer.tasks.into_iter().map(|task| Task::try_from(task).map_err(Into::into)).collect()
    }

    /// A running call goes on in the background; the task it is.
    pub async fn background(&self, what: &str, tool_use: &str) -> Result<Task> {
        let request = v1::BackgroundToolRequest { session_id: what.to_owned(), tool_use_id: tool_use.to_owned() };
        let answer = self.tasks_client().background_tool(self.request(request)).await?.into_inner();
        Ok(field("task", answer.task)?.try_into()?)
    }
}
