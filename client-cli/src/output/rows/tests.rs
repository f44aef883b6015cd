//! Rows have the fields that scripts rely on.

use agentd_types::permission::{Decision, PermissionMode, PermissionRequest, PermissionResolved};
use agentd_types::queue::{Batching, CommandMode, Priority, RunOptions};
use agentd_types::session::SessionState;
use agentd_types::{AbsPath, Block, CommandId, Json, Money, Origin, RequestId, Seq, SessionId, Timestamp, ToolUseId};

use super::*;

fn info() -> SessionInfo {
    SessionInfo {
        id: SessionId::from_u128(1),
        name: Some("w".to_owned()),
        state: SessionState::WaitingPermission,
        cwd: AbsPath::new("/w").expect("a path"),
        model: "m".to_owned(),
        permission_mode: PermissionMode::Plan,
        created_at: Timestamp(0),
        updated_at: Timestamp(1000),
        cost: Money(500_000_000),
        queued: 2,
        tasks_running: 0,
        permissions_open: 1,
        last_text: "a\nb\u{1b}[2J".to_owned(),
        last_seq: Seq(9),
    }
}

fn keys(row: &Value) -> Vec<&str> {
    row.as_object().map(|row| row.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[test]
fn a_session() {
    let row = session(&info());
    let expected = [
        "created_at",
        "cost_usd",
        "cwd",
        "id",
        "last_text",
        "model",
        "name",
        "permission_mode",
        "permissions_open",
        "queued",
        "state",
        "tasks_running",
        "updated_at",
    ];
    let mut found = keys(&row);
    found.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!((&row["state"], &row["permission_mode"]), (&json!("waiting_permission"), &json!("plan")));
    assert_eq!(row["created_at"], "1970-01-01T00:00:00Z");
    let line = session_line(&info());
    assert!(line.contains("w ") && !line.contains('\u{1b}'), "{line:?}");
}

#[test]
fn a_queued_command() {
    let command = QueuedCommand {
        id: CommandId::from_u128(3),
        version: 1,
        mode: CommandMode::Prompt,
        priority: Priority::Later,
        content: vec![Block::text("and then")],
        origin: Origin::Bridge { name: "slack".to_owned(), author: "ada".to_owned() },
        agent: None,
        idempotency_key: None,
        batching: Batching::Fold,
        options: RunOptions::default(),
        enqueued_at: Timestamp(0),
    };
    let row = queued(&command);
    assert_eq!((&row["mode"], &row["priority"], &row["text"]), (&json!("prompt"), &json!("later"), &json!("and then")));
    assert_eq!(row["origin"], json!({"kind": "bridge", "name": "slack", "author": "ada"}));
}

#[test]
fn a_permission_open_and_answered() {
    let request = PermissionRequest {
        id: RequestId::from_u128(5),
        agent: None,
        tool_use: ToolUseId::new("t1"),
        tool_name: "Bash".to_owned(),
        input: Json::parse(r#"{"command":"ls"}"#).expect("json"),
        reason: "it asks".to_owned(),
        suggestions: vec!["Bash(ls)".to_owned()],
        asked_at: Timestamp(0),
    };
    let open = PermissionRow { request: request.clone(), resolved: None };
    let row = permission(&info(), &open);
    assert_eq!((&row["state"], &row["by"], &row["suggestions"]), (&json!("open"), &Value::Null, &json!(["Bash(ls)"])));
    let resolved = PermissionResolved {
        id: request.id,
        tool_use: request.tool_use.clone(),
        decision: Decision::Deny { message: None },
        by: Origin::Person { client: "tui on pts/3".to_owned() },
        rule: None,
    };
    let answered = PermissionRow { request, resolved: Some((resolved, Timestamp(0))) };
    let row = permission(&info(), &answered);
    assert_eq!((&row["state"], &row["by"]), (&json!("deny"), &json!("tui on pts/3")));
    assert!(permission_line(&answered).contains("deny by tui on pts/3"));
}
