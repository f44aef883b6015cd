//! What counts as a change, and how it is named.

use agentd_types::content::Role;
use agentd_types::{Block, Json};
use proptest::prelude::*;

use super::*;
use crate::model::request::CacheMark;

fn tool(name: &str, description: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: description.into(), input_schema: Json::empty_object() }
}

fn message(role: Role, texts: &[&str]) -> ApiMessage {
    ApiMessage { role, content: texts.iter().map(|text| Arc::new(Block::text(*text))).collect() }
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: Arc::new([SystemPart { text: "s".into(), cache: CacheMark::Marked }]),
        tools: Arc::new([tool("Read", "r"), tool("Bash", "b")]),
        messages: vec![message(Role::User, &["a"]), message(Role::Assistant, &["b"]), message(Role::User, &["c"])],
        max_tokens: 1,
        replies: 0,
    }
}

/// What is said of `change`.
fn said(change: impl FnOnce(&mut ModelRequest)) -> String {
    let mut next = request();
    change(&mut next);
    Sent::from(request()).continues_in(&next).map_or_else(|broken| broken.to_string(), |()| "continues".to_owned())
}

#[test]
fn what_continues() {
    assert_eq!(said(|_| {}), "continues");
    assert_eq!(said(|next| next.messages.push(message(Role::Assistant, &["d"]))), "continues");
    assert_eq!(said(|next| next.messages[2] = message(Role::User, &["c", "d"])), "continues");
    assert_eq!(said(|next| next.max_tokens = 9), "continues");
    assert_eq!(said(|next| (next.model, next.messages) = ("other".into(), Vec::new())), "continues");
}

#[test]
fn what_breaks_is_explained() {
    assert_eq!(said(|next| next.system = Arc::new([])), "cache_break: the system prompt changed");
    assert_eq!(
        said(|next| next.tools = Arc::new([tool("Read", "other"), tool("Glob", "g")])),
        "cache_break: tools changed: +Glob -Bash ~Read"
    );
    assert_eq!(said(|next| next.tools = Arc::new([tool("Bash", "b"), tool("Read", "r")])), "cache_break: tools changed: their order");
    let many: Vec<ToolSpec> = (0..20).map(|n| tool(&format!("t{n}"), "")).collect();
    assert!(said(|next| next.tools = many.into()).ends_with("+t7 and 14 more"));
    assert_eq!(said(|next| next.messages[1] = message(Role::Assistant, &["x"])), "cache_break: of 3 messages sent before, 1 are the same");
    assert_eq!(said(|next| drop(next.messages.pop())), "cache_break: of 3 messages sent before, 2 are the same");
    // Grown in its middle.
    assert_eq!(
        said(|next| next.messages[1] = message(Role::Assistant, &["b", "x"])),
        "cache_break: of 3 messages sent before, 1 are the same"
    );
}

proptest! {
    #[test]
    fn a_history_continues_in_every_longer_one(texts in proptest::collection::vec("[a-c]{0,2}", 1..12), cut in 0..12_usize) {
        let messages: Vec<ApiMessage> = texts.iter().enumerate()
            .map(|(n, text)| message(if n % 2 == 0 { Role::User } else { Role::Assistant }, &[text.as_str()])).collect();
        let cut = cut.min(messages.len());
        let sent = Sent::from(ModelRequest { messages: messages[..cut].to_vec(), ..request() });
        prop_assert_eq!(sent.continues_in(&ModelRequest { messages, ..request() }), Ok(()));
    }
}
