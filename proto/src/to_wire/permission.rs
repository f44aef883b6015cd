//! Permission requests and their answers.

use agentd_types::Json;
use agentd_types::permission::{Decision, PermissionRequest, PermissionResolved};

use super::{number, text};
use crate::v1;

impl From<&PermissionRequest> for v1::PermissionRequest {
    fn from(request: &PermissionRequest) -> Self {
        v1::PermissionRequest {
            id: request.id.to_string(),
            agent_id: text(&request.agent),
            tool_use_id: request.tool_use.to_string(),
            tool_name: request.tool_name.clone(),
            input_json: request.input.to_string(),
            reason: request.reason.clone(),
            suggestions: request.suggestions.clone(),
            asked_at_ms: request.asked_at.0,
        }
    }
}

impl From<&Decision> for v1::Decision {
    fn from(decision: &Decision) -> Self {
        use v1::decision::Kind;
        let kind = match decision {
            Decision::Allow { scope, updated_input } => Kind::Allow(v1::Allow {
                scope: number::<v1::AllowScope>(*scope),
                updated_input_json: updated_input.as_ref().map(Json::to_string),
            }),
            Decision::Deny { message } => Kind::Deny(v1::Deny { message: message.clone() }),
            Decision::Withdrawn => Kind::Withdrawn(v1::Withdrawn {}),
        };
        v1::Decision { kind: Some(kind) }
    }
}

impl From<&PermissionResolved> for v1::PermissionResolved {
    fn from(resolved: &PermissionResolved) -> Self {
        v1::PermissionResolved {
            id: resolved.id.to_string(),
            tool_use_id: resolved.tool_use.to_string(),
            decision: Some((&resolved.decision).into()),
            by: Some((&resolved.by).into()),
            rule: resolved.rule.clone(),
        }
    }
}
