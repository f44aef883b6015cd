//! Models that stay overloaded, or refuse, and the model that is asked instead.

use agentd_tests::model::{calls, fails, refuses, says, thinks};
use serde_json::json;

use crate::stand::{Ran, Stand};

const OTHER: &str = "claude-haiku-5-5";

fn fallbacks(ran: &Ran) -> Vec<(String, String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let lines = ran.lines.iter().filter(|line| line["subtype"] == "model_fallback");
    lines.map(|line| (text(&line["from"]), text(&line["to"]), text(&line["error"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_beyond_the_retries_goes_over_for_the_rest_of_the_submission() {
    let replies = [calls("Bash", json!({"command": "echo 1"})).thinks("of the first model")]
        .into_iter()
        .chain((0..11).map(|_| fails(529)))
        .chain([calls("Bash", json!({"command": "echo 2"})).thinks("of the second"), thinks("again", "Done.")]);
    let stand = Stand::new(replies).await;
    let ran = stand.run(&["--fallback-model", OTHER]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."), "{ran:?}");
    assert_eq!(fallbacks(&ran), [("claude-sonnet-5-5".to_owned(), OTHER.to_owned(), "overloaded_error".to_owned())]);
    assert_eq!(ran.retries().len(), 10);
    assert_eq!(ran.result()["num_turns"], 3);
    let requests = stand.stub.requests();
    let models: Vec<&str> = requests.iter().map(|request| request.body["model"].as_str().unwrap()).collect();
    assert_eq!(models[..12], ["claude-sonnet-5-5"; 12]);
    assert_eq!(models[12..], [OTHER, OTHER]);
    // The other model cannot read the first one's thinking; its own it gets back.
    assert_eq!(stand.shape(13)[1], "assistant: tool_use");
    assert_eq!(stand.shape(14)[3], "assistant: thinking tool_use");
    let usage = &ran.result()["modelUsage"];
    assert!(usage["claude-sonnet-5-5"]["inputTokens"] == 100 && usage[OTHER]["inputTokens"] == 200, "{usage}");
    // The next submission asks the session's own model again.
    stand.stub.then(says("Back."));
    assert_eq!(stand.world.agent(&["run", "more", "--session", "s"]).stdout, "Back.\n");
    assert_eq!(stand.stub.requests()[14].body["model"], "claude-sonnet-5-5");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_goes_over_and_leaves_nothing_behind() {
    let stand = Stand::new([refuses(), says("Of course.")])
        .await
        .settings(&format!(r#"{{"fallbackModels": ["{OTHER}"], "provider": {{"retryBaseMs": 1}}}}"#));
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Of course."));
    assert_eq!(fallbacks(&ran), [("claude-sonnet-5-5".to_owned(), OTHER.to_owned(), "refusal".to_owned())]);
    assert_eq!(ran.tombstones(), ["the model refused to answer (cyber)"]);
    assert_eq!(stand.shape(2), ["user: text"]);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_after_the_other_and_none_left_is_the_error_itself() {
    let stand = Stand::new([refuses(), refuses()]).await;
    let ran = stand.run(&["--fallback-model", &format!("rehearsal:/nowhere.toml,{OTHER}")]);
    assert_eq!(ran.end(), (Some(1), "model_error", "the model refused to answer (cyber)"));
    assert_eq!(fallbacks(&ran).len(), 1);
    assert!(ran.notices().iter().any(|text| text.contains("`rehearsal:/nowhere.toml` cannot be asked")), "{:?}", ran.notices());
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_everywhere_does_not_go_over() {
    let stand = Stand::new([fails(401)]).await;
    let ran = stand.run(&["--fallback-model", OTHER]);
    assert_eq!((ran.end().0, ran.end().1), (Some(1), "model_error"));
    assert_eq!(fallbacks(&ran), []);
    stand.goes_on();
}
