//! Events as the lines that scripts read.

use agentd_types::content::ResultPart;
use agentd_types::event::{AssistantMessage, UserMessage};
use agentd_types::outcome::TerminalName;
use agentd_types::permission::PermissionMode;
use agentd_types::queue::QueueChange;
use agentd_types::system::{ApiRetry, Init};
use agentd_types::{AbsPath, CommandId, Json, MessageId, Origin, Seq, SessionId, SubmissionId, Timestamp, ToolUseId, Usage};

use super::*;

fn event(body: Body) -> Event {
    Event {
        session: SessionId::from_u128(1),
        seq: Seq(3),
        time: Timestamp(1_700_000_000_000),
        submission: Some(SubmissionId::from_u128(2)),
        agent: None,
        parent_tool_use: None,
        origin: Some(Origin::Person { client: "cli on pts/3".to_owned() }),
        body,
    }
}

/// The lines one below the other.
fn text(lines: &[Value]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn message() -> Body {
    let input = Json::parse(r#"{"file_path": "a"}"#).expect("json");
    Body::Assistant(AssistantMessage {
        message: MessageId::from_u128(7),
        api_id: "msg_1".to_owned(),
        model: "m".to_owned(),
        content: vec![Block::text("Let me look."), Block::ToolUse { id: ToolUseId::new("t1"), name: "Read".to_owned(), input }],
        stop_reason: Some("tool_use".to_owned()),
        usage: Usage { input: 3, output: 4, ..Usage::default() },
    })
}

fn results() -> Body {
    let content = vec![ResultPart::Text { text: "alpha".to_owned() }];
    Body::User(UserMessage {
        message: MessageId::from_u128(8),
        kind: UserKind::ToolResults,
        content: vec![Block::ToolResult { tool_use_id: ToolUseId::new("t1"), content, is_error: false }],
        commands: Vec::new(),
    })
}

#[test]
fn init() {
    let init = Init {
        model: "m".to_owned(),
        tools: vec!["Read".to_owned()],
        cwd: AbsPath::new("/w").expect("a path"),
        permission_mode: PermissionMode::AutoEdit,
        api_key_source: "ANTHROPIC_API_KEY".to_owned(),
        version: "0.1.0".to_owned(),
    };
    insta::assert_snapshot!(text(&lines(&event(Body::System(System::Init(init))))), @r#"
    {"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"0.1.0","cwd":"/w","mcp_servers":[],"model":"m","output_style":"default","permissionMode":"autoEdit","plugins":[],"session_id":"00000000-0000-0000-0000-000000000001","skills":[],"slash_commands":[],"subtype":"init","tools":["Read"],"type":"system","uuid":"00000000-0000-8000-8000-000000030001"}
    "#);
}

#[test]
fn one_assistant_line_a_block_with_one_message_id() {
    let lines = lines(&event(message()));
    insta::assert_snapshot!(text(&lines), @r#"
    {"message":{"content":[{"text":"Let me look.","type":"text"}],"id":"msg_1","model":"m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":3,"output_tokens":4}},"parent_tool_use_id":null,"session_id":"00000000-0000-0000-0000-000000000001","type":"assistant","uuid":"00000000-0000-8000-8000-000000030001"}
    {"message":{"content":[{"id":"t1","input":{"file_path":"a"},"name":"Read","type":"tool_use"}],"id":"msg_1","model":"m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":3,"output_tokens":4}},"parent_tool_use_id":null,"session_id":"00000000-0000-0000-0000-000000000001","type":"assistant","uuid":"00000000-0000-8000-8000-000000030000"}
    "#);
    assert_ne!(lines[0]["uuid"], lines[1]["uuid"]);
    assert!(lines.iter().all(|line| line["uuid"].as_str().is_some_and(|text| uuid::Uuid::parse_str(text).is_ok())));
}

#[test]
fn tool_results_are_a_user_line() {
    insta::assert_snapshot!(text(&lines(&event(results()))), @r#"
    {"message":{"content":[{"content":[{"text":"alpha","type":"text"}],"is_error":false,"tool_use_id":"t1","type":"tool_result"}],"role":"user"},"parent_tool_use_id":null,"session_id":"00000000-0000-0000-0000-000000000001","type":"user","uuid":"00000000-0000-8000-8000-000000030001"}
    "#);
}

#[test]
fn a_retry_is_announced() {
    let retry = ApiRetry { attempt: 1, max_retries: 10, delay_ms: 500, status: Some(529), error: "overloaded_error".to_owned() };
    insta::assert_snapshot!(text(&lines(&event(Body::System(System::ApiRetry(retry))))), @r#"
    {"attempt":1,"error":"overloaded_error","error_status":529,"max_retries":10,"retry_delay_ms":500,"session_id":"00000000-0000-0000-0000-000000000001","subtype":"api_retry","type":"system","uuid":"00000000-0000-8000-8000-000000030001"}
    "#);
}

#[test]
fn a_result_is_the_result_object() {
    let lines = lines(&event(Body::Result(super::result::tests::ended(TerminalName::MaxBudget))));
    assert_eq!((&lines[0]["type"], &lines[0]["subtype"]), (&json!("result"), &json!("error_max_budget_usd")));
    assert_eq!(lines[0]["terminal_reason"], "budget_exhausted");
}

#[test]
fn what_scripts_do_not_know_is_left_out() {
    let prompt = UserMessage {
        message: MessageId::from_u128(8),
        kind: UserKind::Prompt,
        content: vec![Block::text("go")],
        commands: vec![CommandId::from_u128(9)],
    };
    assert_eq!(lines(&event(Body::User(prompt))), Vec::<Value>::new());
    assert_eq!(lines(&event(Body::Queue(QueueChange::Delivered { id: CommandId::from_u128(9) }))), Vec::<Value>::new());
}

#[test]
fn the_log_keeps_everything_and_says_when_and_who() {
    insta::assert_snapshot!(logged(&event(results())).to_string(), @r#"
    {"commands":[],"content":[{"content":[{"text":"alpha","type":"text"}],"is_error":false,"tool_use_id":"t1","type":"tool_result"}],"kind":"tool_results","message":"00000000-0000-0000-0000-000000000008","origin":{"client":"cli on pts/3","kind":"person"},"seq":3,"session_id":"00000000-0000-0000-0000-000000000001","submission_id":"00000000-0000-0000-0000-000000000002","timestamp":"2023-11-14T22:13:20Z","type":"user"}
    "#);
    let queue = logged(&event(Body::Queue(QueueChange::Delivered { id: CommandId::from_u128(9) })));
    assert_eq!((&queue["type"], &queue["change"], &queue["seq"]), (&json!("queue"), &json!("delivered"), &json!(3)));
    let notice = logged(&event(Body::System(System::Notice { text: "n".to_owned() })));
    assert_eq!((&notice["type"], &notice["subtype"]), (&json!("system"), &json!("notice")));
}
