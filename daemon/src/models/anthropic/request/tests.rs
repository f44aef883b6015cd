//! The body: order, bytes, markers.

use agentd_types::ToolUseId;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn request(messages: Vec<ApiMessage>) -> ModelRequest {
    let spec = |name: &str| ToolSpec {
        name: name.into(),
        description: "d".into(),
        input_schema: Json::parse(r#"{"type":"object"}"#).expect("json"),
    };
    ModelRequest {
        model: "claude-opus-4-5".into(),
        system: Arc::new([
            SystemPart { text: "static".into(), cache: CacheMark::Marked },
            SystemPart { text: "tail".into(), cache: CacheMark::Unmarked },
        ]),
        tools: Arc::new([spec("Read"), spec("Bash")]),
        messages,
        max_tokens: 8000,
        replies: 0,
    }
}

fn message(role: Role, content: Vec<Block>) -> ApiMessage {
    ApiMessage { role, content: content.into_iter().map(Arc::new).collect() }
}

fn text(request: &ModelRequest) -> String {
    String::from_utf8(Written::default().body(request).expect("a body")).expect("UTF-8")
}

fn conversation() -> Vec<ApiMessage> {
    let input = Json::parse(r#"{"b" : 1.0, "a":"ü"}"#).expect("json");
    let result =
        Block::ToolResult { tool_use_id: ToolUseId::new("t"), content: vec![ResultPart::Text { text: "ok".into() }], is_error: true };
    vec![
        message(Role::User, vec![Block::text("hi")]),
        message(
            Role::Assistant,
            vec![
                Block::Thinking { thinking: "hm".into(), signature: "s".into() },
                Block::Other { json: Json::parse(r#"{"type":"x",  "y":1}"#).expect("json") },
                Block::ToolUse { id: ToolUseId::new("t"), name: "Read".into(), input },
            ],
        ),
        message(Role::User, vec![result, Block::Image { media_type: "image/png".into(), data: "AA".into() }]),
    ]
}

#[test]
fn the_body_has_a_fixed_order_and_keeps_bytes() {
    insta::assert_snapshot!(text(&request(conversation())), @r#"{"model":"claude-opus-4-5","max_tokens":8000,"stream":true,"tools":[{"name":"Read","description":"d","input_schema":{"type":"object"}},{"name":"Bash","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"static","cache_control":{"type":"ephemeral"}},{"type":"text","text":"tail"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"x",  "y":1},{"type":"tool_use","id":"t","name":"Read","input":{"b" : 1.0, "a":"ü"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok","is_error":true},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"},"cache_control":{"type":"ephemeral"}}]}]}"#);
}

#[test]
fn a_request_is_a_prefix_of_the_next_markers_aside() {
    let bare = |request: &ModelRequest| text(request).replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let first = bare(&request(conversation()));
    let mut longer = conversation();
    longer.push(message(Role::Assistant, vec![Block::text("done")]));
    longer.push(message(Role::User, vec![Block::text("more")]));
    let second = request(longer);
    assert!(bare(&second).starts_with(first.strip_suffix("]}").expect("the end")));
    assert_eq!(text(&second).matches("cache_control").count(), 4);
}

#[test]
fn thinking_is_asked_for_where_the_catalog_says_so() {
    let field = |model: &str| {
        let request = ModelRequest { model: model.into(), ..request(conversation()) };
        serde_json::from_str::<Value>(&text(&request)).expect("json")["thinking"].to_string()
    };
    assert_eq!(field("claude-haiku-4-5"), "null");
    assert_eq!(field("claude-opus-4-8"), r#"{"display":"summarized","type":"adaptive"}"#);
    assert!(field("claude-sonnet-5-5").contains("drop_block"));
    assert_eq!(field("claude-sonnet-7"), "null");
    assert_eq!(field("llama"), "null");
}

#[test]
fn what_was_sent_is_not_written_again() {
    let mut written = Written::default();
    let mut messages = conversation();
    let one = |written: &mut Written, messages: &[ApiMessage]| written.body(&request(messages.to_vec())).expect("a body");
    one(&mut written, &messages);
    let kept = written.kept();
    // Again, as after a failure: nothing is added.
    one(&mut written, &messages);
    assert_eq!(written.kept(), kept);
    messages.push(message(Role::Assistant, vec![Block::text("done")]));
    messages.push(message(Role::User, vec![Block::text("more")]));
    let body = one(&mut written, &messages);
    assert!(written.kept() > kept);
    assert_eq!(body, Written::default().body(&request(messages)).expect("a body"));
}

proptest! {
    /// Whatever was written before, a body is as if nothing had been.
    #[test]
    fn bytes_are_those_of_a_fresh_start(steps in proptest::collection::vec((0..6_usize, proptest::collection::vec("[a\"ü]{1,3}", 0..4)), 1..8)) {
        let mut written = Written::default();
        let mut messages: Vec<ApiMessage> = Vec::new();
        for (keep, texts) in steps {
            messages.truncate(keep);
            for text in texts {
                let role = if messages.len().is_multiple_of(2) { Role::User } else { Role::Assistant };
                // Grown in place now and then, as a user's message is when another joins it.
                match messages.last_mut() {
                    Some(last) if text.len() == 1 => last.content.push(Arc::new(Block::text(text))),
                    Some(_) | None => messages.push(message(role, vec![Block::text(text)])),
                }
            }
            let request = request(messages.clone());
            prop_assert_eq!(written.body(&request).expect("a body"), Written::default().body(&request).expect("a body"));
        }
    }
}
