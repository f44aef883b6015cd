//! Calls that are wrong: never run, always answered, stored as providers take them.

use agentd_tests::model::{Item, call, calls, calls_as, calls_with, mixes, says};
use serde_json::json;

use crate::stand::Stand;

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_is_no_json() {
    let stand = Stand::new([calls_with("Bash", r#"{"command": "touch made""#), calls_with("Bash", "[1]"), says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    let results = ran.results();
    assert!(results.len() == 2 && results.iter().all(|(is_error, text)| *is_error && text.contains("JSON")), "{results:?}");
    assert_eq!(ran.notices().len(), 2);
    assert!(ran.notices()[0].contains("no JSON object"), "{:?}", ran.notices());
    assert!(!stand.world.work().join("made").exists());
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_and_wrong_types() {
    let stand = Stand::new([calls("Read", json!({"path": "a.txt"})), calls("Bash", json!({"command": 7})), says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    let results = ran.results();
    assert!(results.iter().all(|(is_error, _)| *is_error), "{results:?}");
    assert!(results[0].1.contains("file_path") && results[1].1.contains("command"), "{results:?}");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_not_there() {
    let stand = Stand::new([calls("Teleport", json!({"to": "Mars"})), says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    let results = ran.results();
    assert!(results[0].0 && results[0].1.contains("Teleport"), "{results:?}");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_no_provider_takes() {
    let long = "x".repeat(201);
    let odd = ["functions.Bash", "", "Größe 😀", &long];
    let stand = Stand::new([mixes(odd.map(|name| call(name, "{}"))).thinks("signed over the names"), says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.results().iter().filter(|(is_error, _)| *is_error).count(), 4, "{:?}", ran.results());
    let notices = ran.notices();
    assert_eq!(notices.iter().filter(|text| text.contains("impossible name")).count(), 4, "{notices:?}");
    assert!(notices.iter().any(|text| text.contains("thinking block(s) of a repaired message are dropped")), "{notices:?}");
    assert_eq!(stand.shape(2)[1], "assistant: tool_use tool_use tool_use tool_use");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_were_there_before() {
    let again = || calls_as("dup", "Bash", json!({"command": "echo x >> ran"}));
    let both = mixes(["dup", "dup"].map(|id| Item::Call {
        id: Some(id.into()),
        name: "Bash".into(),
        input: r#"{"command":"echo x >> ran"}"#.into(),
    }));
    let stand = Stand::new([again(), again(), both, says("Done.")]).await;
    let ran = stand.run(&[]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(ran.results().len(), 4);
    assert_eq!(ran.notices().iter().filter(|text| text.contains("odd or taken")).count(), 3, "{:?}", ran.notices());
    assert_eq!(std::fs::read_to_string(stand.world.work().join("ran")).unwrap(), "x\n".repeat(4), "each runs, once");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_of_a_megabyte() {
    let text = "é".repeat(512 << 10);
    let stand = Stand::new([calls("Write", json!({"file_path": "big.txt", "content": text})), says("Done.")]).await;
    // Beside the daemon's own folders, which are never written to without a question.
    let folder = tempfile::tempdir().unwrap();
    let ran = stand.run(&["--cwd", folder.path().to_str().unwrap()]);
    assert_eq!(ran.end(), (Some(0), "completed", "Done."));
    assert_eq!(std::fs::read_to_string(folder.path().join("big.txt")).unwrap(), text);
    stand.goes_on();
}
