//! Subagents through the real binaries: loops of their own in one session, in the foreground and in the background.

use agentd_tests::model::{Gate, Stub, calls, calls_all, says};
use agentd_tests::program::{Done, World, eventually};
use serde_json::{Value, json};

fn work(prompt: &str) -> Value {
    json!({"description": "an errand", "prompt": prompt})
}

fn explores(prompt: &str) -> Value {
    json!({"description": "an errand", "prompt": prompt, "subagent_type": "explore"})
}

fn result(done: &Done) -> Value {
    done.json_lines().pop().unwrap_or_else(|| panic!("no result: {done:?}"))
}

fn tasks(world: &World, session: &str) -> Vec<Value> {
    let listed = world.agent(&["tasks", session, "--json"]);
    serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}: {listed:?}"))
}

fn results(world: &World, session: &str) -> Vec<Value> {
    world.log(session).into_iter().filter(|event| event["type"] == "result" && event["agent_id"].is_null()).collect()
}

fn wait_for_results(world: &World, session: &str, count: usize) -> Vec<Value> {
    eventually("the results", || Some(results(world, session)).filter(|results| results.len() >= count))
}

fn start(world: &World, name: &str, mode: &str) {
    assert_eq!(world.agent(&["new", name, "--permission-mode", mode]).code, Some(0));
    assert_eq!(world.agent(&["send", name, "go"]).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_works_in_its_own_context_and_its_report_is_the_result() {
    let stub = Stub::start([
        calls("Agent", explores("count the files")).usage(100, 10),
        calls("Glob", json!({"pattern": "*"})).to("count the files").usage(1000, 20),
        says("There are three.").usage(2000, 30),
        says("Three files, says my helper.").to("There are three.").usage(200, 40),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    let done = world.agent(&["run", "--name", "a", "--output-format", "json", "go"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let result = result(&done);
    // What the server counted, the subagent's requests included.
    assert_eq!((&result["usage"]["input_tokens"], &result["usage"]["output_tokens"]), (&json!(3300), &json!(100)), "{result}");
    assert_eq!(result["num_turns"], 2);
    let requests = stub.requests();
    let offered = |at: usize| -> Vec<String> {
        requests[at].body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(offered(0).contains(&"Bash".to_owned()) && offered(0).contains(&"Agent".to_owned()));
    assert_eq!(offered(1), ["Glob", "Grep", "Read", "TodoWrite"]);
    assert_eq!(requests[1].body["messages"].as_array().unwrap().len(), 1, "it sees nothing of its caller");
    let row = &tasks(&world, "a")[0];
    assert_eq!((&row["kind"], &row["status"]), (&json!("agent"), &json!("completed")));
    let id = row["id"].as_str().unwrap();
    assert_eq!(world.agent(&["task", "output", "a", id]).stdout, "There are three.");
    let cost = |value: &Value| value["cost_usd"].as_f64().unwrap();
    let info: Value = serde_json::from_str(&world.agent(&["show", "a", "--json"]).stdout).unwrap();
    assert!((cost(&info) - result["total_cost_usd"].as_f64().unwrap()).abs() < 1e-9, "{info} {result}");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_run_side_by_side_and_one_is_ended_alone() {
    let gate = Gate::default();
    let stub = Stub::start([
        calls_all([("Agent", work("first errand")), ("Agent", work("second errand"))]),
        says("First is done.").to("first errand").ends_behind(&gate),
        calls("Bash", json!({"command": "echo $$ > pid; sleep 600"})).to("second errand"),
        says("One of two.").to("First is done."),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    start(&world, "a", "bypassPermissions");
    let pid = eventually("the second's command", || std::fs::read_to_string(world.work().join("pid")).ok()?.trim().parse::<u32>().ok());
    let second = eventually("the second", || {
        tasks(&world, "a")
            .into_iter()
            .rev()
            .find(|task| task["status"] == "running" && task["kind"] == "agent" && tasks(&world, "a").len() == 2)
    });
    let log = world.log("a");
    let of_second = log.iter().find(|event| event["type"] == "user" && event["content"].to_string().contains("second errand")).unwrap();
    let running: Vec<Value> = tasks(&world, "a");
    let id = running.iter().find(|task| task["tool_use_id"] == of_second["parent_tool_use_id"]).unwrap_or(&second)["id"].as_str().unwrap();
    let ended = world.agent(&["interrupt", "a", "--task", id]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    gate.open();
    let ended = wait_for_results(&world, "a", 1);
    assert_eq!(ended[0]["terminal"], "completed");
    let body = stub.requests().last().unwrap().body.to_string();
    assert!(body.contains("The subagent killed by cli"), "{body}");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_in_the_background_reports_by_a_note() {
    let gate = Gate::default();
    let mut errand = work("slow errand");
    errand["run_in_background"] = json!(true);
    let stub = Stub::start([
        calls("Agent", errand),
        says("It runs.").to("async_launched"),
        says("The report.").to("slow errand").ends_behind(&gate),
        says("Thanks.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    start(&world, "a", "default");
    wait_for_results(&world, "a", 1);
    assert_eq!(tasks(&world, "a")[0]["status"], "running");
    gate.open();
    wait_for_results(&world, "a", 2);
    let body = stub.requests().last().unwrap().body.to_string();
    assert!(body.contains("The report.") && body.contains("<status>completed</status>"), "{body}");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn its_questions_appear_at_the_session_and_hold_no_note_of_the_main_loop() {
    let mut errand = work("careful errand");
    errand["run_in_background"] = json!(true);
    let stub = Stub::start([
        calls_all([("Agent", errand), ("Bash", json!({"command": "until test -e go; do sleep 0.02; done", "run_in_background": true}))]),
        calls("Bash", json!({"command": "touch made"})).to("careful errand"),
        says("Both run.").to("async_launched"),
        says("The command is done.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(
        world.agent(&["new", "a", "--allowed-tools", "Bash(until test:*),Bash(until test -e go; do sleep 0.02; done)"]).code,
        Some(0)
    );
    assert_eq!(world.agent(&["send", "a", "go"]).code, Some(0));
    wait_for_results(&world, "a", 1);
    let open = eventually("the request", || {
        let rows: Vec<Value> = serde_json::from_str(&world.agent(&["permissions", "a", "--json"]).stdout).unwrap();
        rows.into_iter().next()
    });
    assert_eq!(open["input"]["command"], "touch made");
    let info: Value = serde_json::from_str(&world.agent(&["show", "a", "--json"]).stdout).unwrap();
    assert_eq!(info["state"], "waiting_permission");
    std::fs::write(world.work().join("go"), "").unwrap();
    wait_for_results(&world, "a", 2);
    stub.then(says("Made.").to("(no output)"));
    stub.then(says("And the errand too.").to("Made."));
    assert_eq!(world.agent(&["allow", "a", open["id"].as_str().unwrap()]).code, Some(0));
    wait_for_results(&world, "a", 3);
    assert!(world.work().join("made").exists());
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_headless_run_parks_for_a_subagents_question_and_goes_on_when_it_is_answered() {
    let stub = Stub::start([
        calls("Agent", work("errand")),
        calls("Bash", json!({"command": "touch made"})).to("errand"),
        says("Made it.").to("(no output)"),
        says("All done.").to("Made it."),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    let done = world.agent(&["run", "--name", "a", "--output-format", "json", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert_eq!(result(&done)["terminal_reason"], "parked");
    let id = serde_json::from_str::<Vec<Value>>(&world.agent(&["permissions", "a", "--json"]).stdout).unwrap()[0]["id"].clone();
    assert_eq!(world.agent(&["allow", "a", id.as_str().unwrap()]).code, Some(0));
    assert_eq!(wait_for_results(&world, "a", 1)[0]["terminal"], "completed");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_one_in_the_foreground_and_leaves_the_one_in_the_background() {
    let mut behind = work("background errand");
    behind["run_in_background"] = json!(true);
    let wait = |name: &str| json!({"command": format!("echo $$ > {name}; exec sleep 600")});
    let stub = Stub::start([
        calls_all([("Agent", behind), ("Agent", work("front errand"))]),
        calls("Bash", wait("behind")).to("background errand"),
        calls("Bash", wait("front")).to("front errand"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    start(&world, "a", "bypassPermissions");
    let pid = |name: &str| eventually("a pid", || std::fs::read_to_string(world.work().join(name)).ok()?.trim().parse::<u32>().ok());
    let alive = |pid: u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    let (behind, front) = (pid("behind"), pid("front"));
    assert_eq!(world.agent(&["interrupt", "a"]).stdout, "interrupted\n");
    assert!(!alive(front) && alive(behind));
    let statuses: Vec<Value> = tasks(&world, "a").into_iter().map(|task| task["status"].clone()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "running").count(), 1, "{statuses:?}");
    // After a person's cancel the note waits until one speaks.
    assert_eq!(world.agent(&["interrupt", "a", "--all-tasks"]).code, Some(0));
    assert!(!alive(behind));
    assert_eq!(results(&world, "a").len(), 1);
    stub.then(says("Hello.").to("hello"));
    stub.then(says("I see.").to("task-notification"));
    assert_eq!(world.agent(&["send", "a", "hello"]).code, Some(0));
    wait_for_results(&world, "a", 3);
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_gone_on_with_by_a_later_message_over_a_restart() {
    let stub = Stub::start([calls("Agent", work("learn a word")), says("The word is plover.").to("learn a word"), says("Known.")]).await;
    let world = World::new(Some(stub.base_url()));
    start(&world, "a", "default");
    wait_for_results(&world, "a", 1);
    let told = stub.requests().last().unwrap().body.to_string();
    let agent = told.split("agent_id: ").nth(1).and_then(|rest| rest.get(..36)).expect("its id").to_owned();
    world.kill_daemon();
    let mut again = work("which word was it?");
    again["agent_id"] = json!(agent);
    let mut unknown = work("nobody");
    unknown["agent_id"] = json!("0198c0de-7a3b-7f00-8000-000000000001");
    stub.then(calls("Agent", again));
    stub.then(says("plover").to("which word"));
    stub.then(calls("Agent", unknown).to("plover"));
    stub.then(says("Done.").to("no subagent"));
    assert_eq!(world.agent(&["send", "a", "ask it"]).code, Some(0));
    wait_for_results(&world, "a", 2);
    let asked = stub.requests().into_iter().find(|it| it.last_text().contains("which word")).expect("it was asked");
    assert!(asked.body.to_string().contains("The word is plover."), "it remembers");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_started_something_waits_for_it_before_it_reports() {
    let stub = Stub::start([
        calls("Agent", work("build it")),
        calls("Bash", json!({"command": "sleep 0.2; echo built", "run_in_background": true})).to("build it"),
        says("The build runs.").to("in the background"),
        says("The build is done.").to("task-notification"),
        says("Fine.").to("The build is done."),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    start(&world, "a", "bypassPermissions");
    assert_eq!(wait_for_results(&world, "a", 1)[0]["terminal"], "completed");
    assert_eq!(results(&world, "a").len(), 1, "the note went to the subagent");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_inputs_are_told_and_depth_is_bounded() {
    let kind = json!({"description": "d", "prompt": "p", "subagent_type": "wizard"});
    let stub = Stub::start([
        calls("Agent", kind),
        calls("Agent", json!({"description": "d", "prompt": " "})).to("there are: general, explore, plan"),
        calls("Agent", work("level 1")).to("prompt is empty"),
        calls("Agent", work("level 2")).to("level 1"),
        calls("Agent", work("level 3")).to("level 2"),
        calls("Agent", work("level 4")).to("level 3"),
        says("third").to("levels deep"),
        says("second").to("third"),
        says("first").to("second"),
        says("done").to("first"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    start(&world, "a", "default");
    assert_eq!(wait_for_results(&world, "a", 1)[0]["text"], "done");
    assert_eq!(tasks(&world, "a").len(), 3);
    stub.finish();
}
