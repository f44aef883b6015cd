//! Why a daemon does not start is told, and soon.

use std::os::unix::fs::PermissionsExt;

use agentd_types::AbsPath;

use super::*;

fn place(folder: &Path) -> Layout {
    let path = |name: &str| AbsPath::new(folder.join(name)).expect("a path");
    Layout { socket: path("run/s.sock"), data_dir: path("data"), settings: path("settings.json") }
}

/// A program that stands in for the daemon.
fn stand_in(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("stand-in");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

async fn failure(folder: &Path, program: &Path) -> ClientError {
    begin(&place(folder), "test", program).await.err().expect("no daemon")
}

#[tokio::test]
async fn what_it_said_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stand_in(folder.path(), "echo \"settings.json: line 3: no such model\" >&2; exit 7");
    let error = failure(folder.path(), &program).await;
    assert_eq!(error.kind, Kind::CannotStart);
    assert!(error.message.contains("settings.json: line 3: no such model") && error.message.contains("exit status: 7"), "{error}");
}

#[tokio::test]
async fn it_is_told_where_everything_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = failure(folder.path(), &stand_in(folder.path(), "echo \"$@\" >&2; exit 1")).await;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let told = format!("--foreground --socket {} --data-dir {} --config {}", at("run/s.sock"), at("data"), at("settings.json"));
    assert!(error.message.contains(&told), "{error}");
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = failure(folder.path(), &folder.path().join("nothing")).await;
    assert!(error.kind == Kind::CannotStart && error.message.contains("nothing cannot be started"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_one_is_waited_for_within_the_bound_and_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stand_in(folder.path(), "echo $$ > pid 2>/dev/null; exec sleep 60");
    let error = failure(folder.path(), &program).await;
    assert!(error.message.contains("is left running; it said:\n(nothing)"), "{error}");
    let pid = error.message.split("(pid ").nth(1).and_then(|rest| rest.split(')').next()).expect("a pid");
    let ended = Command::new("kill").arg(pid).status().expect("kill");
    assert!(ended.success(), "it was not left running");
}

#[tokio::test]
async fn never_means_never() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = ensure(&place(folder.path()), "test", Start::Never).await.err().expect("no daemon");
    assert_eq!((error.kind, error.hints.len()), (Kind::Unreachable, 1));
    assert!(!folder.path().join("run").exists(), "nothing is made");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("run"), "a file").expect("written");
    let error = failure(folder.path(), Path::new("/bin/true")).await;
    assert!(error.message.contains("the socket's folder") && error.message.contains("run"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_starter_that_hangs_is_not_waited_for_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = place(folder.path());
    let held = startup_lock(&place).await.expect("the lock");
    let error = startup_lock(&place).await.expect_err("it is held");
    assert!(error.message.contains("another client has held"), "{error}");
    drop(held);
    startup_lock(&place).await.expect("free again");
}
