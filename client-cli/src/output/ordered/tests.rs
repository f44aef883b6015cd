//! `init` first, whatever comes first.

use agentd_types::event::AssistantMessage;
use agentd_types::live::DeltaKind;
use agentd_types::outcome::TerminalName;
use agentd_types::permission::PermissionMode;
use agentd_types::system::Init;
use agentd_types::{AbsPath, Block, MessageId, Seq, Timestamp, Usage};

use super::*;

const SESSION: SessionId = SessionId::from_u128(1);

fn event(body: Body) -> Event {
    Event { session: SESSION, seq: Seq(1), time: Timestamp(0), submission: None, agent: None, parent_tool_use: None, origin: None, body }
}

fn init() -> Event {
    event(Body::System(System::Init(Init {
        model: "m".to_owned(),
        tools: Vec::new(),
        cwd: AbsPath::new("/w").expect("a path"),
        permission_mode: PermissionMode::Default,
        api_key_source: "rehearsal".to_owned(),
        version: "0".to_owned(),
    })))
}

fn message(id: u128) -> Event {
    event(Body::Assistant(AssistantMessage {
        message: MessageId::from_u128(id),
        api_id: "m".to_owned(),
        model: "m".to_owned(),
        content: vec![Block::text("Hi")],
        stop_reason: None,
        usage: Usage::default(),
    }))
}

fn delta(id: u128) -> Delta {
    Delta { message: MessageId::from_u128(id), block: 0, offset: 0, kind: DeltaKind::Text, text: "Hi".to_owned() }
}

fn names(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"]["type"].as_str().or(line["subtype"].as_str()).or(line["type"].as_str()).unwrap_or("?")).collect()
}

#[test]
fn pieces_wait_for_init_in_every_submission() {
    let mut ordered = Ordered::new(SESSION);
    for id in [1, 2] {
        assert!(ordered.delta(&delta(id)).is_empty());
        assert_eq!(names(&ordered.event(&init())), ["init", "message_start", "content_block_start", "content_block_delta"]);
        assert_eq!(names(&ordered.delta(&delta(id))), ["content_block_delta"]);
        let ends = ordered.event(&message(id));
        assert_eq!(names(&ends), ["content_block_stop", "message_delta", "message_stop", "assistant"]);
        let result = event(Body::Result(crate::output::result::tests::ended(TerminalName::Completed)));
        assert_eq!(names(&ordered.event(&result)), ["success"]);
    }
}

#[test]
fn what_is_held_is_bounded_and_never_lost() {
    let mut ordered = Ordered::new(SESSION);
    let lines: usize = (0..HELD + 10).map(|_| ordered.delta(&delta(1)).len()).sum();
    assert_eq!(lines, HELD + 12, "all pieces and two beginnings");
    let mut ordered = Ordered::new(SESSION);
    ordered.delta(&delta(1));
    assert_eq!(names(&ordered.event(&message(1)))[..2], ["message_start", "content_block_start"]);
}
