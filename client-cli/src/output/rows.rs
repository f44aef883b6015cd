//! Rows of lists, as text and as JSON. It sorts nothing: rows come in order.

use agentd_client::{PermissionRow, QuestionRow, printable};
use agentd_types::content::plain_text;
use agentd_types::question::{Asks, Question, Reply};
use agentd_types::queue::QueuedCommand;
use agentd_types::session::SessionInfo;
use agentd_types::task::Task;
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

pub fn task(task: &Task) -> Value {
    let end = task.end.as_ref();
    json!({
        "id": task.id().to_string(), "kind": task.start.kind.name(), "description": task.start.description, "status": task.status(),
        "signal": end.and_then(|(end, _)| end.signal), "exit_code": end.and_then(|(end, _)| end.exit_code),
        "owner": task.start.owner.map(|agent| agent.to_string()), "tool_use_id": task.start.tool_use.as_str(),
        "started_at": timestamp(task.started_at), "ended_at": end.map(|(_, at)| timestamp(*at)),
        "ended_by": end.and_then(|(end, _)| end.by.as_ref()).map(ToString::to_string),
        "output_file": task.start.output_file.to_string(),
    })
}

pub fn task_line(task: &Task) -> String {
    let code = task.end.as_ref().and_then(|(end, _)| end.exit_code.map(|code| format!(" ({code})"))).unwrap_or_default();
    let line = format!("{}  {:<5} {:<10}{code}  {}", task.id(), task.start.kind.name(), task.status(), task.start.description);
    printable(&line).replace('\n', " ")
}

pub fn permission(session: &SessionInfo, row: &PermissionRow) -> Value {
    let request = &row.request;
    let state = row.resolved.as_ref().map_or("open", |(resolved, _)| resolved.decision.word());
    json!({
        "kind": "permission",
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

/// Beside permission requests: a call's question has the tool's name, the daemon's own has none.
pub fn question(session: &SessionInfo, row: &QuestionRow) -> Value {
    let (state, choices) = match &row.answered {
        None => ("open", None),
        Some((answered, _)) => match &answered.reply {
            Reply::Chosen { choices } => ("answered", Some(choices)),
            Reply::Withdrawn => ("withdrawn", None),
        },
    };
    let mut line = question_object(&row.question);
    line["kind"] = json!("question");
    line["session"] = json!(session.id.to_string());
    line["asked_at"] = json!(timestamp(row.question.asked_at));
    line["state"] = json!(state);
    line["suggestions"] = json!([]);
    line["choices"] = json!(choices);
    line["by"] = json!(row.answered.as_ref().map(|(answered, _)| answered.by.to_string()));
    line
}

/// What is asked.
pub fn question_object(question: &Question) -> Value {
    let (tool_name, tool_use) = match &question.asks {
        Asks::Call { tool_use, .. } => (Some("AskUser"), Some(tool_use.as_str())),
        Asks::Resume => (None, None),
    };
    let options: Vec<Value> = question.options.iter().map(|it| json!({"label": it.label, "description": it.description})).collect();
    json!({
        "id": question.id.to_string(), "tool_name": tool_name, "tool_use_id": tool_use,
        "input": {"question": question.question, "header": question.header, "options": options, "multiSelect": question.multi_select},
    })
}

pub fn question_line(row: &QuestionRow) -> String {
    let state = match &row.answered {
        None => "open".to_owned(),
        Some((answered, _)) => format!("{} by {}", answered.reply.words(), answered.by),
    };
    let options: Vec<String> = row.question.options.iter().zip(1..).map(|(option, number)| format!("{number} {}", option.label)).collect();
    printable(&format!("{}  {}  ?  {}  [{}]", row.question.id, state, row.question.question, options.join(", "))).into_owned()
}

#[cfg(test)]
mod tests;
