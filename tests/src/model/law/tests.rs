//! Each law, broken once.

use serde_json::json;

use super::*;

fn headers() -> BTreeMap<String, String> {
    [("x-api-key", "k"), ("anthropic-version", "v"), ("content-type", "application/json")]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn thought() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "s"})
}

fn body() -> Value {
    json!({"model": "m", "max_tokens": 1, "stream": true,
    "tools": [{"name": "Read", "description": "d", "input_schema": {"type": "object"}}],
    "system": [{"type": "text", "text": "s"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [thought(), {"type": "tool_use", "id": "a", "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
    ]})
}

fn flaws(body: &Value) -> Vec<String> {
    broken(&headers(), body, &Before { sent: vec![thought()], paused: false })
}

#[test]
fn a_good_request_breaks_none() {
    assert_eq!(flaws(&body()), Vec::<String>::new());
}

#[test]
fn each_law_is_noticed() {
    let marker = json!({"type": "ephemeral"});
    let cases: Vec<(&str, &str, Value)> = vec![
        ("role", "/messages/2/role", json!("system")),
        ("same role", "/messages/1/role", json!("user")),
        ("blank text", "/messages/0/content/0/text", json!(" \n")),
        ("no content", "/messages/0/content", json!([])),
        ("owed", "/messages/2/content/0/tool_use_id", json!("b")),
        ("is empty", "/messages/2/content/0/content", json!("")),
        ("owed", "/messages/2/content", json!([{"type": "text", "text": "x"}])),
        (
            "after other blocks",
            "/messages/2/content",
            json!([{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "a", "content": "x"}]),
        ),
        ("no object", "/messages/1/content/1/input", json!("x")),
        ("tool name", "/messages/1/content/1/name", json!("x".repeat(65))),
        ("tool name", "/tools/0/name", json!("a.b")),
        ("call id", "/messages/1/content/1/id", json!("a b")),
        ("never sent so", "/messages/1/content/0/signature", json!("t")),
        ("never sent so", "/messages/1/content/0/cache_control", marker.clone()),
        ("never sent so", "/messages/1/content/0", json!({"type": "server_tool_use", "id": "x"})),
        ("ends with thinking", "/messages/1/content", json!([thought()])),
        (
            "the first message",
            "/messages",
            json!([{"role": "assistant", "content": [{"type": "text", "text": "x"}]}, {"role": "user", "content": [{"type": "text", "text": "x"}]}]),
        ),
        (
            "a prefill",
            "/messages",
            json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}]),
        ),
        ("blank text", "/system/0/text", json!("")),
        ("no object schema", "/tools/0/input_schema", json!({})),
        ("no model", "/model", json!("")),
        ("no max_tokens", "/max_tokens", json!(0)),
        ("not streaming", "/stream", json!(false)),
        ("cannot say", "/messages/0/content/0", json!({"type": "tool_use", "id": "z", "name": "Read", "input": {}})),
    ];
    for (law, place, value) in cases {
        let mut body = body();
        let (parent, key) = place.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap();
        match parent {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            parent => parent[key] = value,
        }
        let found = flaws(&body);
        assert!(found.iter().any(|flaw| flaw.contains(law)), "{place}: {law:?} is not in {found:?}");
    }
}

#[test]
fn a_fifth_marker_a_second_name_and_a_second_id_are_noticed() {
    let mut marked = body();
    let part = json!({"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}});
    marked["system"] = vec![part; 5].into();
    assert_eq!(flaws(&marked), ["5 cache markers"]);
    let mut twice = body();
    twice["tools"] = vec![twice["tools"][0].clone(); 2].into();
    assert_eq!(flaws(&twice), ["tool `Read` twice"]);
    let mut ids = body();
    let round = [ids["messages"][1].clone(), ids["messages"][2].clone()];
    ids["messages"].as_array_mut().unwrap().extend(round);
    assert!(flaws(&ids).iter().any(|flaw| flaw.contains("was there before")), "{:?}", flaws(&ids));
}

#[test]
fn headers_are_asked_for() {
    let before = Before { sent: vec![thought()], paused: false };
    assert_eq!(broken(&BTreeMap::new(), &body(), &before).len(), 3);
}

#[test]
fn a_paused_answer_may_stand_last() {
    let mut paused = body();
    paused["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]}));
    assert_eq!(broken(&headers(), &paused, &Before { sent: vec![thought()], paused: true }), Vec::<String>::new());
    assert_eq!(flaws(&paused).len(), 1);
}

#[test]
fn a_changed_front_is_noticed_markers_aside() {
    let mut marked = body();
    marked["messages"][0]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(extends(&marked, &body()), Ok(()));
    let bytes = |marker: &str, more: &str| {
        format!(r#"{{"stream":true,"messages":[{{"role":"user","content":[{{"type":"text","text":"hi"{marker}}}]}}{more}]}}"#)
    };
    let (marker, more) = (r#","cache_control":{"type":"ephemeral"}"#, r#",{"role":"assistant","content":[]}"#);
    assert_eq!(extends_bytes(&bytes(marker, ""), &bytes("", more)), Ok(()));
    assert!(extends_bytes(&bytes("", more), &bytes("", "")).is_err());
    for (place, what) in [("/system/0/text", "system"), ("/tools/0/description", "tools"), ("/messages/0/content/0/text", "became")] {
        let mut changed = body();
        *changed.pointer_mut(place).unwrap() = json!("other");
        assert!(extends(&body(), &changed).unwrap_err().contains(what));
        assert!(extends_bytes(&body().to_string(), &changed.to_string()).is_err());
    }
    let mut shorter = body();
    shorter["messages"].as_array_mut().unwrap().pop();
    assert!(extends(&body(), &shorter).is_err() && extends(&shorter, &body()).is_ok());
}
