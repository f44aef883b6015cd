//! The event and its bodies.

use agentd_types::event::{AssistantMessage, Attachment, UserMessage};
use agentd_types::outcome::{Denial, ModelShare, SubmissionResult};
use agentd_types::{Body, Event, Money, Seq, Timestamp, ToolUseId};

use super::{all, enum_of, enum_or_default, http_status, id, ids, json, maybe, maybe_id, required};
use crate::{WireError, v1};

impl TryFrom<v1::Event> for Event {
    type Error = WireError;
    fn try_from(event: v1::Event) -> Result<Self, WireError> {
        Ok(Event {
            session: id("event.session_id", &event.session_id)?,
            seq: Seq(event.seq),
            time: Timestamp(event.time_ms),
            submission: maybe_id("event.submission_id", event.submission_id.as_deref())?,
            agent: maybe_id("event.agent_id", event.agent_id.as_deref())?,
            parent_tool_use: event.parent_tool_use_id.map(ToolUseId),
            origin: maybe(event.origin)?,
            body: required("event.body", event.body)?.try_into()?,
        })
    }
}

impl TryFrom<v1::event::Body> for Body {
    type Error = WireError;
    fn try_from(body: v1::event::Body) -> Result<Self, WireError> {
        use v1::event::Body as Wire;
        Ok(match body {
            Wire::User(user) => Body::User(user.try_into()?),
            Wire::Assistant(assistant) => Body::Assistant(assistant.try_into()?),
            Wire::Attachment(attachment) => Body::Attachment(attachment.try_into()?),
            Wire::System(system) => Body::System(system.try_into()?),
            Wire::Tombstone(v1::Tombstone { message_id, reason }) => {
                Body::Tombstone { message: id("tombstone.message_id", &message_id)?, reason }
            }
            Wire::PermissionRequest(request) => Body::PermissionRequest(request.try_into()?),
            Wire::PermissionResolved(resolved) => Body::PermissionResolved(resolved.try_into()?),
            Wire::Question(question) => Body::Question(question.try_into()?),
            Wire::Task(change) => Body::Task(change.try_into()?),
            Wire::Answer(answered) => Body::Answer(answered.try_into()?),
            Wire::Queue(change) => Body::Queue(change.try_into()?),
            Wire::Result(result) => Body::Result(result.try_into()?),
        })
    }
}

impl TryFrom<v1::UserMessage> for UserMessage {
    type Error = WireError;
    fn try_from(user: v1::UserMessage) -> Result<Self, WireError> {
        Ok(UserMessage {
            message: id("user.message_id", &user.message_id)?,
            kind: enum_of::<v1::UserKind, _>("user.kind", user.kind)?,
            content: all(user.content)?,
            commands: ids("user.command_ids", &user.command_ids)?,
        })
    }
}

impl TryFrom<v1::AssistantMessage> for AssistantMessage {
    type Error = WireError;
    fn try_from(assistant: v1::AssistantMessage) -> Result<Self, WireError> {
        Ok(AssistantMessage {
            message: id("assistant.message_id", &assistant.message_id)?,
            api_id: assistant.api_id,
            model: assistant.model,
            content: all(assistant.content)?,
            stop_reason: assistant.stop_reason,
            usage: required("assistant.usage", assistant.usage)?.into(),
        })
    }
}

impl TryFrom<v1::Attachment> for Attachment {
    type Error = WireError;
    fn try_from(attachment: v1::Attachment) -> Result<Self, WireError> {
        Ok(Attachment {
            message: id("attachment.message_id", &attachment.message_id)?,
            kind: enum_of::<v1::AttachmentKind, _>("attachment.kind", attachment.kind)?,
            content: all(attachment.content)?,
            command: maybe_id("attachment.command_id", attachment.command_id.as_deref())?,
        })
    }
}

impl TryFrom<v1::SubmissionResult> for SubmissionResult {
    type Error = WireError;
    fn try_from(result: v1::SubmissionResult) -> Result<Self, WireError> {
        Ok(SubmissionResult {
            submission: id("result.submission_id", &result.submission_id)?,
            terminal: enum_of::<v1::Terminal, _>("result.terminal", result.terminal)?,
            detail: result.detail,
            error_kind: result.error_kind,
            error_status: http_status("result.error_status", result.error_status)?,
            text: result.text,
            stop_reason: result.stop_reason,
            num_turns: result.num_turns,
            duration_ms: result.duration_ms,
            duration_api_ms: result.duration_api_ms,
            usage: required("result.usage", result.usage)?.into(),
            cost: Money(result.cost_nanos),
            session_cost: Money(result.session_cost_nanos),
            models: all(result.models)?,
            denials: all(result.denials)?,
            answered: ids("result.answered_command_ids", &result.answered_command_ids)?,
        })
    }
}

impl TryFrom<v1::ModelShare> for ModelShare {
    type Error = WireError;
    fn try_from(share: v1::ModelShare) -> Result<Self, WireError> {
        let usage = required("result.models.usage", share.usage)?.into();
        let basis = enum_or_default::<v1::CostBasis, _>("result.models.basis", share.basis)?;
        Ok(ModelShare { model: share.model, usage, cost: Money(share.cost_nanos), basis })
    }
}

impl TryFrom<v1::Denial> for Denial {
    type Error = WireError;
    fn try_from(denial: v1::Denial) -> Result<Self, WireError> {
        Ok(Denial {
            tool_name: denial.tool_name,
            tool_use: ToolUseId(denial.tool_use_id),
            input: json("result.denials.input_json", denial.input_json)?,
        })
    }
}
