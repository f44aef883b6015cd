//! Pieces read as the original stream does.

use agentd_types::{Block, Usage};

use super::*;

fn delta(message: u128, block: u32, kind: DeltaKind, text: &str) -> Delta {
    Delta { message: MessageId::from_u128(message), block, offset: 0, kind, text: text.to_owned() }
}

fn names(lines: &[Value]) -> Vec<String> {
    let name = |line: &Value| {
        let event = &line["event"];
        let index = event["index"].as_u64().map(|index| format!(" {index}")).unwrap_or_default();
        format!("{}{index}", event["type"].as_str().unwrap_or("?"))
    };
    lines.iter().map(name).collect()
}

#[test]
fn a_message_is_begun_and_ended_once() {
    let mut partials = Partials::new(SessionId::from_u128(1));
    let mut lines = partials.delta(&delta(1, 0, DeltaKind::Text, "Hel"));
    lines.extend(partials.delta(&delta(1, 0, DeltaKind::Text, "lo")));
    lines.extend(partials.delta(&delta(1, 1, DeltaKind::ToolInput, "{}")));
    let whole = AssistantMessage {
        message: MessageId::from_u128(1),
        api_id: "msg_1".to_owned(),
        model: "m".to_owned(),
        content: vec![Block::text("Hello")],
        stop_reason: Some("tool_use".to_owned()),
        usage: Usage { input: 3, output: 5, ..Usage::default() },
    };
    lines.extend(partials.finish(&whole));
    lines.extend(partials.finish(&whole));
    let expected = [
        "message_start",
        "content_block_start 0",
        "content_block_delta 0",
        "content_block_delta 0",
        "content_block_stop 0",
        "content_block_start 1",
        "content_block_delta 1",
        "content_block_stop 1",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names(&lines), expected);
    assert_eq!(lines[2]["event"]["delta"], json!({"type": "text_delta", "text": "Hel"}));
    assert_eq!(lines[8]["event"]["delta"]["stop_reason"], "tool_use");
    assert!(lines.iter().all(|line| line["session_id"] == "00000000-0000-0000-0000-000000000001"));
}

#[test]
fn one_that_broke_off_gives_way_to_the_next() {
    let mut partials = Partials::new(SessionId::from_u128(1));
    partials.delta(&delta(1, 0, DeltaKind::Thinking, "hm"));
    let lines = partials.delta(&delta(2, 0, DeltaKind::Text, "Hi"));
    assert_eq!(names(&lines), ["message_start", "content_block_start 0", "content_block_delta 0"]);
}
