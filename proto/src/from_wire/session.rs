//! What a session is created with, and its row.

use agentd_types::session::{Limits, SessionInfo, SessionMeta};
use agentd_types::system::SessionChanges;
use agentd_types::{Money, Seq, Timestamp};

use super::{enum_of, enum_or_default, id, money, path};
use crate::{WireError, v1};

impl From<v1::Limits> for Limits {
    fn from(limits: v1::Limits) -> Self {
        Limits { max_turns: limits.max_turns, max_budget: money(limits.max_budget_nanos) }
    }
}

impl TryFrom<v1::SessionMeta> for SessionMeta {
    type Error = WireError;
    fn try_from(meta: v1::SessionMeta) -> Result<Self, WireError> {
        Ok(SessionMeta {
            name: meta.name,
            cwd: path("meta.cwd", meta.cwd)?,
            model: meta.model,
            permission_mode: enum_or_default::<v1::PermissionMode, _>("meta.permission_mode", meta.permission_mode)?,
            limits: meta.limits.map(Limits::from).unwrap_or_default(),
            notes: enum_or_default::<v1::NotesMode, _>("meta.notes", meta.notes)?,
            environment: meta.environment.into_iter().map(|var| (var.name, var.value)).collect(),
            append_system_prompt: meta.append_system_prompt,
            allow: meta.allow,
            deny: meta.deny,
        })
    }
}

impl TryFrom<v1::SessionChanges> for SessionChanges {
    type Error = WireError;
    fn try_from(changes: v1::SessionChanges) -> Result<Self, WireError> {
        Ok(SessionChanges {
            name: changes.name,
            model: changes.model,
            permission_mode: changes
                .permission_mode
                .map(|mode| enum_of::<v1::PermissionMode, _>("changes.permission_mode", mode))
                .transpose()?,
            limits: changes.limits.map(Into::into),
            notes: changes.notes.map(|notes| enum_of::<v1::NotesMode, _>("changes.notes", notes)).transpose()?,
        })
    }
}

impl TryFrom<v1::SessionInfo> for SessionInfo {
    type Error = WireError;
    fn try_from(info: v1::SessionInfo) -> Result<Self, WireError> {
        Ok(SessionInfo {
            id: id("session.id", &info.id)?,
            name: info.name,
            state: enum_of::<v1::SessionState, _>("session.state", info.state)?,
            cwd: path("session.cwd", info.cwd)?,
            model: info.model,
            permission_mode: enum_of::<v1::PermissionMode, _>("session.permission_mode", info.permission_mode)?,
            created_at: Timestamp(info.created_at_ms),
            updated_at: Timestamp(info.updated_at_ms),
            cost: Money(info.cost_nanos),
            queued: info.queued,
            tasks_running: info.tasks_running,
            permissions_open: info.permissions_open,
            last_text: info.last_text,
            last_seq: Seq(info.last_seq),
        })
    }
}
