//! Good answers in every form they can take.

use agentd_tests::model::{Item, Reply, call, calls, calls_all, mixes, redacts, says, thinks};
use serde_json::json;

use crate::stand::Stand;

/// The reply is the answer, and nothing had to be said about it.
async fn answers(reply: Reply, text: &str) {
    let stand = Stand::new([reply]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", text), "{}", ran.stderr);
    assert_eq!((ran.retries(), ran.notices(), ran.tombstones()), (vec![], vec![], vec![]));
    assert_eq!(ran.result()["num_turns"], 1);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn text() {
    answers(says("Hello there, größe → 😀\nand more."), "Hello there, größe → 😀\nand more.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking() {
    answers(thinks("hm → 😀", "Thought."), "Thought.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redacted_thinking() {
    answers(redacts("EncryptedÄ==", "Said."), "Said.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_torn_into_single_bytes() {
    answers(thinks("hm → 😀", "Hällo wörld").torn(1), "Hällo wörld").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delta_of_a_megabyte() {
    let text = "é".repeat(512 << 10);
    answers(says(&text), &text).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_texts() {
    answers(mixes(["One.", "Two."].map(|text| Item::Text(text.to_owned()))), "One.\nTwo.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_servers_dialect() {
    let stand = Stand::new([
        mixes([Item::Text("Looking.".into()), call("Bash", r#"{"command":"echo hi"}"#), call("Bash", "{\"command\": \"echo ho\"}")])
            .llama(),
        says("Done.").llama(),
    ])
    .await;
    let ran = stand.run(&["--model", "my-own-model"]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.results(), [(false, "hi".to_owned()), (false, "ho".to_owned())]);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tool() {
    let stand = Stand::new([calls("Bash", json!({"command": "echo hi"})).thinks("first").says("Looking."), says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.results(), [(false, "hi".to_owned())]);
    assert_eq!(ran.result()["num_turns"], 2);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_tools_one_after_the_other() {
    let replies = (0..100).map(|n| calls("Read", json!({"file_path": "a.txt"})).thinks(&format!("thought {n}")));
    let stand = Stand::new(replies.chain([says("Done.")])).await;
    std::fs::write(stand.world.work().join("a.txt"), "alpha\n").unwrap();
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.result()["num_turns"], 101);
    assert!(ran.results().iter().all(|(is_error, _)| !is_error));
    assert_eq!(stand.stub.connections(), 1, "one connection serves a whole conversation");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_tools_at_once() {
    let reads: Vec<String> = (0..16).map(|n| format!("{n}.txt")).collect();
    let stand = Stand::new([calls_all(reads.iter().map(|name| ("Read", json!({"file_path": name})))), says("Done.")]).await;
    for name in &reads {
        std::fs::write(stand.world.work().join(name), format!("this is {name}\n")).unwrap();
    }
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.results().len(), 16);
    // Whatever their order of arrival, the request has them in the calls' order.
    let last = &stand.stub.requests()[1].body["messages"][2]["content"];
    let sent: Vec<String> = last.as_array().unwrap().iter().map(|block| block["content"].to_string()).collect();
    assert!(sent.iter().zip(&reads).all(|(text, name)| text.contains(&format!("this is {name}"))), "{sent:?}");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_and_tools_in_turn() {
    let text = |text: &str| Item::Text(text.to_owned());
    let reply = mixes([text("One."), call("Bash", r#"{"command":"echo 1"}"#), text("Two."), call("Bash", r#"{"command":"echo 2"}"#)]);
    let stand = Stand::new([reply, says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.results(), [(false, "1".to_owned()), (false, "2".to_owned())]);
    assert_eq!(stand.shape(2)[1], "assistant: text tool_use text tool_use");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_nobody_knows_go_back_word_for_word() {
    let unknown = r#"{"type":"server_tool_use","id":"srvtoolu_1",  "name":"web_search","input":{"q":"ä","n":1.50}}"#;
    let stand = Stand::new([mixes([Item::Unknown(unknown.to_owned()), Item::Text("Found.".to_owned())])]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Found."));
    stand.stub.then(says("Again."));
    let again = stand.world.agent(&["run", "more", "--session", "s"]);
    assert_eq!(again.stdout, "Again.\n");
    assert!(stand.stub.requests()[1].raw.contains(unknown), "{}", stand.stub.requests()[1].raw);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_the_cache_reach_the_result() {
    let stand =
        Stand::new([calls("Bash", json!({"command": "true"})).usage(10, 5).cached(0, 1000), says("Done.").usage(3, 7).cached(1000, 20)])
            .await;
    let ran = stand.run(&[]);
    let usage = &ran.result()["usage"];
    let counts =
        ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"].map(|name| usage[name].as_u64());
    assert_eq!(counts, [Some(13), Some(12), Some(1000), Some(1020)]);
    assert_eq!(ran.result()["modelUsage"]["claude-sonnet-5-5"]["costBasis"], "listed");
    let cost = ran.result()["total_cost_usd"].as_f64().unwrap();
    let expected = (13.0 * 2.0 + 12.0 * 10.0 + 1000.0 * 0.10 + 1020.0 * 2.50) / 1e6;
    assert!((cost - expected).abs() < 1e-9, "{cost} is not {expected}");
    stand.goes_on();
}
