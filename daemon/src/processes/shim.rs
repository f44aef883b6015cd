//! The shim: `agentd __shim`, a process of its own between daemon and tree. Single-threaded, no runtime.
//!
//! It is the subreaper of its tree, so nothing escapes it: whoever is orphaned becomes its child, and a shim without
//! children has nobody left. When told, asked by TERM, or when the daemon is gone (the pipe is closed), it ends the
//! whole tree: TERM, two seconds, KILL. What remains: a shim that is itself sent KILL cannot do so; the daemon, or the
//! next one, then ends those of the tree that did not leave its session (`sweep`).

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitOptions};

use super::message::{Failure, Holder, MAX_ORDER, MAX_PIDS, Order, Report, Status, line};
use super::proc::{self, Process, Table};
use super::signals::{self, Bell};

/// How long TERM has before KILL.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long KILL has before those it was sent to are reported.
const STUBBORN: Duration = Duration::from_millis(400);
/// Between two looks at a tree that is being ended: the first pause, and the longest.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_millis(100);

/// Runs one tree to its end. To be called before anything else of the process is set up.
#[must_use]
pub fn shim_main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            report(&Report::Failed { why });
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Failure> {
    signals::close_inherited();
    let order = read_order()?;
    let bell = signals::take_over()?;
    // Fails only for a group leader, and then nothing is lost.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let locked = Locked::take(Path::new(&order.locks))?;
    // A new daemon looks for locks once: one that comes later belongs to a shim that sees here that its daemon is gone.
    if !is_told(&bell) {
        order.limits.apply()?;
        let child = start(&order)?;
        report(&Report::Started { pid: child });
        Watch { child, bell, end: Direct::Runs, ending: None }.run();
    }
    drop(locked);
    report(&Report::Gone);
    Ok(())
}

/// Starts the direct child, in a group of its own: a `kill 0` in it does not reach us.
fn start(order: &Order) -> Result<u32, Failure> {
    std::env::set_current_dir(&order.cwd).map_err(|error| Failure::Folder { why: error.to_string() })?;
    // Copies that close in the child: one more end that it knows nothing of would keep the output open.
    let output = io::stdout();
    let started = Command::new(&order.program)
        .args(&order.args)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(output.as_fd().try_clone_to_owned()?)
        .stderr(output.as_fd().try_clone_to_owned()?)
        .process_group(0)
        .spawn();
    // The output's end must show when the tree closes it, and the folder must be free when the tree has left it.
    rustix::stdio::dup2_stdout(OpenOptions::new().write(true).open("/dev/null")?)?;
    std::env::set_current_dir("/")?;
    match started {
        // Not waited for by this handle: `reap` takes every status.
        Ok(child) => Ok(child.id()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::NotFound),
        Err(error) => Err(error.into()),
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Other { why: error.to_string() }
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Failure {
        io::Error::from(error).into()
    }
}

/// The direct child.
enum Direct {
    Runs,
    Ended(Status),
    Reported,
}

/// Who is left of the tree.
enum Left {
    Somebody,
    Nobody,
}

/// The tree, from its start to its end.
struct Watch {
    child: u32,
    bell: Bell,
    end: Direct,
    ending: Option<Ending>,
}

/// A tree that is being ended.
struct Ending {
    since: Instant,
    /// Who was sent TERM: once each.
    asked: Vec<Process>,
    pause: Duration,
    /// Whether those that survive KILL were reported.
    named: bool,
}

impl Watch {
    fn run(mut self) {
        loop {
            // Before reaping: who ends after this rings again.
            self.bell.silence();
            let left = self.reap();
            if let Direct::Ended(status) = self.end {
                let survivors = match left {
                    Left::Somebody => running(&Table::read()),
                    Left::Nobody => Vec::new(),
                };
                report(&Report::Exited { status, survivors });
                self.end = Direct::Reported;
            }
            match (left, &mut self.ending) {
                (Left::Nobody, _) => return,
                (Left::Somebody, Some(ending)) => {
                    ending.look();
                    wait(&mut [PollFd::new(self.bell.as_fd(), PollFlags::IN)], ending.pause());
                }
                (Left::Somebody, None) if is_told(&self.bell) => self.ending = Some(Ending::begin()),
                (Left::Somebody, None) => {
                    let control = io::stdin();
                    let _ = poll(&mut [PollFd::new(&control, PollFlags::IN), PollFd::new(self.bell.as_fd(), PollFlags::IN)], None);
                }
            }
        }
    }

    /// Takes the status of everybody that ended: the direct child, and orphans that came to us.
    fn reap(&mut self) -> Left {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if u32::try_from(pid.as_raw_nonzero().get()) == Ok(self.child) && matches!(self.end, Direct::Runs) {
                        let code = || Status::Code(status.exit_status().unwrap_or(-1));
                        self.end = Direct::Ended(status.terminating_signal().map_or_else(code, Status::Signal));
                    }
                }
                Err(rustix::io::Errno::CHILD) => return Left::Nobody,
                Err(rustix::io::Errno::INTR) => {}
                Ok(None) | Err(_) => return Left::Somebody,
            }
        }
    }
}

impl Ending {
    fn begin() -> Ending {
        Ending { since: Instant::now(), asked: Vec::new(), pause: FIRST_LOOK, named: false }
    }

    /// TERM to the tree; after two seconds KILL to whoever is there. Between, TERM to those that came since only once
    /// they are orphans: what a parent starts in order to clean up is his.
    fn look(&mut self) {
        let table = Table::read();
        let me = std::process::id();
        let late = self.since.elapsed().checked_sub(PATIENCE);
        let asked_now = if self.asked.is_empty() { table.descendants(me) } else { table.children(me) };
        for process in asked_now {
            if late.is_none() && !self.asked.contains(&process) {
                process.send(Signal::TERM);
                // A stopped one would not hear it.
                process.send(Signal::CONT);
                self.asked.push(process);
            }
        }
        if late.is_some() {
            table.descendants(me).iter().for_each(|process| process.send(Signal::KILL));
        }
        if late.is_some_and(|late| late >= STUBBORN) && !self.named {
            report(&Report::Stubborn { pids: running(&table) });
            self.named = true;
        }
    }

    /// Until the next look; longer each time, but KILL comes when it is due.
    fn pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(LAST_LOOK);
        match PATIENCE.checked_sub(self.since.elapsed()) {
            Some(rest) => pause.min(rest.max(FIRST_LOOK)),
            None => pause,
        }
    }
}

/// Who of our tree runs, as far as a report names them.
fn running(table: &Table) -> Vec<u32> {
    table.descendants(std::process::id()).iter().filter(|process| process.is_alive()).map(|process| process.pid).take(MAX_PIDS).collect()
}

/// Whether the tree is to be ended: a byte on the pipe, its end, or a signal.
fn is_told(bell: &Bell) -> bool {
    let control = io::stdin();
    let mut fds = [PollFd::new(&control, PollFlags::IN)];
    bell.asked() || (wait(&mut fds, Duration::ZERO) && !fds[0].revents().is_empty())
}

/// Waits at most `pause`. Interrupted is as good as woken: who waits looks anyway.
fn wait(fds: &mut [PollFd<'_>], pause: Duration) -> bool {
    let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) };
    poll(fds, Some(&pause)).is_ok_and(|ready| ready > 0)
}

fn read_order() -> Result<Order, Failure> {
    let mut line = Vec::new();
    let mut piece = [0; 64 * 1024];
    // Unbuffered, so that `poll` sees what is there; nothing follows the line before it was answered.
    let control = io::stdin();
    while line.last() != Some(&b'\n') {
        let bytes = match rustix::io::read(&control, &mut piece) {
            Ok(0) => return Err(Failure::Other { why: "the daemon went away".to_owned() }),
            Ok(bytes) => bytes,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        line.extend_from_slice(&piece[..bytes]);
        if line.len() > MAX_ORDER {
            return Err(Failure::Other { why: format!("arguments and environment are longer than {MAX_ORDER} bytes") });
        }
    }
    serde_json::from_slice(&line).map_err(|error| Failure::Other { why: error.to_string() })
}

/// Our lock file, held for life: a new daemon sees by it that this shim still is, and reads who it was if it was killed.
struct Locked {
    path: PathBuf,
    _file: File,
}

impl Locked {
    fn take(folder: &Path) -> io::Result<Locked> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(std::process::id().to_string());
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
        file.try_lock().map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        // A killed shim's file of the same pid may still be there.
        file.set_len(0)?;
        let started = Process::find(std::process::id()).map_or(0, |process| process.started);
        file.write_all(&line(&Holder { boot: proc::boot(), started }).map_err(io::Error::other)?)?;
        Ok(Locked { path, _file: file })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // While still locked: nobody mistakes it for a killed shim's.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The daemon may be gone; then nobody needs to know.
fn report(report: &Report) {
    if let Ok(line) = line(report) {
        let _ = io::stderr().write_all(&line);
    }
}
