//! Servers that fail, streams that break, models that go silent: retried by class, visible, bounded.

use agentd_client::{Connection, Update};
use agentd_tests::model::{Item, Reply, breaks, call, cut_off, cuts, ends_short, fails, only_pings, page, says, stalls, thinks, too_long};
use agentd_tests::program::eventually;
use agentd_types::AbsPath;

use crate::stand::{Ran, Stand};

/// After these failures comes the answer; each failure was announced as `expected` says.
async fn recovers(failures: Vec<Reply>, expected: &[&str]) -> Ran {
    let stand = Stand::new(failures.into_iter().chain([says("Done.")])).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."), "{}", ran.stderr);
    assert_eq!(ran.retries(), expected);
    assert_eq!(ran.result()["num_turns"], 1, "a retry is no round");
    stand.goes_on();
    ran
}

/// The failure ends the submission at once; the error names `parts`.
async fn ends(reply: Reply, reason: &str, parts: &[&str]) {
    let stand = Stand::new([reply]).await;
    let ran = stand.run(&[]);
    let (code, terminal, error) = ran.end();
    assert_eq!((code, terminal), (Some(1), reason), "{ran:?}");
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    assert!(!error.contains("sk-test"), "{error}");
    assert_eq!(ran.retries(), Vec::<String>::new());
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limits_are_waited_for_as_the_server_says() {
    let failures = vec![fails(429).retry_after(0), fails(429).retry_after_ms(3), fails(429).retry_after_ms(4)];
    let expected = [1, 2, 3].map(|n| format!("rate_limit_error 429 {n}/10"));
    let ran = recovers(failures, &expected.each_ref().map(String::as_str)).await;
    assert_eq!(ran.delays(), [0, 3, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_of_an_hour_is_not_waited() {
    ends(fails(429).retry_after(3600), "model_error", &["HTTP 429", "rate_limit_error"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overloaded_thrice() {
    let expected = [1, 2, 3].map(|n| format!("overloaded_error 529 {n}/10"));
    let ran = recovers(vec![fails(529), fails(529), fails(529)], &expected.each_ref().map(String::as_str)).await;
    // 1, 2 and 4 ms by the settings, shortened by up to a quarter.
    assert!(ran.delays().iter().zip([1, 2, 4]).all(|(delay, most)| *delay <= most && *delay * 4 >= most * 3), "{:?}", ran.delays());
}

#[tokio::test(flavor = "multi_thread")]
async fn overloaded_for_good() {
    let stand = Stand::new((0..11).map(|_| fails(529))).await;
    let ran = stand.run(&[]);
    let (code, reason, error) = ran.end();
    assert_eq!((code, reason), (Some(1), "model_error"));
    assert!(error.contains("529") && error.contains("overloaded"), "{error}");
    assert_eq!(ran.retries().len(), 10);
    assert_eq!(ran.result()["api_error_status"], 529);
    assert_eq!(stand.stub.requests().len(), 11);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn server_errors_twice() {
    recovers(vec![fails(500), fails(503)], &["api_error 500 1/10", "api_error 503 2/10"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_not_repeated() {
    ends(fails(400), "model_error", &["HTTP 400", "scripted 400"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_not_repeated_and_its_place_is_named() {
    ends(fails(401), "model_error", &["HTTP 401", "ANTHROPIC_API_KEY"]).await;
    ends(fails(403), "model_error", &["HTTP 403", "ANTHROPIC_API_KEY"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_such_model() {
    ends(fails(404), "model_error", &["HTTP 404", "model's name"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long() {
    ends(too_long(), "prompt_too_long", &["too long"]).await;
    ends(fails(413), "prompt_too_long", &["too long"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxys_page_is_retried_twice() {
    let stand = Stand::new((0..3).map(|_| page("<h1>Log in</h1>"))).await;
    let ran = stand.run(&[]);
    assert_eq!((ran.end().0, ran.end().1), (Some(1), "model_error"));
    assert!(ran.end().2.contains("text/html"), "{:?}", ran.end());
    assert_eq!(ran.retries(), ["protocol_error - 1/2", "protocol_error - 2/2"]);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_in_a_text() {
    let ran = recovers(vec![cut_off("One two"), ends_short("One")], &["stream_cut - 1/10", "stream_cut - 2/10"]).await;
    assert_eq!(ran.tombstones(), ["the answer broke off: stream_cut"; 2]);
    assert_eq!(ran.said("text").len(), 1, "what broke off is no answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_in_thinking() {
    let reply = cuts([Item::Thinking("half a thought".to_owned())]);
    assert_eq!(recovers(vec![reply], &["stream_cut - 1/10"]).await.tombstones().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_in_a_calls_input_and_the_call_never_runs() {
    let reply = cuts([Item::Text("Now.".to_owned()), call("Bash", r#"{"command":"touch made","description":"makes a file"}"#)]);
    let stand = Stand::new([reply, says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.retries(), ["stream_cut - 1/10"]);
    assert_eq!((ran.said("tool_use").len(), ran.results().len()), (0, 0));
    assert!(!stand.world.work().join("made").exists());
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_call_before_the_cut_does_not_run_either() {
    let reply = cuts([call("Bash", r#"{"command":"touch made"}"#), Item::Text("And".to_owned())]);
    let stand = Stand::new([reply, says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert!(!stand.world.work().join("made").exists(), "its message was never stored");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_every_time() {
    let stand = Stand::new((0..11).map(|_| cut_off("Half an"))).await;
    let ran = stand.run(&[]);
    let (code, reason, error) = ran.end();
    assert_eq!((code, reason), (Some(1), "model_error"));
    assert!(error.contains("broke off"), "{error}");
    assert_eq!((ran.retries().len(), ran.tombstones().len()), (10, 11));
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_that_nobody_pays_for_is_not_sent() {
    let stand = Stand::new([cut_off("Half an")]).await;
    // 100 tokens of input at $2 a million were used by the answer that broke.
    let ran = stand.run(&["--max-budget-usd", "0.0002"]);
    assert_eq!((ran.end().0, ran.end().1), (Some(3), "budget_exhausted"), "{ran:?}");
    assert_eq!(stand.stub.requests().len(), 1);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_event_in_the_middle_ends_the_stream_at_once() {
    // The connection stays open: whoever waits for its end waits for ever.
    let ran =
        recovers(vec![breaks("One two", "overloaded_error"), breaks("One", "api_error")], &["overloaded_error - 1/10", "api_error - 2/10"])
            .await;
    assert_eq!(ran.tombstones().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_event_that_does_not_pass_is_not_repeated() {
    ends(breaks("One two", "invalid_request_error"), "model_error", &["invalid_request_error"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_has_a_timer_and_pings_do_not_mask_it() {
    let stand = Stand::new([stalls("One"), only_pings("Two"), thinks("hm", "Done.")])
        .await
        .settings(r#"{"provider": {"retryBaseMs": 1, "silenceMs": 1000}}"#);
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."), "{ran:?}");
    assert_eq!(ran.retries(), ["stream_silent - 1/10", "stream_silent - 2/10"]);
    assert_eq!(ran.tombstones().len(), 2);
    stand.goes_on();
}

/// Interrupts session `s` once `ready`, and gives what the run printed.
async fn interrupted(stand: &Stand, ready: impl AsyncFnOnce(&Stand)) -> Ran {
    let mut command = stand.world.command(&["run", "hello", "--name", "s", "--output-format", "stream-json"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    ready(stand).await;
    assert_eq!(stand.world.agent(&["interrupt", "s"]).code, Some(0));
    let done: agentd_tests::program::Done = child.wait_with_output().unwrap().into();
    done.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_can_be_interrupted() {
    let stand = Stand::new([stalls("Half an answer")]).await;
    let ran = interrupted(&stand, async |stand: &Stand| {
        stand.stub.asked(1).await;
    })
    .await;
    assert_eq!((ran.code, ran.result()["terminal_reason"].as_str()), (Some(130), Some("aborted_streaming")), "{ran:?}");
    assert_eq!(ran.result()["usage"]["input_tokens"], 100, "what a broken answer used is counted");
    stand.stub.abandoned(1).await;
    stand.stub.may_break(1);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_retry_can_be_interrupted() {
    let stand = Stand::new([fails(529).retry_after(600)]).await;
    let ran = interrupted(&stand, async |stand: &Stand| {
        stand.stub.asked(1).await;
        eventually("the retry is announced", || stand.log().iter().any(|event| event["subtype"] == "api_retry").then_some(()));
        let socket = AbsPath::new(stand.world.path("s.sock")).unwrap();
        let connection = Connection::open(&socket, "a watcher").await.unwrap();
        let mut attach = connection.attach("s", None, true).await.unwrap();
        let counted = loop {
            if let Update::Countdown(counted) = attach.next().await.unwrap() {
                break counted;
            }
        };
        assert!((counted.attempt, counted.max_retries) == (1, 10) && counted.left_ms < 600_000, "{counted:?}");
        assert_eq!(counted.left_ms % 1000, 0);
    })
    .await;
    assert_eq!((ran.code, ran.result()["terminal_reason"].as_str()), (Some(130), Some("aborted_streaming")), "{ran:?}");
    assert_eq!(ran.delays(), [600_000]);
    stand.stub.may_break(1);
    stand.goes_on();
}
