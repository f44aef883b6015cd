//! Process trees and Bash through the built `agentd` as their shim. Nothing waits for time to pass, only for what happens.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentd::files::ReadCache;
use agentd::processes::{Exit, Killed, Launch, Leftovers, Limits, Reason, Shims, SpawnError, Status, Tree, end_leftovers};
use agentd::tools::bash::Bash;
use agentd::tools::bash::survivors::Survivors;
use agentd::tools::host::NoTasks;
use agentd::tools::tool::{CallContext, ContextChange, Tool, ToolContext, ToolFailure};
use agentd_core::permission::{Policy, Scope, Subject};
use agentd_tests::program::{binary, eventually};
use agentd_types::content::ResultPart;
use agentd_types::permission::PermissionMode;
use agentd_types::{AbsPath, Json, SessionId, ToolUseId};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

/// A folder to work in and one for locks.
struct Place {
    _dir: tempfile::TempDir,
    base: AbsPath,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let base = AbsPath::new(std::fs::canonicalize(dir.path()).unwrap()).unwrap();
        std::fs::create_dir(base.join("work").as_path()).unwrap();
        Place { _dir: dir, base }
    }

    fn shims(&self) -> Shims {
        Shims::new(AbsPath::new(binary("agentd")).unwrap(), self.base.clone())
    }

    fn work(&self) -> AbsPath {
        self.base.join("work")
    }

    fn launch(&self, command: &str) -> Launch {
        let environment = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
        Launch { program: "bash".into(), args: vec!["-c".into(), command.into()], cwd: self.work(), environment }
    }

    async fn tree(&self, command: &str) -> Tree {
        self.shims().launch(self.launch(command)).await.unwrap()
    }

    /// The pid that a command wrote into the file `name`.
    fn pid(&self, name: &str) -> u32 {
        let path = self.work().join(name);
        eventually(name, || std::fs::read_to_string(path.as_path()).ok().filter(|text| text.ends_with('\n'))?.trim().parse().ok())
    }

    fn locks(&self) -> usize {
        std::fs::read_dir(self.base.join("shims").as_path()).map_or(0, Iterator::count)
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn gone(pid: u32) {
    eventually("a process ends", || (!is_alive(pid)).then_some(()));
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

async fn output(tree: &mut Tree) -> String {
    let mut text = String::new();
    tree.take_output().unwrap().read_to_string(&mut text).await.unwrap();
    text
}

fn code(code: i32) -> Option<Exit> {
    Some(Exit { status: Status::Code(code), survivors: Vec::new() })
}

#[tokio::test(flavor = "multi_thread")]
async fn output_in_order_exit_codes_signals_and_nothing_left() {
    let place = Place::new();
    let mut tree = place.tree("echo a; echo b >&2; echo c; read x || echo closed; exit 7").await;
    assert_eq!(output(&mut tree).await, "a\nb\nc\nclosed\n");
    assert_eq!(tree.wait_child().await, code(7));
    tree.wait_gone().await;
    assert_eq!(place.locks(), 0);
    let mut tree = place.tree("kill -SEGV $$").await;
    assert_eq!(tree.wait_child().await, Some(Exit { status: Status::Signal(11), survivors: Vec::new() }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_sees_its_environment_alone_and_inherits_no_descriptor_signal_or_session() {
    let place = Place::new();
    let mut launch = place.launch(
        "env | sort; ls -l /proc/self/fd | grep -c pipe; grep -E 'SigBlk|SigIgn' /proc/self/status; ulimit -n; ps -o sid= -p $$; ps -o pgid= -p $$",
    );
    launch.environment.push(("ONLY".into(), "this = that".into()));
    let mut tree = place.shims().with_limits(Limits { open_files: 123 }).launch(launch).await.unwrap();
    let shim = tree.shim().unwrap();
    let environ = std::fs::read(format!("/proc/{shim}/environ"));
    let text = output(&mut tree).await;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(lines.contains(&"ONLY=this = that"), "{text}");
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| ["ONLY", "PATH", "PWD", "SHLVL", "_"].contains(name)), "{text}");
    let after = lines.iter().skip_while(|line| line.contains('=')).copied().collect::<Vec<_>>();
    let [pipes, blocked, ignored, files, session, group] = after[..] else { panic!("{text}") };
    // stdout and stderr of `ls`: its own stdout is the pipe to grep, its stderr the tree's.
    assert_eq!(pipes, "2");
    let set = |line: &str| u64::from_str_radix(line.split_once(':').unwrap().1.trim(), 16).unwrap();
    // Signals 32 and 33 are the C library's own: nobody can set them through it.
    assert_eq!((set(blocked), set(ignored) & !(3 << 31)), (0, 0), "{text}");
    assert_eq!(files, "123");
    assert_eq!(session, shim.to_string());
    // `kill 0` in a command must not reach the shim.
    assert_ne!(group, shim.to_string());
    // The shim's own is empty too: the daemon's keys are not to be read from it.
    assert!(environ.is_ok_and(|environ| environ.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_says_why() {
    let place = Place::new();
    let mut launch = place.launch("true");
    launch.cwd = place.base.join("gone");
    let error = place.shims().launch(launch).await.err().unwrap();
    assert!(matches!(&error, SpawnError::Folder { folder, .. } if *folder == place.base.join("gone")), "{error}");
    let mut launch = place.launch("true");
    launch.program = "no-such-program".into();
    assert!(matches!(place.shims().launch(launch).await.err().unwrap(), SpawnError::NotFound { program } if program == "no-such-program"));
    let mut launch = place.launch("true");
    launch.args = vec!["x".repeat(200_000)];
    assert!(matches!(place.shims().launch(launch).await.err().unwrap(), SpawnError::Program { .. }));
    let shims = Shims::new(place.base.join("no-agentd"), place.base.clone());
    let error = shims.launch(place.launch("true")).await.err().unwrap();
    assert!(error.to_string().contains("no-agentd"), "{error}");
    assert_eq!(place.locks(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grandchild_that_holds_the_output_holds_up_nothing_and_is_named() {
    let place = Place::new();
    let mut tree = place.tree("sleep 7200 & echo $! > pid; exit 3").await;
    let exit = tree.wait_child().await.unwrap();
    let pid = place.pid("pid");
    assert_eq!(exit, Exit { status: Status::Code(3), survivors: vec![pid] });
    assert!(is_alive(pid));
    assert_eq!(tree.kill(Reason::Cancelled).await, Killed::Gone);
    assert!(!is_alive(pid));
    assert_eq!(place.locks(), 0);
}

/// Leaves its session, its group and its parents, as daemons do.
const DAEMONISED: &str = "setsid bash -c 'setsid bash -c \"echo \\$\\$ > pid; exec sleep 7200\" </dev/null >/dev/null 2>&1 & exit' & wait";

#[tokio::test(flavor = "multi_thread")]
async fn a_daemonised_child_ends_with_its_tree() {
    let place = Place::new();
    let mut tree = place.tree(&format!("{DAEMONISED}; exit 0")).await;
    let pid = place.pid("pid");
    assert_eq!(tree.wait_child().await, Some(Exit { status: Status::Code(0), survivors: vec![pid] }));
    assert_eq!(tree.kill(Reason::Cancelled).await, Killed::Gone);
    assert!(!is_alive(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_ignores_term_or_is_stopped_ends_too() {
    let place = Place::new();
    let stubborn =
        "trap '' TERM; (trap '' TERM; echo $BASHPID > inner; while :; do sleep 7200; done) & echo $$ > outer; wait; wait; sleep 7200";
    let mut tree = place.tree(stubborn).await;
    let (outer, inner) = (place.pid("outer"), place.pid("inner"));
    assert_eq!(tree.kill(Reason::Cancelled).await, Killed::Gone);
    assert!(!is_alive(outer) && !is_alive(inner));

    let mut tree = place.tree("echo $$ > stopped; exec sleep 7200").await;
    let pid = place.pid("stopped");
    send(pid, Signal::STOP);
    send(tree.shim().unwrap(), Signal::STOP);
    assert_eq!(tree.kill(Reason::Cancelled).await, Killed::Gone);
    assert!(!is_alive(pid));
    assert_eq!(place.locks(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_tree_ends_it() {
    let place = Place::new();
    let tree = place.tree(DAEMONISED).await;
    let pid = place.pid("pid");
    drop(tree);
    gone(pid);
    eventually("the lock goes", || (place.locks() == 0).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_reaped_while_the_command_runs() {
    let place = Place::new();
    let mut tree = place.tree("for i in 1 2 3 4 5; do (true & ) ; done; echo x > ready; exec sleep 7200").await;
    let shim = tree.shim().unwrap();
    let ready = place.work().join("ready");
    eventually("it is ready", || ready.as_path().exists().then_some(()));
    let children = format!("/proc/{shim}/task/{shim}/children");
    eventually("one child is left", || {
        let children = std::fs::read_to_string(&children).unwrap();
        (children.split_whitespace().count() == 1).then_some(())
    });
    assert_eq!(tree.kill(Reason::Cancelled).await, Killed::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_shim_is_noticed_and_its_session_ended() {
    let place = Place::new();
    let mut tree = place.tree("sleep 7200 & echo $! > pid; wait").await;
    let pid = place.pid("pid");
    send(tree.shim().unwrap(), Signal::KILL);
    assert_eq!(tree.wait_child().await, None);
    assert_eq!(tree.kill(Reason::Lost).await, Killed::Gone);
    assert!(!is_alive(pid));
}

/// Two shims whose daemon side is gone without their noticing: their pipes' other ends live on in nobody they know.
fn orphaned_shim(place: &Place, command: &str) -> std::process::Child {
    let order = serde_json::json!({
        "program": "bash", "args": ["-c", command], "cwd": place.work(), "limits": { "open_files": 256 },
        "environment": [["PATH", std::env::var("PATH").unwrap()]], "locks": place.base.join("shims"),
    });
    let mut shim = std::process::Command::new(binary("agentd"))
        .arg("__shim")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    use std::io::Write;
    writeln!(shim.stdin.as_mut().unwrap(), "{order}").unwrap();
    shim
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_are_ended_whether_their_shims_obey_hang_or_are_dead() {
    let place = Place::new();
    let mut obeys = orphaned_shim(&place, "echo $$ > one; exec sleep 7200");
    let mut dead = orphaned_shim(&place, "echo $$ > two; exec sleep 7200");
    let pids = [place.pid("one"), place.pid("two")];
    dead.kill().unwrap();
    dead.wait().unwrap();
    assert!(is_alive(pids[1]));
    let done = end_leftovers(&place.base).await;
    assert_eq!(done, Leftovers { ended: vec![obeys.id()], stale: vec![dead.id()], ..Leftovers::default() });
    assert!(!pids.into_iter().any(is_alive));
    assert_eq!(place.locks(), 0);
    assert!(obeys.wait().unwrap().success());
    assert_eq!(end_leftovers(&place.base).await, Leftovers::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shim_whose_daemon_went_before_it_began_starts_nothing() {
    let place = Place::new();
    let mut shim = orphaned_shim(&place, "echo $$ > pid; exec sleep 7200");
    // The order is in the pipe, and nobody is behind it: either it was not started, or it is ended.
    drop(shim.stdin.take());
    assert!(shim.wait().unwrap().success());
    let started = std::fs::read_to_string(place.work().join("pid").as_path()).ok().and_then(|pid| pid.trim().parse().ok());
    assert!(started.is_none_or(|pid| !is_alive(pid)));
    assert_eq!(place.locks(), 0);
}

/// One call of Bash.
struct Call {
    bash: Arc<Bash>,
    survivors: Survivors,
    context: ToolContext,
    cancel: CancellationToken,
    progress: Mutex<String>,
}

struct Told {
    is_error: bool,
    text: String,
    changes: Vec<ContextChange>,
}

impl Call {
    fn new(place: &Place) -> Call {
        let path = std::env::var("PATH").unwrap();
        let context = ToolContext {
            session: SessionId::from_u128(1),
            cwd: place.work(),
            allowed: [place.work()].into(),
            environment: [("PATH".to_owned(), path), ("ANTHROPIC_API_KEY".to_owned(), "secret".to_owned())].into(),
            outputs: place.base.join("outputs"),
            read_cache: ReadCache::default(),
        };
        let survivors = Survivors::default();
        let bash = Arc::new(Bash::new(place.shims(), survivors.clone()));
        Call { bash, survivors, context, cancel: CancellationToken::new(), progress: Mutex::default() }
    }

    async fn run(&self, command: &str) -> Told {
        self.run_with(serde_json::json!({ "command": command })).await
    }

    async fn run_with(&self, input: serde_json::Value) -> Told {
        let input = Json::of(&input).unwrap();
        let progress = |text: String| self.progress.lock().unwrap().push_str(&text);
        let id = ToolUseId::new("toolu_1");
        let scope = Scope { cwd: self.context.cwd.clone(), allowed: Vec::new(), home: None, protected: Vec::new() };
        let policy = Policy { mode: PermissionMode::Default, allow: Vec::new(), deny: Vec::new(), ask: Vec::new(), scope };
        let tasks = NoTasks::default();
        let call = CallContext {
            id: &id,
            context: &self.context,
            subject: &Subject::Other,
            policy: &policy,
            progress: &progress,
            cancel: self.cancel.clone(),
            tasks: &tasks,
        };
        match self.bash.call(&input, call).await {
            Ok(output) => {
                let texts = output.content.iter().map(|part| match part {
                    ResultPart::Text { text } => text.as_str(),
                    other => panic!("{other:?}"),
                });
                Told { is_error: false, text: texts.collect(), changes: output.changes }
            }
            Err(ToolFailure::TellModel(text)) => Told { is_error: true, text, changes: Vec::new() },
            Err(ToolFailure::Failed { text, changes }) => Told { is_error: true, text, changes },
            Err(ToolFailure::EndSubmission(failure)) => panic!("{failure:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_tells_success_failure_and_answers_apart() {
    let place = Place::new();
    let call = Call::new(&place);
    for (command, is_error, text) in [
        ("echo hello", false, "hello"),
        ("true", false, "(no output)"),
        ("echo out; echo err >&2; exit 4", true, "exit code 4\nout\nerr"),
        ("kill -KILL $$", true, "ended by SIGKILL (signal 9)"),
        ("bash -c 'kill -SEGV $$' 2>/dev/null", true, "exit code 139 (128 + 11: SIGSEGV)"),
        ("grep -E 'a|b' /dev/null", false, "exit code 1"),
        ("grep x /no/such 2>/dev/null", true, "exit code 2"),
        ("echo $#-$0-$ANTHROPIC_API_KEY", false, "0-bash-"),
        ("read x; echo $?", false, "1"),
        ("if", true, "exit code "),
    ] {
        let told = call.run(command).await;
        assert!(told.is_error == is_error && told.text.starts_with(text), "{command}: {}", told.text);
    }
    eventually("no shim is left", || (place.locks() == 0).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_keeps_its_folder_inside_the_allowed_ones() {
    let place = Place::new();
    let mut call = Call::new(&place);
    let sub = place.work().join("sub");
    let told = call.run("mkdir sub && cd sub").await;
    assert_eq!((told.is_error, told.changes), (false, vec![ContextChange::Cwd(sub.clone())]));
    // A failed command has moved as well, and so has one that ends by itself.
    let told = call.run("cd sub; exit 5").await;
    assert_eq!((told.is_error, told.changes), (true, vec![ContextChange::Cwd(sub.clone())]));
    let told = call.run("cd /").await;
    assert_eq!((told.text, told.changes), (format!("(no output)\nShell cwd was reset to {}", place.work()), Vec::new()));
    let told = call.run("(cd sub); pwd").await;
    assert_eq!((told.text, told.changes), (place.work().to_string(), Vec::new()));
    // Only what the shell itself wrote counts.
    let told = call.run("rm \"$__agentd_cwd\"; mkfifo \"$__agentd_cwd\"; trap - EXIT; cd sub").await;
    assert_eq!((told.is_error, told.changes), (false, Vec::new()));
    call.context.cwd = place.work().join("removed");
    let told = call.run("echo never").await;
    assert!(told.is_error && told.text.contains("removed cannot be entered") && told.text.contains("nothing was run"), "{}", told.text);
    assert_eq!(told.changes, [ContextChange::Cwd(place.work())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_ends_the_whole_tree_on_a_timeout() {
    let place = Place::new();
    let call = Call::new(&place);
    let command = format!("echo before; {DAEMONISED}; cat pid; sleep 7200");
    let told = call.run_with(serde_json::json!({ "command": command, "timeout": 1500 })).await;
    assert!(told.is_error && told.text.starts_with("timed out after 1.5 s\nbefore"), "{}", told.text);
    assert!(!is_alive(place.pid("pid")));
    let told = call.run_with(serde_json::json!({ "command": "sleep 7200", "timeout": 1000 })).await;
    assert_eq!(told.text, "timed out after 1 s");
    assert_eq!(place.locks(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_ends_the_whole_tree_on_a_cancel_and_keeps_its_last_words() {
    let place = Place::new();
    let call = Call::new(&place);
    let cancel = call.cancel.clone();
    // More last words than a pipe holds, said by children that the handler starts: they are not asked to end.
    let command = "trap 'head -c 300000 /dev/zero | tr \"\\0\" y; echo bye; exit' TERM; echo $$ > pid; while :; do sleep 7200 & wait; done";
    let running = tokio::spawn(async move { call.run(command).await });
    let pid = place.pid("pid");
    cancel.cancel();
    let told = running.await.unwrap();
    assert!(told.is_error && told.text.starts_with("interrupted; everything it had started was ended\nyyy"), "{}", &told.text[..80]);
    assert!(told.text.ends_with("bye") && !is_alive(pid), "{}", &told.text[told.text.len() - 80..]);
    assert_eq!(place.locks(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_names_survivors_and_lets_them_print() {
    let place = Place::new();
    let call = Call::new(&place);
    let told =
        call.run("(for i in $(seq 5000); do echo noise; done; echo done > done; exec sleep 7200) & echo $! > pid; echo started").await;
    let pid = place.pid("pid");
    assert!(!told.is_error && told.text.contains("started"), "{}", told.text);
    // Whatever else of it ran at that moment is named too.
    let named: Vec<&str> = told.text.rsplit_once("\nstill running: pid ").unwrap().1.split(", ").collect();
    assert!(named.contains(&pid.to_string().as_str()), "{named:?}");
    let done = place.work().join("done");
    eventually("it prints to its end", || done.as_path().exists().then_some(()));
    assert!(is_alive(pid));
    // Another call's end leaves it alone.
    call.cancel.cancel();
    assert!(call.run("true").await.is_error);
    assert!(is_alive(pid));
    drop(call);
    gone(pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_survivor_that_prints_for_ever_holds_up_nothing() {
    let place = Place::new();
    let call = Call::new(&place);
    let told = tokio::time::timeout(Duration::from_secs(60), call.run("yes & echo $! > pid")).await.unwrap();
    assert!(!told.is_error && told.text.contains("still running: pid "), "{}", told.text.len());
    assert!(is_alive(place.pid("pid")));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_grandchild_holds_the_call_ends_and_names_it() {
    let place = Place::new();
    let call = Call::new(&place);
    for held in ["", ">/dev/null", "2>/dev/null", ">/dev/null 2>&1", "</dev/null", ">&2 2>&-", ">&- 2>&-"] {
        let told = tokio::time::timeout(Duration::from_secs(60), call.run(&format!("sleep 7200 {held} & echo $! > pid; echo out"))).await;
        let (told, pid) = (told.unwrap(), place.pid("pid"));
        assert!(!told.is_error && told.text == format!("out\nstill running: pid {pid}"), "{held}: {}", told.text);
        std::fs::remove_file(place.work().join("pid").as_path()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_without_end_is_bounded_and_ended() {
    let place = Place::new();
    let call = Call::new(&place);
    let before = resident_kib();
    let told = call.run_with(serde_json::json!({ "command": "yes $'\\377'", "timeout": 2000 })).await;
    let grown = resident_kib() - before;
    assert!(told.is_error && told.text.starts_with("timed out after 2 s\n\u{fffd}\n") && told.text.len() < 31_000, "{}", told.text.len());
    assert!(grown < 32 * 1024, "{grown} KiB more");
    let file = place.base.join("outputs").join("toolu_1.txt");
    assert!(std::fs::metadata(file.as_path()).unwrap().len() <= 64 * 1024 * 1024);
    assert_eq!(place.locks(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_a_command_removes_under_itself_is_named_by_the_next() {
    let place = Place::new();
    let mut call = Call::new(&place);
    let sub = place.work().join("sub");
    assert_eq!(call.run("mkdir sub; cd sub").await.changes, [ContextChange::Cwd(sub.clone())]);
    call.context.cwd = sub.clone();
    let told = call.run("rmdir ../sub; echo gone").await;
    assert!(!told.is_error && told.text.starts_with("gone") && told.changes.is_empty(), "{}", told.text);
    let told = call.run("echo never").await;
    assert!(told.is_error && told.text.contains(&format!("the folder {sub} cannot be entered")), "{}", told.text);
    assert_eq!(told.changes, [ContextChange::Cwd(place.work())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn survivors_are_their_sessions_and_end_with_it() {
    let place = Place::new();
    let mut call = Call::new(&place);
    assert!(!call.run("trap '' TERM; (sleep 7200; true) & echo $! > pid").await.is_error);
    let mine = place.pid("pid");
    call.context.session = SessionId::from_u128(2);
    assert!(!call.run("sleep 7200 & echo $! > other").await.is_error);
    let other = place.pid("other");
    call.survivors.end(SessionId::from_u128(1)).await;
    assert!(!is_alive(mine) && is_alive(other));
    call.survivors.end(SessionId::from_u128(1)).await;
    call.survivors.end(SessionId::from_u128(2)).await;
    assert!(!is_alive(other));
    eventually("no shim is left", || (place.locks() == 0).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_survivors_are_bounded() {
    let place = Place::new();
    let call = Call::new(&place);
    for at in 0..34 {
        assert!(!call.run(&format!("sleep 7200 & echo $! > pid{at}")).await.is_error);
    }
    gone(place.pid("pid0"));
    gone(place.pid("pid1"));
    assert!(is_alive(place.pid("pid2")) && is_alive(place.pid("pid33")));
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_200_mb_and_bytes_that_are_no_text_stay_bounded() {
    let place = Place::new();
    let call = Call::new(&place);
    let before = resident_kib();
    let told = call.run("head -c 200000000 /dev/zero | tr '\\0' x; printf '\\377\\376\\0end'").await;
    let grown = resident_kib() - before;
    assert!(!told.is_error && told.text.len() < 31_000, "{}", told.text.len());
    assert!(told.text.contains("bytes left out; the first 67108864 bytes of it are in "), "{}", &told.text[14_900..15_300]);
    assert!(told.text.ends_with("xxx\u{fffd}\u{fffd}\u{fffd}end"));
    assert!(grown < 32 * 1024, "{grown} KiB more");
    let file = place.base.join("outputs").join("toolu_1.txt");
    assert_eq!(std::fs::metadata(file.as_path()).unwrap().len(), 64 * 1024 * 1024);
    assert!(Path::is_file(file.as_path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_while_it_runs_in_whole_characters() {
    let place = Place::new();
    let call = Arc::new(Call::new(&place));
    let running = tokio::spawn({
        let call = Arc::clone(&call);
        // Half a character, then the other half once the first piece was read.
        async move { call.run("mkfifo go; printf 'h\\303'; read line < go; printf '\\251 done'").await }
    });
    eventually("the first piece", || (*call.progress.lock().unwrap() == "h").then_some(()));
    std::fs::write(place.work().join("go").as_path(), "on\n").unwrap();
    assert_eq!(running.await.unwrap().text, "hé done");
    assert_eq!(*call.progress.lock().unwrap(), "hé done");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_bash_it_is_run_by_sh_and_says_so() {
    let place = Place::new();
    let bin = place.base.join("bin");
    std::fs::create_dir(bin.as_path()).unwrap();
    let sh = std::fs::canonicalize("/bin/sh").unwrap();
    std::os::unix::fs::symlink(sh, bin.join("sh").as_path()).unwrap();
    let mut call = Call::new(&place);
    call.context.environment = [("PATH".to_owned(), bin.to_string())].into();
    let told = call.run("echo hello; cd /; exit 0").await;
    let expected = format!("(there is no bash on the session's PATH: run by sh)\nhello\nShell cwd was reset to {}", place.work());
    assert_eq!((told.is_error, told.text), (false, expected));
    std::fs::remove_file(bin.join("sh").as_path()).unwrap();
    let told = call.run("echo hello").await;
    assert!(told.is_error && told.text.contains("there is no program `sh` on the session's PATH"), "{}", told.text);
}
