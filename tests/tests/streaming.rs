//! Calls that run while the model still streams, through the real binaries.

use std::mem::MaybeUninit;
use std::process::Stdio;

use agentd_tests::model::{Gate, Stub, calls_all, says};
use agentd_tests::program::{World, eventually};
use rustix::fs::inotify;
use serde_json::json;

/// The answer's end is held back until the kernel says that the file was read: a daemon that reads it only after the end
/// never gets there.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_starts_before_the_message_ends_and_its_result_comes_after_the_message() {
    let gate = Gate::default();
    let two = [("Read", json!({"file_path": "a.txt"})), ("Bash", json!({"command": "echo b >> a.txt"}))];
    let stub = Stub::start([calls_all(two).ends_behind(&gate), says("Done.")]).await;
    let world = World::new(Some(stub.base_url()));
    let file = world.work().join("a.txt");
    std::fs::write(&file, "alpha\n").unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &file, inotify::WatchFlags::ACCESS | inotify::WatchFlags::MODIFY).unwrap();

    let args = ["run", "--name", "s", "go", "--permission-mode", "bypassPermissions", "--output-format", "json"];
    let run = world.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let first = eventually("the file is read", || inotify::Reader::new(&watch, &mut buffer).next().ok().map(|event| event.events()));
    assert!(first.contains(inotify::ReadFlags::ACCESS), "a call with effects ran while the model streamed: {first:?}");
    gate.open();
    let done = run.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let kinds: Vec<String> = world.log("s").iter().filter_map(|event| event["type"].as_str().map(str::to_owned)).collect();
    let said = kinds.iter().position(|kind| kind == "assistant").unwrap();
    assert_eq!(kinds.iter().filter(|kind| *kind == "user").count(), 3);
    assert!(kinds.iter().rposition(|kind| kind == "user").unwrap() > said);
    assert_eq!(kinds[..said].iter().filter(|kind| *kind == "user").count(), 1, "only the prompt stands before the message: {kinds:?}");
    stub.finish();
}
