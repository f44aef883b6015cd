//! What a rehearsal's events add up to.

use agentd_types::content::ResultPart;
use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::permission::{Decision, PermissionRequest, PermissionResolved};
use agentd_types::{Json, MessageId, Money, Origin, Seq, SessionId, SubmissionId, Timestamp, Usage};

use super::*;

fn noted(summary: &mut Summary, body: Body) {
    summary.note(&Event {
        session: SessionId::from_u128(1),
        seq: Seq(1),
        time: Timestamp(0),
        submission: None,
        agent: None,
        parent_tool_use: None,
        origin: None,
        body,
    });
}

fn calls(ids: &[&str]) -> Body {
    let call = |id: &&str| Block::ToolUse {
        id: ToolUseId::new(*id),
        name: "Bash".to_owned(),
        input: Json::parse(format!(r#"{{"command":"{id}"}}"#)).expect("json"),
    };
    Body::Assistant(AssistantMessage {
        message: MessageId::from_u128(1),
        api_id: "m".to_owned(),
        model: "rehearsal".to_owned(),
        content: ids.iter().map(call).collect(),
        stop_reason: None,
        usage: Usage::default(),
    })
}

fn answered(id: &str, text: &str, is_error: bool) -> Body {
    let content = vec![ResultPart::Text { text: text.to_owned() }];
    let block = Block::ToolResult { tool_use_id: ToolUseId::new(id), content, is_error };
    Body::User(UserMessage { message: MessageId::from_u128(2), kind: UserKind::ToolResults, content: vec![block], commands: Vec::new() })
}

fn result(terminal: TerminalName, detail: &str) -> Body {
    Body::Result(SubmissionResult {
        submission: SubmissionId::from_u128(1),
        terminal,
        detail: detail.to_owned(),
        error_kind: None,
        error_status: None,
        text: String::new(),
        stop_reason: None,
        num_turns: 2,
        duration_ms: 1,
        duration_api_ms: 1,
        usage: Usage::default(),
        cost: Money::ZERO,
        session_cost: Money::ZERO,
        models: Vec::new(),
        denials: Vec::new(),
        answered: Vec::new(),
    })
}

fn two_calls() -> Summary {
    let mut summary = Summary::default();
    noted(&mut summary, calls(&["look", "touch"]));
    let request = PermissionRequest {
        id: RequestId::from_u128(5),
        agent: None,
        tool_use: ToolUseId::new("touch"),
        tool_name: "Bash".to_owned(),
        input: Json::empty_object(),
        reason: "no rule allows it".to_owned(),
        suggestions: Vec::new(),
        asked_at: Timestamp(0),
    };
    noted(&mut summary, Body::PermissionRequest(request));
    let resolved = PermissionResolved {
        id: RequestId::from_u128(5),
        tool_use: ToolUseId::new("touch"),
        decision: Decision::Deny { message: None },
        by: Origin::Person { client: "cli pid 7".to_owned() },
        rule: None,
    };
    noted(&mut summary, Body::PermissionResolved(resolved));
    noted(&mut summary, answered("look", "a\nb\n", false));
    noted(&mut summary, answered("touch", "denied", true));
    summary
}

#[test]
fn each_call_names_who_decided_and_why() {
    let mut summary = two_calls();
    assert!(!summary.is_over());
    noted(&mut summary, calls(&[]));
    noted(&mut summary, result(TerminalName::Completed, ""));
    insta::assert_snapshot!(summary.lines(&[]).join("\n"), @r#"
    1. Bash {"command":"look"}
       not asked: decided by rules and mode
       ok: a⏎ b
    2. Bash {"command":"touch"}
       deny by cli pid 7; asked because: no rule allows it
       error: denied
    completed (replies: 2, calls: 2)
    every expectation held
    "#);
    assert_eq!((summary.is_over(), summary.exit(), summary.json("s", &[])["held"].as_bool()), (true, Exit::Done, Some(true)));
}

#[test]
fn what_did_not_hold_or_was_not_reached_is_said() {
    let mut summary = two_calls();
    noted(&mut summary, result(TerminalName::ModelError, "step 2 of the script expected a result"));
    let lines = summary.lines(&[]);
    assert_eq!(lines.last().map(String::as_str), Some("not every expectation held"));
    assert_eq!(summary.exit(), Exit::Failed);

    let mut summary = two_calls();
    noted(&mut summary, result(TerminalName::Completed, ""));
    let lines = summary.lines(&[3, 4]);
    assert_eq!(lines.last().map(String::as_str), Some("never reached: the expectation of step 3, 4"));
    assert_eq!(summary.json("s", &[3])["held"], false);
}
