//! The real `agentd` and `agent`, end to end. No model but the rehearsal and the stub.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use agentd_tests::model::{Stub, calls, calls_all, fails, says, thinks};
use agentd_tests::program::{World, eventually};
use serde_json::{Value, json};

fn is_dense(log: &[Value]) {
    let seqs: Vec<u64> = log.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=log.len() as u64).collect::<Vec<_>>());
}

fn result(done: &agentd_tests::program::Done) -> Value {
    done.json_lines().pop().unwrap_or_else(|| panic!("no result: {done:?}"))
}

fn script(world: &World, text: &str) -> String {
    let path = world.path("script.toml");
    std::fs::write(&path, text).unwrap();
    format!("rehearsal:{}", path.display())
}

const ASKING: &str = r#"
[[step]]
text = "I ask."
[[step.tool]]
name = "Bash"
input = { command = "touch made && cat made" }
[[step]]
expect = { tool = "Bash", is_error = false }
text = "Done."
"#;

#[test]
fn the_tour_plays_and_names_who_decided() {
    let world = World::new(None);
    let done = world.agent(&["run", "--model", "rehearsal"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("The test passes"), "{done:?}");
    assert!(done.stderr.contains("allow by tour guide"), "{done:?}");
    let session = world.agent(&["ls", "--json"]);
    let id = session.json_lines()[0][0]["id"].as_str().unwrap().to_owned();
    is_dense(&world.log(&id));
}

#[test]
fn a_parked_run_goes_on_when_another_client_answers_over_kill_9_too() {
    let world = World::new(None);
    let model = script(&world, ASKING);
    let done = world.agent(&["run", "--name", "p", "--model", &model, "--output-format", "json", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert_eq!(result(&done)["terminal_reason"], "parked");
    let request = result(&done)["permission_requests"][0]["id"].as_str().unwrap().to_owned();

    world.kill_daemon();
    let open = world.agent(&["permissions", "p", "--json"]);
    assert_eq!(open.json_lines()[0][0]["id"], json!(request));
    assert_eq!(world.agent(&["allow", "p", &request]).code, Some(0));
    let again = world.agent(&["deny", "p", &request]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("already answered: allow, by cli"), "{again:?}");
    let end = eventually("the result", || world.log("p").into_iter().find(|event| event["type"] == "result"));
    assert_eq!(end["terminal"], "completed", "{end}");
    assert!(world.work().join("made").exists());
    is_dense(&world.log("p"));
}

#[test]
fn deny_goes_on_and_is_listed() {
    let world = World::new(None);
    let model =
        script(&world, "[[step]]\n[[step.tool]]\nname = \"Bash\"\ninput = { command = \"touch made\" }\n[[step]]\ntext = \"Then not.\"\n");
    let done = world.agent(&["-p", "go", "--model", &model, "--output-format", "json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(result(&done)["permission_denials"][0]["tool_name"], "Bash");
    assert!(!world.work().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_messages_api_text_thinking_and_tools_in_every_format() {
    let stub = Stub::start([says("Hi.")]).await;
    let world = World::new(Some(stub.base_url()));
    let run = |format: &str| world.agent(&["run", "hello", "--permission-mode", "bypassPermissions", "--output-format", format]);

    let text = run("text");
    assert_eq!((text.code, text.stdout.as_str()), (Some(0), "Hi.\n"), "{text:?}");

    stub.then(thinks("hm", "Thought."));
    let json = run("json");
    assert_eq!(result(&json)["result"], "Thought.", "{json:?}");
    assert_eq!(result(&json)["subtype"], "success");

    std::fs::write(world.work().join("a.txt"), "alpha\n").unwrap();
    stub.then(calls_all((0..4).map(|_| ("Read", json!({"file_path": "a.txt"})))));
    for n in 0..20 {
        stub.then(calls("Bash", json!({"command": format!("echo {n}")})));
    }
    stub.then(says("All done."));
    let stream = run("stream-json");
    assert_eq!(stream.code, Some(0), "{stream:?}");
    let lines = stream.json_lines();
    assert_eq!(lines[0]["subtype"], "init");
    assert_eq!(lines.iter().filter(|line| line["type"] == "user").count(), 24);
    assert_eq!(lines.last().unwrap()["num_turns"], 22, "4 parallel, 20 one by one, and the answer");

    stub.then(fails(401));
    let refused = run("json");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(result(&refused)["terminal_reason"], "model_error");
    assert!(!refused.stderr.contains("sk-test") && !refused.stdout.contains("sk-test"));
    stub.finish();
}

#[test]
fn work_goes_on_without_its_client_and_two_attached_see_the_same() {
    let world = World::new(None);
    let model = script(&world, ASKING);
    assert_eq!(world.agent(&["new", "w", "--model", &model]).code, Some(0));
    let attach = || {
        let mut child = world.command(&["attach", "--plain", "w"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines)
    };
    let (mut first, mut first_lines) = attach();
    let (mut second, mut second_lines) = attach();
    let greeting = [first_lines.next().unwrap().unwrap(), second_lines.next().unwrap().unwrap()];
    assert!(greeting.iter().all(|line| line.contains("attached to w")), "{greeting:?}");
    assert_eq!(world.agent(&["send", "w", "go"]).code, Some(0));

    let until = |lines: &mut dyn Iterator<Item = std::io::Result<String>>, what: &str| -> Vec<String> {
        let mut seen = Vec::new();
        for line in lines {
            seen.push(line.unwrap());
            if seen.last().unwrap().contains(what) {
                return seen;
            }
        }
        panic!("{what} never came: {seen:?}");
    };
    until(&mut first_lines, "? Bash");
    until(&mut second_lines, "? Bash");
    // The second answers; the first is told by whom.
    std::io::Write::write_all(second.stdin.as_mut().unwrap(), b"/allow\n").unwrap();
    let told = until(&mut first_lines, "· completed");
    assert!(told.iter().any(|line| line.starts_with("· allow by cli")), "{told:?}");
    assert_eq!(told, until(&mut second_lines, "· completed"));
    for child in [&mut first, &mut second] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn kill_9_in_mid_tool_tells_and_runs_nothing_again_and_delivers_the_queue() {
    let world = World::new(None);
    // A duration nobody else on this machine sleeps: other test runs must not be found by it.
    let sleep = format!("sleep 1000.{}", std::process::id());
    let model = script(
        &world,
        &"[[step]]\n[[step.tool]]\nname = \"Bash\"\ninput = { command = \"echo x >> ran; exec SLEEP\" }\n[[step]]\nexpect = { tool = \"Bash\", is_error = false }\ntext = \"Second.\"\n".replace("SLEEP", &sleep),
    );
    assert_eq!(world.agent(&["new", "k", "--model", &model, "--permission-mode", "bypassPermissions"]).code, Some(0));
    assert_eq!(world.agent(&["send", "k", "go"]).code, Some(0));
    let ran = world.work().join("ran");
    eventually("the tool runs", || ran.exists().then_some(()));
    assert_eq!(world.agent(&["send", "k", "and then?"]).code, Some(0));
    world.kill_daemon();
    let log = eventually("the queued message's answer", || {
        let log = world.log("k");
        let ends = log.iter().filter(|event| event["type"] == "result").count();
        (ends == 2).then_some(log)
    });
    is_dense(&log);
    let text = serde_json::to_string(&log).unwrap();
    assert!(text.contains("its outcome is unknown"), "{text}");
    assert_eq!(log.last().unwrap()["terminal"], "completed");
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "x\n");
    let alive = std::process::Command::new("pgrep").args(["-f", &sleep]).output().unwrap();
    assert!(alive.stdout.is_empty(), "the old daemon's tool still runs");
}

#[test]
fn an_interrupt_ends_the_tool_and_the_next_prompt_is_answered() {
    let world = World::new(None);
    let model = script(
        &world,
        "[[step]]\n[[step.tool]]\nname = \"Bash\"\ninput = { command = \"touch on; sleep 600\" }\n[[step]]\ntext = \"Here.\"\n",
    );
    assert_eq!(world.agent(&["new", "i", "--model", &model, "--permission-mode", "bypassPermissions"]).code, Some(0));
    assert_eq!(world.agent(&["send", "i", "go"]).code, Some(0));
    let on = world.work().join("on");
    eventually("the tool runs", || on.exists().then_some(()));
    let now = world.agent(&["send", "i", "--now", "--wait", "stop and answer"]);
    assert_eq!((now.code, now.stdout.as_str()), (Some(0), "Here.\n"), "{now:?}");
    let first = world.log("i").into_iter().find(|event| event["type"] == "result").unwrap();
    assert_eq!(first["terminal"], "aborted_tools");
    assert_eq!(world.agent(&["interrupt", "i"]).stdout, "nothing runs\n");
}

#[test]
fn bad_input_is_named_and_changes_nothing() {
    let world = World::new(None);
    let code = |args: &[&str]| world.agent(args).code;
    assert_eq!(code(&["ls", "--no-start"]), Some(5));
    assert_eq!(code(&["show", "nobody"]), Some(6));
    assert_eq!(code(&["new", "a", "--permission-mode", "yolo"]), Some(2));
    assert_eq!(code(&["new", "a"]), Some(0));
    assert_eq!(code(&["new", "a"]), Some(1));
    assert_eq!(code(&["allow", "a", "x"]), Some(2));
    assert_eq!(code(&["send", "a", "x", "--origin", "nobody"]), Some(2));
    let long = format!("/tmp/{}/s.sock", "x".repeat(120));
    let done = world.agent(&["ls", "--socket", &long]);
    assert_eq!(done.code, Some(5), "{done:?}");
    assert!(done.stderr.contains("107") || done.stderr.contains("long"), "{done:?}");
}

#[test]
fn a_second_daemon_and_a_broken_config_say_so() {
    let world = World::new(None);
    let pid = {
        assert_eq!(world.agent(&["daemon", "start"]).code, Some(0));
        world.daemon_pid()
    };
    let daemon = |config: &str| {
        let mut command = std::process::Command::new(agentd_tests::program::binary("agentd"));
        command
            .env("AGENT_SOCKET", world.path("s.sock"))
            .env("AGENT_DATA_DIR", world.path("data"))
            .env("AGENT_CONFIG_DIR", world.path(config));
        command.output().unwrap()
    };
    let second = daemon("conf");
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains(&format!("already running, pid {pid}")), "{second:?}");
    std::fs::create_dir(world.path("bad")).unwrap();
    std::fs::write(world.path("bad/settings.json"), "{ \"model\": 7 }").unwrap();
    let broken = daemon("bad");
    assert!(!broken.status.success());
    let said = String::from_utf8_lossy(&broken.stderr).into_owned();
    assert!(said.contains("settings.json") && said.contains("model"), "{said}");
}

#[test]
fn the_same_key_is_the_same_command() {
    let world = World::new(None);
    assert_eq!(world.agent(&["new", "q"]).code, Some(0));
    let send = |text: &str| world.agent(&["send", "q", text, "--idempotency-key", "k", "--json"]);
    let first = send("hello");
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(first.stdout, send("hello").stdout);
    assert_eq!(send("other").code, Some(1));
}

#[test]
fn stopped_means_gone_whoever_is_still_attached() {
    let world = World::new(None);
    assert_eq!(world.agent(&["new", "w"]).code, Some(0));
    let mut attached = world.command(&["attach", "--plain", "w"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(attached.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("attached to w"));
    for _ in 0..5 {
        let old = world.daemon_pid();
        let stopped = world.agent(&["daemon", "stop"]);
        assert_eq!(stopped.code, Some(0), "{stopped:?}");
        let again = world.agent(&["daemon", "start"]);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert_ne!(world.daemon_pid(), old);
    }
    attached.kill().unwrap();
    attached.wait().unwrap();
}

#[test]
fn a_deleted_session_leaves_no_process_and_no_file() {
    let world = World::new(None);
    let pid_file = world.work().join("pid");
    let command = "sleep 7200 & echo $! > pid; seq 100000";
    let text = format!("[[step]]\n[[step.tool]]\nname = \"Bash\"\ninput = {{ command = {command:?} }}\n[[step]]\ntext = \"Done.\"\n");
    let model = script(&world, &text);
    let done = world.agent(&["run", "--name", "d", "--permission-mode", "bypassPermissions", "--model", &model, "go"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let pid: u32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let runs = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    let id = world.agent(&["ls", "--json"]).json_lines()[0][0]["id"].as_str().unwrap().to_owned();
    let outputs = world.path("data").join("sessions").join(&id);
    assert!(runs() && outputs.join("outputs").is_dir(), "{}", outputs.display());
    assert_eq!(world.agent(&["rm", "d"]).code, Some(0));
    eventually("its process and its files go", || (!runs() && !outputs.exists()).then_some(()));
}

#[test]
fn a_rule_for_the_session_counts_from_the_next_round() {
    let world = World::new(None);
    let step = "[[step]]\n[[step.tool]]\nname = \"Bash\"\ninput = { command = \"touch made\" }\n";
    let model = script(&world, &format!("{step}{step}[[step]]\nexpect = {{ tool = \"Bash\", is_error = false }}\ntext = \"Done.\"\n"));
    let parked = world.agent(&["run", "--name", "p", "--model", &model, "--output-format", "json", "go"]);
    assert_eq!(parked.code, Some(4), "{parked:?}");
    let request = result(&parked)["permission_requests"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.agent(&["allow", "p", &request, "--session"]).code, Some(0));
    let end = eventually("the result", || world.log("p").into_iter().find(|event| event["type"] == "result"));
    assert_eq!(end["terminal"], "completed", "{end}");
    let asked = world.log("p").iter().filter(|event| event["type"] == "permission_request").count();
    assert_eq!(asked, 1);
}
