//! Lines that programs send.

use super::*;

fn message(text: &str, priority: Priority) -> Said {
    Said::Message { content: vec![Block::text(text)], priority }
}

#[test]
fn messages_as_text_or_blocks() {
    let line = r#"{"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null,"session_id":""}"#;
    assert_eq!(parse(line), Ok(message("hi", Priority::Next)));
    let line = r#"{"type":"user","message":{"content":[{"type":"text","text":"stop"}]},"priority":"now"}"#;
    assert_eq!(parse(line), Ok(message("stop", Priority::Now)));
    let line =
        r#"{"type":"user","message":{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}}"#;
    let image = Block::Image { media_type: "image/png".to_owned(), data: "AA==".to_owned() };
    assert_eq!(parse(line), Ok(Said::Message { content: vec![image], priority: Priority::Next }));
}

#[test]
fn control_requests_get_an_answer() {
    let line = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"interrupt"}}"#;
    assert_eq!(parse(line), Ok(Said::Interrupt { request_id: json!("r1") }));
    let line = r#"{"type":"control_request","request_id":"r2","request":{"subtype":"mcp_status"}}"#;
    let Ok(Said::Refused { answer }) = parse(line) else { panic!("taken") };
    assert_eq!((&answer["response"]["subtype"], &answer["response"]["request_id"]), (&json!("error"), &json!("r2")));
    assert_eq!(parse(r#"{"type":"keep_alive"}"#), Ok(Said::Nothing));
    assert_eq!(parse("  \n"), Ok(Said::Nothing));
}

#[test]
fn what_cannot_be_read_says_why() {
    let wrong = |line: &str| parse(line).expect_err(line);
    assert!(wrong("hello").starts_with("not JSON"));
    assert!(wrong(r#"{"type":"assistant"}"#).contains("`assistant` is not known"));
    assert!(wrong("{}").contains("no `type`"));
    assert!(wrong(r#"{"type":"user","message":{"content":""}}"#).contains("empty"));
    assert!(wrong(r#"{"type":"user","message":{"content":[]}}"#).contains("empty"));
    assert!(wrong(r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#).contains("tool_result"));
    assert!(wrong(r#"{"type":"user","message":{"role":"assistant","content":"x"}}"#).contains("role"));
    assert!(wrong(r#"{"type":"user","message":{"content":"x"},"priority":"asap"}"#).contains("asap"));
}

#[test]
fn lines_are_bounded_and_whole() {
    let mut reader = std::io::Cursor::new(b"one\ntwo".to_vec());
    assert_eq!(next_line(&mut reader), Ok(Some("one\n".to_owned())));
    assert_eq!(next_line(&mut reader), Ok(Some("two".to_owned())));
    assert_eq!(next_line(&mut reader), Ok(None));
    let long = vec![b'x'; usize::try_from(MAX_LINE).unwrap() + 2];
    assert!(next_line(&mut std::io::Cursor::new(long)).is_err());
    assert!(next_line(&mut std::io::Cursor::new(vec![0xff, b'\n'])).is_err());
}
