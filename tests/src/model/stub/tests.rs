//! The stub itself fails a test whose requests break a law.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::model::says;

async fn post(stub: &Stub, body: &str) -> String {
    let address = stub.base_url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = "POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\nanthropic-version: v\r\ncontent-type: application/json\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    line
}

fn request(first: &str, more: &str) -> String {
    let said = |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
    let mut messages = vec![said("user", first)];
    if !more.is_empty() {
        messages.extend([said("assistant", "ok"), said("user", more)]);
    }
    json!({"max_tokens": 1, "messages": messages, "model": "m", "stream": true}).to_string()
}

fn fails(stub: Stub) -> bool {
    catch_unwind(AssertUnwindSafe(|| stub.finish())).is_err()
}

#[tokio::test]
async fn a_broken_law_is_refused_and_fails_the_test() {
    let stub = Stub::start([says("never")]).await;
    assert!(post(&stub, &request(" ", "")).await.contains("400"));
    assert!(stub.broken()[0].contains("blank text"), "{:?}", stub.broken());
    assert!(fails(stub));
}

#[tokio::test]
async fn a_changed_prefix_fails_the_test_unless_it_is_allowed() {
    let stub = Stub::start([says("ok"), says("ok")]).await;
    for more in ["one", "another"] {
        post(&stub, &request("hi", more)).await;
    }
    assert!(stub.broken()[0].contains("does not begin with request 1"), "{:?}", stub.broken());
    assert!(fails(stub));

    let stub = Stub::start([says("ok"), says("ok"), says("ok")]).await;
    stub.may_break(1);
    for more in ["one", "another", "another"] {
        assert!(post(&stub, &request("hi", more)).await.contains("200"));
    }
    stub.finish();
}

#[tokio::test]
async fn an_unasked_reply_fails_the_test() {
    assert!(fails(Stub::start([says("never asked")]).await));
}
