//! The store through the real binaries: a lost or damaged database comes back whole, and the doctor says so.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use agentd_tests::program::{Done, World};
use serde_json::Value;

const SCRIPT: &str = r#"
[[step]]
text = "I look."
[[step.tool]]
name = "Bash"
input = { command = "echo one; echo two" }
[[step]]
expect = { tool = "Bash", is_error = false }
text = "Seen."
"#;

/// A world with two sessions of one submission each, and one that was deleted.
fn used() -> World {
    let world = World::new(None);
    let path = world.path("script.toml");
    fs::write(&path, SCRIPT).unwrap();
    let model = format!("rehearsal:{}", path.display());
    for name in ["one", "two", "gone"] {
        let done = world.agent(&["run", "--name", name, "--model", &model, "--permission-mode", "bypassPermissions", "go"]);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    assert_eq!(world.agent(&["rm", "gone"]).code, Some(0));
    world
}

fn stop(world: &World) {
    let stopped = world.agent(&["daemon", "stop", "--no-start"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
}

fn doctor(world: &World) -> (Done, Value) {
    let done = world.agent(&["doctor", "--json"]);
    let report = done.json_lines().pop().unwrap_or_else(|| panic!("no report: {done:?}"));
    (done, report)
}

fn says(report: &Value, word: &str) -> bool {
    report["problems"].as_array().unwrap().iter().any(|problem| problem["what"].as_str().unwrap().contains(word))
}

fn rows(world: &World) -> Vec<Value> {
    let mut rows = world.agent(&["ls", "--json"]).json_lines()[0].as_array().unwrap().clone();
    rows.sort_by_key(|row| row["name"].as_str().unwrap().to_owned());
    rows
}

#[test]
fn a_stopped_store_has_cold_copies_of_everything() {
    let world = used();
    let log = world.log("one");
    let id = rows(&world)[0]["id"].as_str().unwrap().to_owned();
    stop(&world);
    let names: Vec<_> = fs::read_dir(world.path("data/archive")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the deleted session's copy is gone: {names:?}");
    let copy = fs::read_to_string(world.path("data/archive").join(format!("{id}.jsonl"))).unwrap();
    assert_eq!(copy.lines().count(), log.len());
    for (line, seq) in copy.lines().zip(1..) {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], seq);
        assert!(line.ends_with("\"}") && line.contains(",\"crc\":\""), "{line}");
    }
}

#[test]
fn a_lost_or_damaged_database_comes_back_and_the_doctor_tells() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 3] = [
        ("deleted", |db| fs::remove_dir_all(db).unwrap()),
        ("zeroed end", |db| {
            let file = File::options().write(true).open(db.join("db")).unwrap();
            let len = file.metadata().unwrap().len();
            file.write_all_at(&vec![0; usize::try_from(len.min(64 * 1024)).unwrap()], len.saturating_sub(64 * 1024)).unwrap();
        }),
        ("cut in half", |db| {
            let file = File::options().write(true).open(db.join("db")).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let world = used();
        let (logs, listed) = (["one", "two"].map(|name| world.log(name)), rows(&world));
        let (well, report) = doctor(&world);
        assert_eq!(well.code, Some(0), "{what}: {report}");
        stop(&world);
        damage(&world.path("data/db"));
        assert_eq!(["one", "two"].map(|name| world.log(name)), logs, "{what}");
        assert_eq!(rows(&world), listed, "{what}");
        assert_eq!(world.agent(&["show", "gone"]).code, Some(6), "{what}: deleted stays deleted");
        let (done, report) = doctor(&world);
        let aside = fs::read_dir(world.path("data")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let aside = aside.filter(|name| name.starts_with("db.damaged-")).count();
        // A small database may survive a torn end: sled goes back to what it had flushed, and the journal brings the rest.
        if what == "deleted" || aside > 0 {
            assert_eq!(done.code, Some(1), "{what}: {report}");
            assert!(says(&report, "built anew"), "{what}: {report}");
            assert_eq!(aside, usize::from(what != "deleted"), "{what}");
        }
        let again = world.agent(&["run", "--session", "one", "--permission-mode", "bypassPermissions", "go on"]);
        assert!(again.code.is_some_and(|code| code < 2), "{what}: {again:?}");
    }
}

#[test]
fn a_database_lost_after_kill_9_comes_back_from_journal_and_cold_copies() {
    let world = used();
    stop(&world);
    // What comes now is in the journal only when the daemon is killed.
    assert_eq!(world.agent(&["rename", "two", "three"]).code, Some(0));
    let logs = ["one", "three"].map(|name| world.log(name));
    world.kill_daemon();
    fs::remove_dir_all(world.path("data/db")).unwrap();
    assert_eq!(["one", "three"].map(|name| world.log(name)), logs);
    assert_eq!(world.agent(&["show", "two"]).code, Some(6));
}

#[test]
fn rebuilding_at_will_loses_nothing_and_the_doctor_needs_no_daemon() {
    let world = used();
    let (logs, listed) = (["one", "two"].map(|name| world.log(name)), rows(&world));
    let rebuilt = world.agent(&["doctor", "--rebuild-store"]);
    assert_eq!(rebuilt.code, Some(0), "{rebuilt:?}");
    assert!(rebuilt.stdout.contains("built anew: 2 sessions") && rebuilt.stdout.contains("all is well"), "{rebuilt:?}");
    assert_eq!((["one", "two"].map(|name| world.log(name)), rows(&world)), (logs, listed));
    let (_, report) = doctor(&world);
    assert_eq!((&report["daemon"], &report["provider"]["name"]), (&"ready".into(), &"rehearsal".into()));
    stop(&world);
    let (done, report) = doctor(&world);
    assert_eq!((done.code, &report["daemon"]), (Some(0), &"not_running".into()), "{report}");
    let mut keyed = world.command(&["doctor"]);
    let keyed: Done = keyed.env("ANTHROPIC_API_KEY", "sk-test-secret").output().unwrap().into();
    assert!(keyed.stdout.contains("key from: ANTHROPIC_API_KEY") && !keyed.stdout.contains("secret"), "{keyed:?}");
    fs::create_dir(world.path("data/db.damaged-20260101T000000.000Z")).unwrap();
    let (done, report) = doctor(&world);
    assert!(done.code == Some(1) && says(&report, "db.damaged-20260101T000000.000Z"), "{report}");
}
