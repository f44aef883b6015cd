//! The event and its bodies.

use agentd_types::event::{AssistantMessage, Attachment, UserMessage};
use agentd_types::outcome::{Denial, ModelShare, SubmissionResult};
use agentd_types::{Body, Event};

use super::{all, number, text, texts};
use crate::v1;

impl From<&Event> for v1::Event {
    fn from(event: &Event) -> Self {
        v1::Event {
            session_id: event.session.to_string(),
            seq: event.seq.0,
            time_ms: event.time.0,
            submission_id: text(&event.submission),
            agent_id: text(&event.agent),
            parent_tool_use_id: text(&event.parent_tool_use),
            origin: event.origin.as_ref().map(Into::into),
            body: Some((&event.body).into()),
        }
    }
}

impl From<&Body> for v1::event::Body {
    fn from(body: &Body) -> Self {
        match body {
            Body::User(user) => Self::User(user.into()),
            Body::Assistant(assistant) => Self::Assistant(assistant.into()),
            Body::Attachment(attachment) => Self::Attachment(attachment.into()),
            Body::System(system) => Self::System(system.into()),
            Body::Tombstone { message, reason } => {
                Self::Tombstone(v1::Tombstone { message_id: message.to_string(), reason: reason.clone() })
            }
            Body::PermissionRequest(request) => Self::PermissionRequest(request.into()),
            Body::PermissionResolved(resolved) => Self::PermissionResolved(resolved.into()),
            Body::Question(question) => Self::Question(question.into()),
            Body::Task(change) => Self::Task(change.into()),
            Body::Answer(answered) => Self::Answer(answered.into()),
            Body::Queue(change) => Self::Queue(change.into()),
            Body::Result(result) => Self::Result(result.into()),
        }
    }
}

impl From<&UserMessage> for v1::UserMessage {
    fn from(user: &UserMessage) -> Self {
        v1::UserMessage {
            message_id: user.message.to_string(),
            kind: number::<v1::UserKind>(user.kind),
            content: all(&user.content),
            command_ids: texts(&user.commands),
        }
    }
}

impl From<&AssistantMessage> for v1::AssistantMessage {
    fn from(assistant: &AssistantMessage) -> Self {
        v1::AssistantMessage {
            message_id: assistant.message.to_string(),
            api_id: assistant.api_id.clone(),
            model: assistant.model.clone(),
            content: all(&assistant.content),
            stop_reason: assistant.stop_reason.clone(),
            usage: Some((&assistant.usage).into()),
        }
    }
}

impl From<&Attachment> for v1::Attachment {
    fn from(attachment: &Attachment) -> Self {
        v1::Attachment {
            message_id: attachment.message.to_string(),
            kind: number::<v1::AttachmentKind>(attachment.kind.clone()),
            content: all(&attachment.content),
            command_id: text(&attachment.command),
        }
    }
}

impl From<&SubmissionResult> for v1::SubmissionResult {
    fn from(result: &SubmissionResult) -> Self {
        v1::SubmissionResult {
            submission_id: result.submission.to_string(),
            terminal: number::<v1::Terminal>(result.terminal),
            detail: result.detail.clone(),
            error_kind: result.error_kind.clone(),
            error_status: result.error_status.map(u32::from),
            text: result.text.clone(),
            stop_reason: result.stop_reason.clone(),
            num_turns: result.num_turns,
            duration_ms: result.duration_ms,
            duration_api_ms: result.duration_api_ms,
            usage: Some((&result.usage).into()),
            cost_nanos: result.cost.0,
            session_cost_nanos: result.session_cost.0,
            models: all(&result.models),
            denials: all(&result.denials),
            answered_command_ids: texts(&result.answered),
        }
    }
}

impl From<&ModelShare> for v1::ModelShare {
    fn from(share: &ModelShare) -> Self {
        v1::ModelShare {
            model: share.model.clone(),
            usage: Some((&share.usage).into()),
            cost_nanos: share.cost.0,
            basis: number::<v1::CostBasis>(share.basis),
        }
    }
}

impl From<&Denial> for v1::Denial {
    fn from(denial: &Denial) -> Self {
        v1::Denial { tool_name: denial.tool_name.clone(), tool_use_id: denial.tool_use.to_string(), input_json: denial.input.to_string() }
    }
}
