//! Questions to whoever is attached, through the real binaries.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use agentd_tests::model::{Stub, calls, calls_all, says};
use agentd_tests::program::{Done, World, eventually};
use serde_json::{Value, json};

fn question(multi: bool) -> Value {
    json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": multi,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]}]})
}

fn result(done: &Done) -> Value {
    done.json_lines().pop().unwrap_or_else(|| panic!("no result: {done:?}"))
}

/// The text of the tool result in the last request.
fn told(stub: &Stub) -> String {
    let requests = stub.requests();
    let last = requests.last().expect("a request");
    last.body["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string).expect("a message")
}

fn ended(world: &World, session: &str) -> Value {
    eventually("the result", || world.log(session).into_iter().find(|event| event["type"] == "result"))
}

fn asks(world: &World, session: &str) -> Vec<Value> {
    let rows: Value = serde_json::from_str(&world.agent(&["permissions", session, "--json"]).stdout).unwrap();
    rows.as_array().unwrap().iter().filter(|row| row["kind"] == "question").cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_question_is_answered_over_kill_9_and_resumes_that_very_call() {
    let stub = Stub::start([calls("AskUser", question(false)), says("Blue it is.")]).await;
    let world = World::new(Some(stub.base_url()));
    let done = world.agent(&["run", "--name", "q", "--output-format", "json", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert_eq!(result(&done)["terminal_reason"], "parked");
    let id = result(&done)["questions"][0]["id"].as_str().unwrap().to_owned();
    assert!(done.stderr.contains("agent answer"), "{done:?}");

    world.kill_daemon();
    let open = asks(&world, "q");
    assert_eq!((&open[0]["id"], &open[0]["state"], &open[0]["tool_name"]), (&json!(id), &json!("open"), &json!("AskUser")));
    let row = world.agent(&["ls", "--json"]);
    assert_eq!(row.json_lines()[0][0]["state"], "waiting_answer");
    assert_eq!(world.agent(&["answer", "q", &id, "blue"]).stdout, format!("Blue {id}\n"));
    let again = world.agent(&["answer", "q", &id, "1"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("already answered: Blue, by cli"), "{again:?}");
    assert_eq!(ended(&world, "q")["terminal"], "completed");
    assert!(told(&stub).contains("→ Blue"), "{}", told(&stub));
    let log = world.log("q");
    for kind in ["question", "answer"] {
        assert_eq!(log.iter().filter(|event| event["type"] == kind).count(), 1, "{kind}");
    }
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_client_sees_it_and_answers_in_its_own_words_and_an_alias_is_the_same_tool() {
    let stub = Stub::start([calls("AskUserQuestion", question(true)), says("Good.")]).await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(world.agent(&["new", "a"]).code, Some(0));
    let mut attached = world.command(&["attach", "--plain", "a"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(attached.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut until = |what: &str| lines.by_ref().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what} never came"));
    until("attached to a");
    assert_eq!(world.agent(&["send", "a", "go"]).code, Some(0));
    until("? Which colour?");
    until("1. Red — warm");
    attached.stdin.as_mut().unwrap().write_all(b"/answer 1,2\n").unwrap();
    until("· Red, Blue by cli");
    until("· completed");
    assert!(told(&stub).contains("→ Red, Blue"), "{}", told(&stub));
    attached.kill().unwrap();
    attached.wait().unwrap();
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_is_asked_it_is_denied_and_listed() {
    let stub = Stub::start([]).await;
    let world = World::new(Some(stub.base_url()));
    for args in [vec!["-p", "go"], vec!["run", "go", "--permission-mode", "dontAsk"]] {
        stub.then(calls("AskUser", question(false)));
        stub.then(says("I choose red."));
        let done = world.agent(&[&args[..], &["--output-format", "json"]].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(result(&done)["permission_denials"][0]["tool_name"], "AskUser");
    }
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_withdraws_it_and_what_it_spent_and_was_denied_is_in_the_result_of_a_resumed_run() {
    let stub = Stub::start([calls("AskUser", question(false)).usage(100, 20)]).await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(world.agent(&["new", "i"]).code, Some(0));
    assert_eq!(world.agent(&["send", "i", "go"]).code, Some(0));
    eventually("the question", || asks(&world, "i").pop());
    assert_eq!(world.agent(&["interrupt", "i"]).code, Some(0));
    let log = world.log("i");
    assert!(log.iter().any(|event| event["type"] == "answer" && event["reply"] == "withdrawn"), "{log:?}");
    assert_eq!(ended(&world, "i")["terminal"], "aborted_tools");

    // A rule denies the first call, the second parks; after a restart both the spending and the denial are still told.
    let two = [("Bash", json!({"command": "touch no"})), ("AskUser", question(false))];
    stub.then(calls_all(two).usage(100, 20));
    let done = world.agent(&["run", "--name", "r", "--disallowed-tools", "Bash", "--output-format", "json", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    world.kill_daemon();
    stub.then(says("Done.").usage(200, 30));
    let id = asks(&world, "r")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.agent(&["answer", "r", &id[..13], "1"]).code, Some(0));
    let end = ended(&world, "r");
    assert_eq!((&end["usage"]["input"], &end["usage"]["output"]), (&json!(300), &json!(50)), "{end}");
    assert_eq!(end["denials"][0]["tool_name"], "Bash", "{end}");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_stopped_has_the_question_again_when_it_is_back() {
    let stub = Stub::start([calls("AskUser", question(false)), says("Good.")]).await;
    let world = World::new(Some(stub.base_url()));
    assert_eq!(world.agent(&["new", "s"]).code, Some(0));
    assert_eq!(world.agent(&["send", "s", "go"]).code, Some(0));
    let id = eventually("the question", || asks(&world, "s").pop())["id"].clone();
    assert_eq!(world.agent(&["daemon", "stop"]).code, Some(0));
    assert_eq!(asks(&world, "s")[0]["id"], id);
    assert_eq!(world.agent(&["answer", "s", id.as_str().unwrap(), "red"]).code, Some(0));
    assert_eq!(ended(&world, "s")["terminal"], "completed");
    stub.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_allowed_always_is_not_asked_in_new_sessions_of_this_folder_and_in_no_other() {
    let stub = Stub::start([]).await;
    let world = World::new(Some(stub.base_url()));
    let other = world.path("other");
    std::fs::create_dir(&other).unwrap();
    let run = |name: &str, cwd: &str, command: &str| {
        stub.then(calls("Bash", json!({"command": command})));
        // A prompt of its own: the stub tells conversations apart by it.
        world.agent(&["run", "--name", name, "--cwd", cwd, "--output-format", "json", name])
    };
    let done = run("first", ".", "touch made && ls");
    assert_eq!(done.code, Some(4), "{done:?}");
    let request = result(&done)["permission_requests"][0]["id"].as_str().unwrap().to_owned();
    stub.then(says("Done."));
    let allowed = world.agent(&["allow", "first", &request, "--always"]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    assert!(allowed.stderr.contains("in this folder: Bash(touch made && ls)"), "{allowed:?}");
    ended(&world, "first");

    // Over a restart, in a new session.
    world.kill_daemon();
    stub.then(calls("Bash", json!({"command": "touch made && ls"})));
    stub.then(says("Again."));
    let again = world.agent(&["run", "--name", "second", "--output-format", "json", "second"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(run("wider", ".", "touch made && ls -l").code, Some(4), "nothing wider");
    let elsewhere = run("elsewhere", other.to_str().unwrap(), "touch made && ls");
    assert_eq!(elsewhere.code, Some(4), "in no other folder: {elsewhere:?}");
    let rules: Value = serde_json::from_str(&std::fs::read_to_string(world.path("conf/folders.json")).unwrap()).unwrap();
    let folder = world.work().canonicalize().unwrap();
    assert_eq!(rules[folder.to_str().unwrap()]["permissions"]["allow"], json!(["Bash(touch made && ls)"]));

    // Where it cannot be kept, that is said, and the call runs all the same.
    std::fs::write(world.path("conf/folders.json"), "{").unwrap();
    let id = |session: &str| {
        let rows: Value = serde_json::from_str(&world.agent(&["permissions", session, "--json"]).stdout).unwrap();
        rows[0]["id"].as_str().unwrap().to_owned()
    };
    stub.then(says("Done."));
    let refused = world.agent(&["allow", "wider", &id("wider"), "--always"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("folders.json"), "{refused:?}");
    assert_eq!(ended(&world, "wider")["terminal"], "completed");
    stub.finish();
}
