//! What a session is created with, and its row.

use agentd_types::session::{Limits, SessionInfo, SessionMeta};
use agentd_types::system::SessionChanges;

use super::{number, path};
use crate::v1;

impl From<&Limits> for v1::Limits {
    fn from(limits: &Limits) -> Self {
        v1::Limits { max_turns: limits.max_turns, max_budget_nanos: limits.max_budget.map(|money| money.0) }
    }
}

impl From<&SessionMeta> for v1::SessionMeta {
    fn from(meta: &SessionMeta) -> Self {
        v1::SessionMeta {
            name: meta.name.clone(),
            cwd: path(&meta.cwd),
            model: meta.model.clone(),
            permission_mode: number::<v1::PermissionMode>(meta.permission_mode),
            limits: Some((&meta.limits).into()),
            notes: number::<v1::NotesMode>(meta.notes),
            environment: meta.environment.iter().map(|(name, value)| v1::EnvVar { name: name.clone(), value: value.clone() }).collect(),
            append_system_prompt: meta.append_system_prompt.clone(),
            allow: meta.allow.clone(),
            deny: meta.deny.clone(),
        }
    }
}

impl From<&SessionChanges> for v1::SessionChanges {
    fn from(changes: &SessionChanges) -> Self {
        v1::SessionChanges {
            name: changes.name.clone(),
            model: changes.model.clone(),
            permission_mode: changes.permission_mode.map(number::<v1::PermissionMode>),
            limits: changes.limits.as_ref().map(Into::into),
            notes: changes.notes.map(number::<v1::NotesMode>),
        }
    }
}

impl From<&SessionInfo> for v1::SessionInfo {
    fn from(info: &SessionInfo) -> Self {
        v1::SessionInfo {
            id: info.id.to_string(),
            name: info.name.clone(),
            state: number::<v1::SessionState>(info.state),
            cwd: path(&info.cwd),
            model: info.model.clone(),
            permission_mode: number::<v1::PermissionMode>(info.permission_mode),
            created_at_ms: info.created_at.0,
            updated_at_ms: info.updated_at.0,
            cost_nanos: info.cost.0,
            queued: info.queued,
            tasks_running: info.tasks_running,
            permissions_open: info.permissions_open,
            last_text: info.last_text.clone(),
            last_seq: info.last_seq.0,
        }
    }
}
