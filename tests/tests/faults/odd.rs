//! Answers that end oddly: empty, blank, paused, refused, cut at a limit.

use agentd_tests::model::{Item, call, calls, pauses, refuses, says, silent, thinks, truncated, truncates, window_full};
use serde_json::json;

use crate::stand::Stand;

fn text(text: &str) -> Item {
    Item::Text(text.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_is_an_answer_and_is_told() {
    for reply in [silent(), says(" \n\t "), thinks("hm", "")] {
        let stand = Stand::new([reply]).await;
        let ran = stand.run(&[]);
        assert_eq!(ran.end(), (Some(0), "completed", ""));
        assert_eq!(ran.notices(), ["the model's answer is empty"]);
        stand.goes_on();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_end_after_a_tool_is_asked_for_once_more() {
    let stand = Stand::new([calls("Bash", json!({"command": "true"})), silent(), says("It ran.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "It ran."));
    assert_eq!(ran.result()["num_turns"], 2, "asking again is no round");
    assert!(ran.notices()[0].contains("without a word"), "{:?}", ran.notices());
    assert!(stand.stub.requests()[2].last_text().contains("Continue"), "{}", stand.stub.requests()[2].last_text());
    assert_eq!(stand.shape(3)[2..], ["user: tool_result", "assistant: text", "user: text"]);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn twice_empty_after_a_tool_is_the_end() {
    let stand = Stand::new([calls("Bash", json!({"command": "true"})), silent(), silent()]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", ""));
    assert_eq!(ran.notices().len(), 2, "{:?}", ran.notices());
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_ends_it_with_its_category_and_is_not_sent_again() {
    let stand = Stand::new([refuses()]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(1), "model_error", "the model refused to answer (cyber)"));
    assert_eq!(ran.tombstones(), ["the model refused to answer (cyber)"]);
    stand.stub.then(says("Better."));
    assert_eq!(stand.world.agent(&["run", "something else", "--session", "s"]).stdout, "Better.\n");
    assert!(!stand.stub.requests()[1].raw.contains("I will not."));
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_sent_back_as_it_is() {
    let server_tool = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q":  "x"}}"#;
    let stand =
        Stand::new([pauses([text("Searching."), Item::Unknown(server_tool.to_owned())]), pauses([text("Still.")]), says("Found.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Searching.\nStill.\nFound."));
    assert_eq!(ran.result()["num_turns"], 1);
    assert_eq!(stand.shape(2), ["user: text", "assistant: text server_tool_use"]);
    assert_eq!(stand.shape(3), ["user: text", "assistant: text server_tool_use text"]);
    assert!(stand.stub.requests()[2].raw.contains(server_tool));
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_without_end_is_bounded() {
    let stand = Stand::new((0..11).map(|_| pauses([text("Wait.")]))).await;
    let ran = stand.run(&[]);
    assert_eq!((ran.end().0, ran.end().1), (Some(0), "completed"));
    assert!(ran.notices()[0].contains("paused 10 times"), "{:?}", ran.notices());
    assert_eq!(stand.stub.requests().len(), 11);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_cut_at_the_default_cap_is_asked_for_with_the_raised_one() {
    let stand = Stand::new([truncated("Half an"), says("A whole answer.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "A whole answer."));
    assert_eq!(ran.result()["num_turns"], 1);
    assert_eq!(ran.tombstones().len(), 1, "what was shown does not count");
    let requests = stand.stub.requests();
    assert_eq!((&requests[0].body["max_tokens"], &requests[1].body["max_tokens"]), (&json!(8000), &json!(64000)));
    assert_eq!(requests[0].body["messages"], requests[1].body["messages"], "no message was added");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_still_cut_is_carried_on_and_is_one_text() {
    let stand = Stand::new([truncated("lost"), truncated("One, "), truncated("two, "), says("three.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "One, two, three."));
    assert_eq!(ran.result()["num_turns"], 1);
    let transitions: Vec<String> = stand.log().iter().filter_map(|event| event["transition"].as_str().map(str::to_owned)).collect();
    assert_eq!(transitions, ["max_output_tokens_escalate", "max_output_tokens_recovery", "max_output_tokens_recovery"]);
    assert!(stand.stub.requests()[2].last_text().contains("Carry on exactly where it was cut"));
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_cut_for_good_ends_after_three_recoveries_and_is_kept() {
    let stand = Stand::new((1..=5).map(|n| truncated(&format!("part {n}")))).await;
    let ran = stand.run(&[]);
    assert_eq!((ran.end().0, ran.end().1), (Some(1), "model_error"));
    assert_eq!(stand.stub.requests().len(), 5);
    let said: Vec<&str> = ran.said("text").iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["part 2", "part 3", "part 4", "part 5"]);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_cut_at_the_limit_never_runs() {
    let input = r#"{"command":"touch made","description":"makes a file"}"#;
    let stand = Stand::new([truncates([text("Now."), call("Bash", input)]), says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.said("tool_use").len(), 0);
    assert!(ran.notices()[0].contains("cut at the output limit"), "{:?}", ran.notices());
    assert!(!stand.world.work().join("made").exists());
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_calls_before_the_cut_one_run() {
    let reply = truncates([call("Bash", r#"{"command":"touch first"}"#), call("Bash", r#"{"command":"touch second && true"}"#)]);
    let stand = Stand::new([reply, says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!((ran.said("tool_use").len(), ran.results().len()), (1, 1));
    assert!(stand.world.work().join("first").exists() && !stand.world.work().join("second").exists());
    assert_eq!(stand.stub.requests()[1].body["max_tokens"], 8000, "a follow-up, no recovery");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_window_is_a_prompt_too_long() {
    let stand = Stand::new([window_full("Half an")]).await;
    let ran = stand.run(&[]);
    assert_eq!((ran.end().0, ran.end().1), (Some(1), "prompt_too_long"));
    stand.goes_on();
}
