//! Each text once, whatever came twice; nothing that controls a terminal.

use agentd_types::live::{BlockSoFar, Delta, DeltaKind, MessageSoFar, Snapshot};
use agentd_types::permission::PermissionMode;
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::{AbsPath, Json, MessageId, Money, Seq, SessionId, Timestamp, ToolUseId, Usage};

use super::*;

const M: MessageId = MessageId::from_u128(7);

fn snapshot(in_progress: Option<&str>) -> Update {
    let info = SessionInfo {
        id: SessionId::from_u128(1),
        name: Some("w".to_owned()),
        state: SessionState::Running,
        cwd: AbsPath::new("/w").expect("a path"),
        model: "m".to_owned(),
        permission_mode: PermissionMode::Default,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        cost: Money::ZERO,
        queued: 0,
        tasks_running: 0,
        permissions_open: 0,
        last_text: String::new(),
        last_seq: Seq(1),
    };
    let in_progress = in_progress
        .map(|text| MessageSoFar { message: M, blocks: vec![BlockSoFar { block: 0, kind: DeltaKind::Text, text: text.to_owned() }] });
    Update::Snapshot(Box::new(Snapshot {
        seq: Seq(1),
        info,
        submission: None,
        permissions: Vec::new(),
        questions: Vec::new(),
        queue: Vec::new(),
        running_tools: Vec::new(),
        tasks: Vec::new(),
        clients: Vec::new(),
        in_progress,
    }))
}

fn delta(offset: u64, text: &str) -> Update {
    Update::Delta(Delta { message: M, block: 0, offset, kind: DeltaKind::Text, text: text.to_owned() })
}

fn event(body: Body) -> Update {
    Update::Event(Box::new(Event {
        session: SessionId::from_u128(1),
        seq: Seq(2),
        time: Timestamp(0),
        submission: None,
        agent: None,
        parent_tool_use: None,
        origin: None,
        body,
    }))
}

fn said(text: &str) -> Update {
    let calls =
        Block::ToolUse { id: ToolUseId::new("t"), name: "Bash".to_owned(), input: Json::parse(r#"{"command":"ls"}"#).expect("json") };
    event(Body::Assistant(AssistantMessage {
        message: M,
        api_id: "msg".to_owned(),
        model: "m".to_owned(),
        content: vec![Block::text(text), calls],
        stop_reason: None,
        usage: Usage::default(),
    }))
}

fn shown(updates: impl IntoIterator<Item = Update>) -> String {
    let mut out = Vec::new();
    let mut view = View::new(&mut out);
    updates.into_iter().try_for_each(|update| view.show(update)).expect("a vector takes everything");
    String::from_utf8(out).expect("text")
}

#[test]
fn streamed_text_comes_once() {
    let text = shown([snapshot(Some("Hel")), delta(3, "lo"), said("Hello.")]);
    assert_eq!(text, "· attached to w: running, 0 attached\nHello.\n  → Bash {\"command\":\"ls\"}\n");
}

#[test]
fn a_new_link_repeats_nothing() {
    let lost = Update::Link(LinkState::Lost { why: "gone".to_owned() });
    let text = shown([snapshot(None), delta(0, "Hel"), lost, Update::Link(LinkState::Up), snapshot(Some("Hello")), said("Hello.")]);
    let (_, after) = text.split_once("link is back\n").expect("the link");
    assert_eq!(after, "lo.\n  → Bash {\"command\":\"ls\"}\n");
}

#[test]
fn after_lost_pieces_the_whole_message_comes() {
    let text = shown([delta(0, "He"), Update::Lagged { dropped: 1 }, delta(4, "o"), said("Hello")]);
    assert_eq!(text, "He\n· pieces were missed; the whole message:\nHello\n  → Bash {\"command\":\"ls\"}\n");
}

#[test]
fn what_others_say_controls_nothing() {
    let text = shown([delta(0, "\u{1b}]0;owned\u{7}"), event(Body::Tombstone { message: M, reason: "\u{1b}[2J".to_owned() })]);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}
