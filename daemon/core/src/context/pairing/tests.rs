//! The check names each flaw.

use agentd_types::Json;

use super::*;

fn user(content: Vec<Block>) -> ApiMessage {
    ApiMessage { role: Role::User, content: content.into_iter().map(Arc::new).collect() }
}

fn model(content: Vec<Block>) -> ApiMessage {
    ApiMessage { role: Role::Assistant, ..user(content) }
}

fn call(id: &str) -> Block {
    Block::ToolUse { id: ToolUseId::new(id), name: "Read".into(), input: Json::empty_object() }
}

fn result(id: &str) -> Block {
    let content = vec![ResultPart::Text { text: "ok".into() }];
    Block::ToolResult { tool_use_id: ToolUseId::new(id), content, is_error: false }
}

#[test]
fn a_good_list_passes() {
    let messages = [
        user(vec![Block::text("hi")]),
        model(vec![Block::text("look"), call("a"), call("b")]),
        user(vec![result("a"), result("b"), Block::text("and?")]),
    ];
    assert_eq!(check(&messages), Ok(()));
}

#[test]
fn each_flaw_has_its_name() {
    let hi = || user(vec![Block::text("hi")]);
    let cases = [
        (vec![], Flaw::NoMessage),
        (vec![hi(), hi()], Flaw::SameRole(1)),
        (vec![hi(), model(vec![Block::text("x")])], Flaw::Ends),
        (vec![hi(), model(vec![]), hi()], Flaw::Empty(1)),
        (vec![user(vec![Block::text(" ")])], Flaw::Blank(0)),
        (vec![user(vec![call("a")])], Flaw::Misplaced(0)),
        (vec![hi(), model(vec![Block::RedactedThinking { data: "x".into() }]), hi()], Flaw::TrailingThinking(1)),
        (vec![hi(), model(vec![call("a")]), hi()], Flaw::Unpaired(2)),
        (vec![hi(), model(vec![call("a"), call("b")]), user(vec![result("b"), result("a")])], Flaw::Unpaired(2)),
        (vec![hi(), model(vec![call("a")]), user(vec![Block::text("x"), result("a")])], Flaw::Unpaired(2)),
        (vec![user(vec![result("a")])], Flaw::Unpaired(0)),
        (vec![hi(), model(vec![call("a"), call("a")]), user(vec![result("a"), result("a")])], Flaw::DuplicateCall(ToolUseId::new("a"))),
    ];
    for (messages, flaw) in cases {
        assert_eq!(check(&messages), Err(flaw));
    }
}
