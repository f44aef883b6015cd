//! The shim: `agentd __shim`, a process of its own between daemon and tree. Single-threaded, no runtime.
//!
//! It is the subreaper of its tree, so nothing escapes it: whoever is orphaned becomes its child. When told, or when
//! the daemon is gone, it ends the whole tree: TERM, two seconds, KILL.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::descent::descendants;
use super::message::{Order, Report, Status};

/// How long TERM has before KILL.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at a tree that is being ended, or whose child has ended.
const LOOK: Duration = Duration::from_millis(10);
const LOOK_AT_SURVIVORS: Duration = Duration::from_millis(100);
/// Bytes of the order at most.
const MAX_ORDER: usize = 16 * 1024 * 1024;

/// Runs one tree to its end.
#[must_use]
pub fn shim_main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&Report::Failed { why: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let order = read_order()?;
    // Held for life: a new daemon sees by it that this shim still is.
    let (_lock, lock_path) = lock(Path::new(&order.locks))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // Fails only for a group leader, and then nothing is lost.
    let _ = rustix::process::setsid();
    let ended = run(&order);
    let _ = std::fs::remove_file(lock_path);
    report(&Report::Gone);
    ended
}

fn run(order: &Order) -> io::Result<()> {
    let output = io::stdout();
    let mut child = Command::new(&order.program)
        .args(&order.args)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(order.environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(rustix::io::dup(&output)?)
        .stderr(rustix::io::dup(&output)?)
        .spawn()?;
    // The output's end must show when the tree closes it, not when we end.
    rustix::stdio::dup2_stdout(OpenOptions::new().write(true).open("/dev/null")?)?;
    report(&Report::Started { pid: child.id() });
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("no pid"))?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&pidfd, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let (told, ended) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if ended {
            break;
        }
        if told {
            end_tree();
            break;
        }
    }
    let status = child.wait()?;
    let status = status.signal().map_or_else(|| Status::Code(status.code().unwrap_or(-1)), Status::Signal);
    reap();
    report(&Report::Exited { status, survivors: descendants(std::process::id()) });
    outlive_survivors();
    Ok(())
}

/// Waits until everybody is gone by himself, or ends them when told.
fn outlive_survivors() {
    while !descendants(std::process::id()).is_empty() {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_AT_SURVIVORS.subsec_nanos()) };
        if poll(&mut fds, Some(&pause)).is_ok() && !fds[0].revents().is_empty() {
            end_tree();
            return;
        }
        reap();
    }
}

/// TERM to all, two seconds, KILL to those that are left, until nobody is.
fn end_tree() {
    let since = Instant::now();
    let mut told: Vec<u32> = Vec::new();
    loop {
        let tree = descendants(std::process::id());
        if tree.is_empty() {
            return;
        }
        let overdue = since.elapsed() >= PATIENCE;
        for pid in &tree {
            let Some(target) = i32::try_from(*pid).ok().and_then(Pid::from_raw) else { continue };
            if overdue {
                let _ = rustix::process::kill_process(target, Signal::KILL);
            } else if !told.contains(pid) {
                let _ = rustix::process::kill_process(target, Signal::TERM);
                told.push(*pid);
            }
        }
        // Nobody is reaped here: the direct child's status is `wait`'s, and zombies do not count.
        let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        let _ = poll(&mut [], Some(&pause));
    }
}

/// Orphans that came to us and ended. The direct child's status is taken by `wait` alone.
fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

fn read_order() -> io::Result<Order> {
    let mut line = Vec::new();
    let mut byte = [0];
    let mut stdin = io::stdin().lock();
    // Byte by byte: what follows the line belongs to `poll`.
    while stdin.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
        if line.len() > MAX_ORDER {
            return Err(io::Error::other("the order is too long"));
        }
    }
    serde_json::from_slice(&line).map_err(io::Error::other)
}

fn lock(folder: &Path) -> io::Result<(File, PathBuf)> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(std::process::id().to_string());
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
    file.try_lock().map_err(|error| io::Error::other(error.to_string()))?;
    Ok((file, path))
}

/// The daemon may be gone; then nobody needs to know.
fn report(report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let _ = io::stderr().write_all(&line);
    }
}
