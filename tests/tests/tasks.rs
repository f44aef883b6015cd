//! Work in the background and what is said meanwhile, row by row of the queue's table, through the real binaries.

use agentd_tests::model::{Gate, Stub, calls, calls_all, says};
use agentd_tests::program::{World, eventually};
use serde_json::{Value, json};

fn new(world: &World, name: &str) {
    let made = world.agent(&["new", name, "--permission-mode", "bypassPermissions"]);
    assert_eq!(made.code, Some(0), "{made:?}");
}

fn send(world: &World, session: &str, text: &str) {
    let sent = world.agent(&["send", session, text]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
}

fn background(command: &str) -> Value {
    json!({"command": command, "run_in_background": true, "description": "the errand"})
}

fn tasks(world: &World, session: &str) -> Vec<Value> {
    let listed = world.agent(&["tasks", session, "--json"]);
    serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}: {listed:?}"))
}

fn results(world: &World, session: &str) -> Vec<Value> {
    world.log(session).into_iter().filter(|event| event["type"] == "result").collect()
}

fn wait_for_results(world: &World, session: &str, count: usize) -> Vec<Value> {
    eventually("the results", || Some(results(world, session)).filter(|results| results.len() >= count))
}

fn wait_for_status(world: &World, session: &str, status: &str) -> Value {
    eventually(&format!("a task that is {status}"), || tasks(world, session).into_iter().find(|task| task["status"] == status))
}

/// Notes that were enqueued, and those that were delivered.
fn notes(world: &World, session: &str) -> (usize, usize) {
    let log = world.log(session);
    let notes: Vec<&Value> = log
        .iter()
        .filter(|event| event["type"] == "queue" && event["change"] == "enqueued" && event["command"]["mode"] == "task_notification")
        .map(|event| &event["command"]["id"])
        .collect();
    let delivered = log.iter().filter(|event| event["change"] == "delivered" && notes.contains(&&event["id"])).count();
    (notes.len(), delivered)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_while_nobody_watches_starts_a_submission_by_itself() {
    let stub = Stub::start([
        calls("Bash", background("sleep 0.3 && touch ok && echo done-it")),
        says("Started."),
        says("The errand is done.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    let ended = wait_for_results(&world, "t", 2);
    assert!(ended.iter().all(|result| result["terminal"] == "completed"), "{ended:?}");
    assert!(world.work().join("ok").exists());
    let note = world.log("t").into_iter().find(|event| event["type"] == "user" && event["origin"]["kind"] == "task").expect("the note");
    let text = note["content"].to_string();
    for part in ["<task-notification>", "the errand", "<status>completed</status>", "<exit-code>0</exit-code>"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(notes(&world, "t"), (1, 1));
    let id = tasks(&world, "t")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.agent(&["task", "output", "t", &id[..13]]).stdout, "done-it\n");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_a_killed_daemon_is_lost_and_its_owner_is_told_once() {
    let stub = Stub::start([calls("Bash", background("sleep 600")), says("Started."), says("It was lost, then.").to("lost")]).await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    wait_for_results(&world, "t", 1);
    world.kill_daemon();
    wait_for_results(&world, "t", 2);
    assert_eq!(tasks(&world, "t")[0]["status"], "lost");
    world.kill_daemon();
    assert_eq!(world.agent(&["ls"]).code, Some(0));
    assert_eq!(notes(&world, "t"), (1, 1));
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_while_the_model_answers_waits_for_the_next_submission() {
    let gate = Gate::default();
    let stub = Stub::start([
        calls("Bash", background("true")),
        says("Still thinking.").ends_behind(&gate),
        says("And that was the errand.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    wait_for_status(&world, "t", "completed");
    assert_eq!(notes(&world, "t"), (1, 0));
    gate.open();
    wait_for_results(&world, "t", 2);
    assert_eq!(notes(&world, "t"), (1, 1));
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_wakes_a_sleep_and_its_note_joins_the_next_round() {
    let stub = Stub::start([
        calls("Bash", background("sleep 0.2")),
        calls("Sleep", json!({"seconds": 600})),
        says("It woke me.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    let ended = wait_for_results(&world, "t", 1);
    assert_eq!((&ended[0]["terminal"], &ended[0]["num_turns"]), (&json!("completed"), &json!(3)));
    let body = stub.requests().last().unwrap().body.to_string();
    assert!(body.contains("Woken after"), "{body}");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_typed_during_a_sleep_ends_it_and_starts_a_submission() {
    let stub = Stub::start([calls("Sleep", json!({"seconds": 600})), says("Yes?").to("typed")]).await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    eventually("the call", || world.log("t").into_iter().find(|event| event["type"] == "assistant"));
    send(&world, "t", "typed");
    let ended = wait_for_results(&world, "t", 2);
    assert_eq!((&ended[0]["terminal"], &ended[1]["terminal"]), (&json!("aborted_tools"), &json!("completed")));
    let interrupted = world.log("t").into_iter().find(|event| event["subtype"] == "interrupted").expect("it is recorded");
    assert_eq!(interrupted["reason"], "interrupt");
    assert!(!stub.requests().last().unwrap().body.to_string().contains("[Request interrupted by user]"));
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_typed_beside_a_call_that_blocks_joins_the_next_round() {
    let stub = Stub::start([
        calls_all([("Sleep", json!({"seconds": 1})), ("Bash", json!({"command": "until test -e go; do sleep 0.02; done"}))]),
        says("Both.").to("typed"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "start");
    eventually("the call", || world.log("t").into_iter().find(|event| event["subtype"] == "tool_started"));
    send(&world, "t", "typed");
    std::fs::write(world.work().join("go"), "").unwrap();
    let ended = wait_for_results(&world, "t", 1);
    assert_eq!(ended[0]["terminal"], "completed");
    let typed = world.log("t").into_iter().filter(|event| event["type"] == "attachment").count();
    assert_eq!(typed, 1);
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_typed_during_the_final_answer_is_the_next_submission() {
    let gate = Gate::default();
    let stub = Stub::start([says("Almost.").ends_behind(&gate), says("Next.").to("typed")]).await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    stub.asked(1).await;
    send(&world, "t", "typed");
    gate.open();
    wait_for_results(&world, "t", 2);
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_is_moved_to_the_background_by_a_client() {
    let stub = Stub::start([
        calls("Bash", json!({"command": "echo before; until test -e go; do sleep 0.02; done; echo after"})),
        says("I go on."),
        says("It is over.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    let started = eventually("the call", || world.log("t").into_iter().find(|event| event["subtype"] == "tool_started"));
    let call = started["tool_use"].as_str().unwrap();
    let moved = world.agent(&["task", "background", "t", call]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    wait_for_results(&world, "t", 1);
    assert_eq!(tasks(&world, "t")[0]["status"], "running");
    let again = world.agent(&["task", "background", "t", "toolu_nothing"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("toolu_nothing"), "{again:?}");
    std::fs::write(world.work().join("go"), "").unwrap();
    wait_for_results(&world, "t", 2);
    let id = tasks(&world, "t")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.agent(&["task", "output", "t", &id, "--follow"]).stdout, "before\nafter\n");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_task_is_killed_never_completed_and_an_interrupt_leaves_others_alone() {
    let stub = Stub::start([
        calls_all([("Bash", background("echo $$ > one; exec sleep 600")), ("Bash", background("echo $$ > two; exec sleep 600"))]),
        says("Both run."),
        says("One was ended.").to("killed"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    wait_for_results(&world, "t", 1);
    let pid = |name: &str| eventually("a pid", || std::fs::read_to_string(world.work().join(name)).ok()?.trim().parse::<u32>().ok());
    let (one, two) = (pid("one"), pid("two"));
    let alive = |pid: u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    let ids: Vec<String> = tasks(&world, "t").iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    let stopped = world.agent(&["interrupt", "t", "--task", &ids[0], "--json"]);
    assert!(!alive(one) && alive(two), "{stopped:?}");
    let rows = tasks(&world, "t");
    assert_eq!((&rows[0]["status"], &rows[0]["signal"]), (&json!("killed"), &json!(15)));
    assert!(rows[0]["ended_by"].as_str().unwrap().starts_with("cli"), "{rows:?}");
    wait_for_results(&world, "t", 2);
    assert_eq!(world.agent(&["interrupt", "t"]).stdout, "nothing runs\n");
    assert!(alive(two));
    stub.then(says("The other, too.").to("killed"));
    assert_eq!(world.agent(&["interrupt", "t", "--all-tasks"]).code, Some(0));
    assert!(!alive(two));
    wait_for_results(&world, "t", 3);
    let unknown = world.agent(&["task", "stop", "t", "zzz"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("no task `zzz`"), "{unknown:?}");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_reads_and_ends_its_own_tasks() {
    let stub = Stub::start([calls("Bash", background("echo hello; sleep 600")), says("Started.")]).await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    wait_for_results(&world, "t", 1);
    let id = tasks(&world, "t")[0]["id"].as_str().unwrap().to_owned();
    stub.then(calls("TaskOutput", json!({"task_id": id, "block": false})));
    stub.then(calls("TaskStop", json!({"task_id": id})));
    stub.then(calls("TaskStop", json!({"task_id": "nothing"})));
    stub.then(says("Done."));
    send(&world, "t", "and?");
    wait_for_results(&world, "t", 2);
    let body = stub.requests().last().unwrap().body.to_string();
    for part in ["hello", "has ended: killed", "There is no task `nothing`"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    // Who ended it himself knows: no note.
    assert_eq!(notes(&world, "t"), (0, 0));
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_notes_start_nothing_until_a_person_speaks() {
    let stub = Stub::start([calls("Bash", background("true")), says("Started.")]).await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(world.agent(&["new", "t", "--permission-mode", "bypassPermissions", "--notes", "record"]).code, Some(0));
    send(&world, "t", "go");
    wait_for_status(&world, "t", "completed");
    wait_for_results(&world, "t", 1);
    assert_eq!((notes(&world, "t"), stub.requests().len()), ((1, 0), 2));
    stub.then(says("Hello."));
    stub.then(says("And the errand is done.").to("task-notification"));
    send(&world, "t", "hello");
    wait_for_results(&world, "t", 3);
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_holds_the_note_until_it_is_answered() {
    let question = json!({"questions": [{"question": "Which?", "header": "h", "options": [{"label": "A"}, {"label": "B"}]}]});
    let stub = Stub::start([
        calls("Bash", background("until test -e go; do sleep 0.02; done")),
        calls("AskUser", question),
        says("A, then.").to("→ A"),
        says("And the errand.").to("task-notification"),
    ])
    .await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    let open = eventually("the question", || world.log("t").into_iter().find(|event| event["type"] == "question"));
    std::fs::write(world.work().join("go"), "").unwrap();
    wait_for_status(&world, "t", "completed");
    assert_eq!((notes(&world, "t"), stub.requests().len()), ((1, 0), 2));
    assert_eq!(world.agent(&["answer", "t", open["id"].as_str().unwrap(), "A"]).code, Some(0));
    wait_for_results(&world, "t", 2);
    assert_eq!(notes(&world, "t"), (1, 1));
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_daemon_ends_tasks_and_tells_of_it() {
    let stub = Stub::start([calls("Bash", background("echo $$ > pid; exec sleep 600")), says("Started.")]).await;
    let world = World::new(Some(stub.base_url()));
    new(&world, "t");
    send(&world, "t", "go");
    wait_for_results(&world, "t", 1);
    let pid = eventually("a pid", || std::fs::read_to_string(world.work().join("pid")).ok()?.trim().parse::<u32>().ok());
    assert_eq!(world.agent(&["daemon", "stop"]).code, Some(0));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    stub.then(says("I see.").to("killed"));
    wait_for_results(&world, "t", 2);
    assert_eq!(tasks(&world, "t")[0]["status"], "killed");
    stub.finish();
}
