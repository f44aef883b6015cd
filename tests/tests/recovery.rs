//! What a crash leaves, through the real binaries: kill -9 in mid stream and in mid tool.

use agentd_tests::model::{Gate, Stub, calls_all, says, stalls};
use agentd_tests::program::{World, eventually};
use serde_json::{Value, json};

fn of_type(log: &[Value], kind: &str) -> Vec<Value> {
    log.iter().filter(|event| event["type"] == kind).cloned().collect()
}

fn partial(world: &World, session: &str) -> Option<String> {
    let log = world.log(session);
    let pieces = log.iter().filter(|event| event["subtype"] == "partial").flat_map(|event| event["pieces"].as_array().cloned().unwrap());
    let text: String = pieces.map(|piece| piece["text"].as_str().unwrap().to_owned()).collect();
    (!text.is_empty()).then_some(text)
}

fn question(world: &World, session: &str) -> String {
    let rows: Value = serde_json::from_str(&world.agent(&["permissions", session, "--json"]).stdout).unwrap();
    rows[0]["id"].as_str().unwrap_or_else(|| panic!("{rows}")).to_owned()
}

fn end(world: &World, session: &str) -> Value {
    eventually("the result", || of_type(&world.log(session), "result").pop())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_mid_stream_the_text_is_in_the_log_and_the_request_is_repeated() {
    let stub = Stub::start([stalls("Half an answer ")]).await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(world.agent(&["new", "m"]).code, Some(0));
    assert_eq!(world.agent(&["send", "m", "go"]).code, Some(0));
    assert_eq!(eventually("the partial text", || partial(&world, "m")), "Half an answer ");
    stub.then(says("The whole answer."));
    world.kill_daemon();
    assert_eq!(end(&world, "m")["terminal"], "completed");
    let log = world.log("m");
    let shown = of_type(&log, "tombstone");
    let half = log.iter().find(|event| event["subtype"] == "partial").unwrap();
    assert_eq!(shown[0]["message"], half["message"], "what was shown is taken back");
    assert!(!stub.requests()[1].body.to_string().contains("Half an answer"), "and never sent");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_settings_say_so_it_asks_and_keeps_what_was_complete() {
    // Its first block is complete, its second is held back.
    let gate = Gate::default();
    let stub = Stub::start([]).await;
    let world = World::new(Some(stub.base_url()));
    std::fs::create_dir_all(world.path("conf")).unwrap();
    std::fs::write(world.path("conf/settings.json"), r#"{"resume": {"interrupted": "ask"}}"#).unwrap();
    for (name, choice) in [("c", "continue"), ("d", "drop")] {
        stub.then(says("All of it. ").ends_behind(&gate));
        assert_eq!(world.agent(&["new", name]).code, Some(0));
        assert_eq!(world.agent(&["send", name, "go"]).code, Some(0));
        eventually("the partial text", || partial(&world, name));
        world.kill_daemon();
        let id = question(&world, name);
        assert_eq!(
            world.agent(&["ls", "--json"]).json_lines()[0].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()["state"],
            "waiting_answer"
        );
        let kept = of_type(&world.log(name), "assistant");
        assert_eq!(kept[0]["content"][0]["text"], "All of it. ", "a complete block is kept");
        assert_eq!(world.agent(&["answer", name, &id, "perhaps"]).code, Some(2), "only its options are taken");
        if choice == "continue" {
            stub.then(says("Again."));
        }
        assert_eq!(world.agent(&["answer", name, &id, choice]).code, Some(0));
        let terminal = if choice == "continue" { "completed" } else { "aborted_tools" };
        assert_eq!(end(&world, name)["terminal"], terminal);
    }
    assert_eq!(of_type(&world.log("c"), "tombstone").len(), 1);
    let state = world.agent(&["show", "d", "--json"]).json_lines()[0]["state"].clone();
    assert_eq!(state, "interrupted");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_mid_tool_it_asks_and_goes_on_with_what_is_known() {
    let two = [("Bash", json!({"command": "echo x >> ran; exec sleep 600"})), ("Write", json!({"file_path": "b", "content": "b"}))];
    let stub = Stub::start([calls_all(two).usage(100, 20)]).await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(world.agent(&["new", "t", "--permission-mode", "bypassPermissions"]).code, Some(0));
    assert_eq!(world.agent(&["send", "t", "go"]).code, Some(0));
    let ran = world.work().join("ran");
    eventually("the tool runs", || ran.exists().then_some(()));
    world.kill_daemon();
    let id = question(&world, "t");
    world.kill_daemon();
    assert_eq!(question(&world, "t"), id, "it is asked once, over another crash too");
    stub.then(says("I looked.").usage(200, 30));
    assert_eq!(world.agent(&["answer", "t", &id, "1"]).code, Some(0));
    let end = end(&world, "t");
    assert_eq!(end["terminal"], "completed", "{end}");
    assert_eq!((&end["usage"]["input"], &end["usage"]["output"]), (&json!(300), &json!(50)), "nothing spent is lost: {end}");
    let asked = stub.requests()[1].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(asked.contains("outcome is unknown") && asked.contains("interrupted before it started"), "{asked}");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "x\n");
    assert!(!world.work().join("b").exists());
    stub.finish();
}
