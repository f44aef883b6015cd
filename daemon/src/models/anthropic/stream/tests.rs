//! Events of the real API, of llama.cpp, and broken ones.

use proptest::prelude::*;

use super::*;

fn event(data: &str) -> StreamEvent {
    match parse(data) {
        Ok(Parsed::Event(event)) => event,
        other => panic!("{data}: {other:?}"),
    }
}

#[test]
fn the_apis_events() {
    let start = event(
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],
        "stop_reason":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":7,"cache_read_input_tokens":2,
        "cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":3},"output_tokens":1}}}"#,
    );
    let usage = UsageUpdate { input: Some(3), output: Some(1), cache_read: Some(2), cache_write_5m: Some(4), cache_write_1h: Some(3) };
    assert_eq!(start, StreamEvent::MessageStart { api_id: "msg_1".into(), model: "claude-x".into(), usage });

    let tool = event(r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{}}}"#);
    let block = BlockStart::ToolUse { id: ToolUseId::new("t"), name: "Read".into(), input: Some(Json::empty_object()) };
    assert_eq!(tool, StreamEvent::BlockStart { index: 1, block });

    let piece = event(r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}"#);
    assert_eq!(piece, StreamEvent::Piece { index: 1, piece: Piece::InputJson("{\"a".into()) });

    let end = event(
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,
        "stop_details":{"type":"refusal","category":"cyber"}},"usage":{"output_tokens":9}}"#,
    );
    let usage = UsageUpdate { output: Some(9), ..UsageUpdate::default() };
    assert_eq!(end, StreamEvent::MessageDelta { stop_reason: Some("refusal".into()), refusal: Some("cyber".into()), usage });
    assert_eq!(event(r#"{"type":"ping"}"#), StreamEvent::Ping);
}

#[test]
fn other_servers_dialects() {
    let tool = event(r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"chatcmpl-1","name":"ls"}}"#);
    assert!(matches!(tool, StreamEvent::BlockStart { block: BlockStart::ToolUse { input: None, .. }, .. }));
    let end =
        event(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":"</tool_call>"},"usage":{"output_tokens":5}}"#);
    assert!(matches!(end, StreamEvent::MessageDelta { refusal: None, .. }));
    let start =
        event(r#"{"type":"message_start","message":{"id":"x","model":"m","usage":{"input_tokens":1,"cache_creation_input_tokens":5}}}"#);
    assert!(matches!(start, StreamEvent::MessageStart { usage: UsageUpdate { cache_write_5m: Some(5), .. }, .. }));
}

#[test]
fn unknown_kinds_pass_and_unknown_blocks_are_kept_as_bytes() {
    assert_eq!(parse(r#"{"type":"something_new","x":1}"#), Ok(Parsed::Unknown));
    assert_eq!(parse("[DONE]"), Ok(Parsed::Unknown));
    let raw = r#"{"type":"server_tool_use",  "id":"s", "z":1.50}"#;
    let StreamEvent::BlockStart { block: BlockStart::Other { json }, .. } =
        event(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{raw}}}"#))
    else {
        panic!("no unknown block")
    };
    assert_eq!(json.as_str(), raw);
    let delta = event(r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}"#);
    assert_eq!(delta, StreamEvent::Piece { index: 0, piece: Piece::Other });
}

#[test]
fn errors_are_terminal_and_nonsense_is_named() {
    assert_eq!(parse(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#), Ok(Parsed::Error));
    assert_eq!(parse(r#"{"error":{"message":"x"}}"#), Ok(Parsed::Error));
    assert!(parse("{").is_err());
    assert_eq!(parse(r#"{"type":"message_start"}"#), Err("`message_start` has no `message`".to_owned()));
}

proptest! {
    /// Any text is an event, nothing, or a named mistake; a good event with a part missing or of another type too.
    #[test]
    fn nothing_that_comes_makes_it_fall_over(
        text in ".{0,60}",
        kind in "message_start|content_block_start|content_block_delta|content_block_stop|message_delta|message_stop|ping|error|odd",
        field in "message|content_block|delta|index|usage|error",
        value in prop::sample::select(vec!["null", "1", "-1", "\"x\"", "[]", "{}", r#"{"type":"text"}"#, r#"{"type":"tool_use","input":7}"#, r#"{"usage":{"input_tokens":null}}"#]),
    ) {
        let _ = parse(&text);
        let _ = parse(&format!(r#"{{"type":"{kind}","{field}":{value}}}"#));
    }
}
