//! Rows of lists, as text and as JSON. It sorts nothing: rows come in order.

use agentd_client::{PermissionRow, printable};
use agentd_types::content::plain_text;
use agentd_types::queue::QueuedCommand;
use agentd_types::session::SessionInfo;
use serde_json::{Value, json};

use super::result::value;
use super::timestamp;

pub fn session(info: &SessionInfo) -> Value {
    json!({
        "id": info.id.to_string(), "name": info.name, "state": info.state.name(), "cwd": info.cwd.to_string(), "model": info.model,
        "permission_mode": info.permission_mode.name(), "created_at": timestamp(info.created_at), "updated_at": timestamp(info.updated_at),
        "cost_usd": info.cost.as_usd(), "queued": info.queued, "tasks_running": info.tasks_running,
        "permissions_open": info.permissions_open, "last_text": info.last_text,
    })
}

pub fn session_line(info: &SessionInfo) -> String {
    let name = info.name.as_deref().unwrap_or("-");
    let last = printable(info.last_text.lines().last().unwrap_or_default());
    let id: String = info.id.to_string();
    format!("{id}  {name:<16} {:<18} {:<20} {last}", info.state.name(), info.cwd.to_string())
}

pub fn queued(command: &QueuedCommand) -> Value {
    json!({
        "id": command.id.to_string(), "mode": command.mode, "priority": command.priority, "origin": command.origin,
        "text": plain_text(&command.content), "enqueued_at": timestamp(command.enqueued_at),
    })
}

pub fn queued_line(command: &QueuedCommand) -> String {
    let line = format!("{}  {:?}  {}  {}", command.id, command.priority, command.origin, plain_text(&command.content));
    printable(&line).replace('\n', " ")
}

pub fn permission(session: &SessionInfo, row: &PermissionRow) -> Value {
    let request = &row.request;
    let state = row.resolved.as_ref().map_or("open", |(resolved, _)| resolved.decision.word());
    json!({
        "id": request.id.to_string(), "tool_name": request.tool_name, "input": value(&request.input), "session": session.id.to_string(),
        "asked_at": timestamp(request.asked_at), "state": state, "suggestions": request.suggestions,
        "by": row.resolved.as_ref().map(|(resolved, _)| resolved.by.to_string()),
    })
}

pub fn permission_line(row: &PermissionRow) -> String {
    let request = &row.request;
    let state = match &row.resolved {
        None => "open".to_owned(),
        Some((resolved, _)) => format!("{} by {}", resolved.decision.word(), resolved.by),
    };
    printable(&format!("{}  {}  {}  {}", request.id, state, request.tool_name, request.input)).into_owned()
}

#[cfg(test)]
mod tests;
