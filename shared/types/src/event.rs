//! The durable event: the one kind of fact a session is made of. It never holds a delta.

use serde::{Deserialize, Serialize};

use crate::outcome::SubmissionResult;
use crate::permission::{PermissionRequest, PermissionResolved};
use crate::question::{Answered, Question};
use crate::queue::QueueChange;
use crate::system::System;
use crate::task::TaskChange;
use crate::{AgentId, Block, CommandId, MessageId, Origin, Seq, SessionId, SubmissionId, Timestamp, ToolUseId, Usage};

/// A durable event: numbered by its session's actor, visible only after it is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub session: SessionId,
    /// Dense within the session, from 1.
    pub seq: Seq,
    pub time: Timestamp,
    pub submission: Option<SubmissionId>,
    /// The subagent that speaks; absent = the main loop.
    pub agent: Option<AgentId>,
    /// The call that started that subagent.
    pub parent_tool_use: Option<ToolUseId>,
    pub origin: Option<Origin>,
    pub body: Body,
}

/// An event before it has a number and a time: what everyone but the actor hands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub submission: Option<SubmissionId>,
    pub agent: Option<AgentId>,
    pub parent_tool_use: Option<ToolUseId>,
    pub origin: Option<Origin>,
    pub body: Body,
}

impl Entry {
    /// An entry of the main loop of `submission`.
    #[must_use]
    pub fn of(submission: SubmissionId, body: Body) -> Entry {
        Entry { submission: Some(submission), agent: None, parent_tool_use: None, origin: None, body }
    }

    /// An entry outside any submission.
    #[must_use]
    pub fn outside(body: Body) -> Entry {
        Entry { submission: None, agent: None, parent_tool_use: None, origin: None, body }
    }

    /// The same, said by `origin`.
    #[must_use]
    pub fn by(mut self, origin: Origin) -> Entry {
        self.origin = Some(origin);
        self
    }

    /// The numbered event.
    #[must_use]
    pub fn number(self, session: SessionId, seq: Seq, time: Timestamp) -> Event {
        Event {
            session,
            seq,
            time,
            submission: self.submission,
            agent: self.agent,
            parent_tool_use: self.parent_tool_use,
            origin: self.origin,
            body: self.body,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    User(UserMessage),
    Assistant(AssistantMessage),
    Attachment(Attachment),
    System(System),
    /// A message that was shown and does not count.
    Tombstone {
        message: MessageId,
        reason: String,
    },
    PermissionRequest(PermissionRequest),
    PermissionResolved(PermissionResolved),
    Question(Question),
    Answer(Answered),
    Queue(QueueChange),
    Task(TaskChange),
    Result(SubmissionResult),
}

impl Body {
    /// The event's type on the wire and in JSON.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Body::User(_) => "user",
            Body::Assistant(_) => "assistant",
            Body::Attachment(_) => "attachment",
            Body::System(_) => "system",
            Body::Tombstone { .. } => "tombstone",
            Body::PermissionRequest(_) => "permission_request",
            Body::PermissionResolved(_) => "permission_resolved",
            Body::Question(_) => "question",
            Body::Answer(_) => "answer",
            Body::Queue(_) => "queue",
            Body::Task(_) => "task",
            Body::Result(_) => "result",
        }
    }
}

/// Why there is a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    /// What somebody submitted.
    Prompt,
    /// Results of tool calls.
    ToolResults,
    /// The engine's own words to the model (carry on, hook feedback, interrupt marker).
    Meta,
}

/// A message with role `user`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    pub message: MessageId,
    pub kind: UserKind,
    pub content: Vec<Block>,
    /// The queued commands it delivers, in order.
    pub commands: Vec<CommandId>,
}

/// A message with role `assistant`, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The same id its deltas carried.
    pub message: MessageId,
    /// The provider's id of the message.
    pub api_id: String,
    pub model: String,
    pub content: Vec<Block>,
    /// As the provider said it; absent when the stream broke.
    pub stop_reason: Option<String>,
    pub usage: Usage,
}

/// Context that travels at the tail, after the tool results; stored and re-sent verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub message: MessageId,
    pub kind: AttachmentKind,
    pub content: Vec<Block>,
    /// The command it delivers, for queued prompts.
    pub command: Option<CommandId>,
}

/// What an attachment is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    /// A queued prompt, taken between two rounds.
    QueuedCommand,
    /// A file changed since it was read.
    EditedTextFile,
    /// The engine's reminder (mode, date, …).
    Reminder,
}

/// What a progress line of a running tool says; ephemeral.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolProgress {
    pub tool_use: ToolUseId,
    pub text: String,
}
