//! Permission requests and their answers.

use agentd_types::permission::{Decision, PermissionRequest, PermissionResolved};
use agentd_types::{Timestamp, ToolUseId};

use super::{enum_or_default, id, json, maybe_id, maybe_json, required};
use crate::{WireError, v1};

impl TryFrom<v1::PermissionRequest> for PermissionRequest {
    type Error = WireError;
    fn try_from(request: v1::PermissionRequest) -> Result<Self, WireError> {
        Ok(PermissionRequest {
            id: id("permission_request.id", &request.id)?,
            agent: maybe_id("permission_request.agent_id", request.agent_id.as_deref())?,
            tool_use: ToolUseId(request.tool_use_id),
            tool_name: request.tool_name,
            input: json("permission_request.input_json", request.input_json)?,
            reason: request.reason,
            suggestions: request.suggestions,
            asked_at: Timestamp(request.asked_at_ms),
        })
    }
}

impl TryFrom<v1::Decision> for Decision {
    type Error = WireError;
    fn try_from(decision: v1::Decision) -> Result<Self, WireError> {
        use v1::decision::Kind;
        Ok(match required("decision.kind", decision.kind)? {
            Kind::Allow(allow) => Decision::Allow {
                scope: enum_or_default::<v1::AllowScope, _>("decision.allow.scope", allow.scope)?,
                updated_input: maybe_json("decision.allow.updated_input_json", allow.updated_input_json)?,
            },
            Kind::Deny(deny) => Decision::Deny { message: deny.message },
            Kind::Withdrawn(v1::Withdrawn {}) => Decision::Withdrawn,
        })
    }
}

impl TryFrom<v1::PermissionResolved> for PermissionResolved {
    type Error = WireError;
    fn try_from(resolved: v1::PermissionResolved) -> Result<Self, WireError> {
        Ok(PermissionResolved {
            id: id("permission_resolved.id", &resolved.id)?,
            tool_use: ToolUseId(resolved.tool_use_id),
            decision: required("permission_resolved.decision", resolved.decision)?.try_into()?,
            by: required("permission_resolved.by", resolved.by)?.try_into()?,
            rule: resolved.rule,
        })
    }
}
