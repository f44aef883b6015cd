//! What stands in front: the system prompt, cache markers, and bytes that stay the same from request to request, over a restart too.

use std::process::Command;

use agentd_tests::model::{calls, says, silent, thinks};
use serde_json::{Value, json};

use crate::stand::{Ran, Stand};

fn git(stand: &Stand, args: &[&str]) {
    let done = Command::new("git").args(args).current_dir(stand.world.work()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Where markers stand: `system 0`, `tools 3`, `messages 2.1`.
fn markers(body: &Value) -> Vec<String> {
    let marked = |value: &Value| value.get("cache_control").is_some();
    let row = |name: &str| -> Vec<String> {
        let parts = body[name].as_array().unwrap().iter().enumerate();
        parts.filter(|(_, part)| marked(part)).map(|(index, _)| format!("{name} {index}")).collect()
    };
    let mut found = [row("tools"), row("system")].concat();
    for (index, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        let blocks = message["content"].as_array().unwrap().iter().enumerate();
        found.extend(blocks.filter(|(_, block)| marked(block)).map(|(at, _)| format!("messages {index}.{at}")));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_prompt_says_where_it_is() {
    let stand = Stand::new([says("Hi.")]).await;
    git(&stand, &["init", "-q", "-b", "trunk"]);
    std::fs::write(stand.world.work().join("new.txt"), "x").unwrap();
    let ran = stand.run(&["--append-system-prompt", "Be brief."]);
    assert_eq!(ran.end(), (Some(0), "completed", "Hi."));
    let system = stand.stub.requests()[0].body["system"].clone();
    let tail = system[1]["text"].as_str().unwrap();
    let work = stand.world.work();
    for part in [
        &format!("Working folder: {}", work.display()),
        "Platform: linux",
        "Operating system: ",
        "Session started on 20",
        "No commits yet on trunk",
        "?? new.txt",
        "Be brief.",
    ] {
        assert!(tail.contains(part), "{part} is not in {tail}");
    }
    assert!(!system[0]["text"].as_str().unwrap().contains(&work.display().to_string()));
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_cannot_be_read_holds_nothing_up() {
    let stand = Stand::new([says("Hi.")]).await;
    std::fs::write(stand.world.work().join(".git"), "nonsense").unwrap();
    assert_eq!(stand.run(&[]).end(), (Some(0), "completed", "Hi."));
    let tail = stand.stub.requests()[0].body["system"][1]["text"].as_str().unwrap().to_owned();
    assert!(tail.contains("not known: git fatal: "), "{tail}");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_end_the_tools_the_fixed_part_and_the_last_two_requests() {
    let stand = Stand::new([calls("Bash", json!({"command": "true"})), thinks("hm", "One."), says("Two.")]).await;
    let last_tool = |body: &Value| format!("tools {}", body["tools"].as_array().unwrap().len() - 1);
    assert_eq!(stand.run(&[]).end().0, Some(0));
    assert_eq!(stand.world.agent(&["run", "more", "--session", "s"]).stdout, "Two.\n");
    let requests = stand.stub.requests();
    assert_eq!(markers(&requests[0].body), [&last_tool(&requests[0].body), "system 0", "messages 0.0"]);
    assert_eq!(markers(&requests[1].body), [&last_tool(&requests[1].body), "system 0", "messages 0.0", "messages 2.0"]);
    assert_eq!(markers(&requests[2].body), [&last_tool(&requests[2].body), "system 0", "messages 2.0", "messages 4.0"]);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_front_is_the_same_after_a_restart_though_the_repository_changed() {
    let stand = Stand::new([calls("Bash", json!({"command": "touch made"})).thinks("hm"), silent(), says("One.")]).await;
    git(&stand, &["init", "-q"]);
    assert_eq!(stand.run(&[]).end(), (Some(0), "completed", "One."));
    stand.world.kill_daemon();
    stand.stub.then(thinks("again", "Two."));
    assert_eq!(stand.world.agent(&["run", "more", "--session", "s"]).stdout, "Two.\n");
    // The stub compared every request with the one before, byte for byte.
    let frames = stand.log().iter().filter(|event| event["subtype"] == "frame").count();
    assert_eq!(frames, 1);
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_rounds_read_from_the_cache_what_was_sent_before() {
    let replies = (0..50).map(|n| calls("Bash", json!({"command": format!("echo {n}")})).thinks("hm").says("Next."));
    let stand = Stand::new(replies.chain([says("Done.")])).await;
    assert_eq!(stand.run(&[]).end(), (Some(0), "completed", "Done."));
    let requests = stand.stub.requests();
    // A marker stands where the request before ended: all of that one can be read from the cache.
    let (mut read, mut whole) = (0, 0);
    for pair in requests.windows(2) {
        let last = pair[0].body["messages"].as_array().unwrap().len() - 1;
        assert!(markers(&pair[1].body).iter().any(|at| at.starts_with(&format!("messages {last}."))), "{:?}", markers(&pair[1].body));
        (read, whole) = (read + pair[0].raw.len(), whole + pair[1].raw.len());
    }
    assert!(read * 100 >= whole * 95, "{read} of {whole} bytes");
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_in_no_table_is_told_once_and_costs_nothing_known() {
    let stand = Stand::new([says("Hi."), says("Again.")]).await;
    let ran = stand.run(&["--model", "my-own-model"]);
    assert_eq!(ran.end(), (Some(0), "completed", "Hi."));
    assert_eq!(ran.notices().len(), 1);
    assert!(
        ran.notices()[0].contains("`my-own-model` is not in the tables") && ran.notices()[0].contains("unknown"),
        "{:?}",
        ran.notices()
    );
    assert_eq!(ran.result()["modelUsage"]["my-own-model"]["costBasis"], "unknown");
    let again: Ran = stand.world.agent(&["run", "more", "--session", "s", "--output-format", "stream-json"]).into();
    assert_eq!((again.end().2, again.notices()), ("Again.", vec![]));
    stand.goes_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_member_of_a_family_is_priced_as_its_family() {
    let stand = Stand::new([says("Hi.")]).await;
    let ran = stand.run(&["--model", "claude-sonnet-9"]);
    assert_eq!(ran.result()["modelUsage"]["claude-sonnet-9"]["costBasis"], "family");
    assert!(ran.notices()[0].contains("its family's newest limits and prices"), "{:?}", ran.notices());
    stand.goes_on();
}
