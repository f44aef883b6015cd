use agentd_types::content::ResultPart;
use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::{Block, Body, Event, Json, MessageId, Seq, SessionId, Timestamp, ToolUseId, Usage};
use serde_json::json;

use super::Conversation;

fn fold(conversation: &mut Conversation, body: Body) {
    conversation.fold(&Event {
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

fn call(conversation: &mut Conversation, name: &str, input: &serde_json::Value, is_error: bool) {
    let id = ToolUseId::new(format!("t{}", conversation.said().len()));
    let content = vec![Block::ToolUse { id: id.clone(), name: name.into(), input: Json::of(input).unwrap() }];
    let assistant = AssistantMessage {
        message: MessageId::from_u128(1),
        api_id: String::new(),
        model: "m".into(),
        content,
        stop_reason: None,
        usage: Usage::default(),
    };
    fold(conversation, Body::Assistant(assistant));
    let content = vec![Block::ToolResult { tool_use_id: id, content: vec![ResultPart::Text { text: "kept".into() }], is_error }];
    let message = UserMessage { message: MessageId::from_u128(2), kind: UserKind::ToolResults, content, commands: vec![] };
    fold(conversation, Body::User(message));
}

#[test]
fn the_list_is_what_the_newest_call_that_went_well_left() {
    let list = |content: &str| json!({ "todos": [{ "content": content, "status": "pending", "activeForm": "x" }] });
    let mut conversation = Conversation::default();
    assert_eq!(conversation.todos(), []);
    call(&mut conversation, "TodoWrite", &list("one"), false);
    call(&mut conversation, "TodoWrite", &list("two"), true);
    call(&mut conversation, "Other", &list("three"), false);
    assert_eq!(conversation.todos().iter().map(|todo| todo.content.as_str()).collect::<Vec<_>>(), ["one"]);
    assert!(conversation.has_called("Other") && !conversation.has_called("TodoWrite"));
    call(&mut conversation, "TodoWrite", &json!({ "todos": [] }), false);
    assert_eq!(conversation.todos(), []);
}
