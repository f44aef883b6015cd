//! A running tree as the daemon holds it: its output, its end. Dropping one ends it too, unconfirmed.

use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::message::{MAX_REPORT, Report, Status};
use super::proc::Process;
use super::sweep::sweep;

/// How long a shim has to say that its tree is gone, or who is left: TERM's 2 s, KILL, and enough for a slow machine.
const CONFIRM: Duration = Duration::from_secs(5);

/// A running tree.
pub struct Tree {
    shim: Child,
    /// The shim, told apart from a later process of its pid.
    identity: Option<Process>,
    /// Closing it ends the tree.
    control: Option<ChildStdin>,
    output: Option<ChildStdout>,
    reports: Reports,
    phase: Phase,
}

/// How far a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Runs,
    /// The shim said that nobody is left.
    Gone,
    /// The shim ended without saying so.
    Lost,
}

/// How the direct child ended, and who of its tree still runs (64 at most are named).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub status: Status,
    pub survivors: Vec<u32>,
}

/// Why a tree is ended; for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It did not start in time.
    NotStarted,
    TimedOut,
    Cancelled,
    /// Its shim was killed.
    Lost,
    /// Others took its place.
    TooMany,
    /// The session it belongs to is no more.
    SessionDeleted,
}

/// What became of a tree that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Killed {
    /// Nobody of it is left.
    Gone,
    /// These are still there (another user's, or stuck in the kernel); their shim goes on trying.
    Stubborn { pids: Vec<u32> },
}

impl Tree {
    pub(super) fn new(shim: Child, control: ChildStdin, output: ChildStdout, reports: ChildStderr) -> Tree {
        let identity = shim.id().and_then(Process::find);
        Tree { shim, identity, control: Some(control), output: Some(output), reports: Reports::new(reports), phase: Phase::Runs }
    }

    /// The shim's pid; `None` when it has ended.
    #[must_use]
    pub fn shim(&self) -> Option<u32> {
        self.shim.id()
    }

    /// stdout and stderr of the tree, in one stream; once. A tree whose output is dropped gets SIGPIPE when it prints.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.output.take()
    }

    /// The direct child's end, whoever still holds its output. Cancel-safe. `None` when the shim itself was killed.
    pub async fn wait_child(&mut self) -> Option<Exit> {
        loop {
            match self.report().await? {
                Report::Exited { status, survivors } => return Some(Exit { status, survivors }),
                Report::Started { .. } | Report::Failed { .. } | Report::Stubborn { .. } => {}
                Report::Gone => return None,
            }
        }
    }

    /// Until nobody of it is left by himself, or the shim is. Cancel-safe.
    pub async fn wait_gone(&mut self) {
        while let Phase::Runs = self.phase {
            let _ = self.report().await;
        }
    }

    /// Ends the tree; returns when nobody of it is left: at once if it obeys TERM, after 2 s if it does not.
    /// Within 6 s in any case, then with who is left.
    pub async fn kill(&mut self, reason: Reason) -> Killed {
        tracing::debug!(shim = self.shim.id(), ?reason, "a tree is ended");
        self.control = None;
        // A tool may have stopped its shim. Its pid is nobody else's until `wait` below.
        if let Some(shim) = self.identity {
            shim.send(Signal::CONT);
        }
        let said = tokio::time::timeout(CONFIRM, self.last_word()).await;
        let killed = match said {
            Ok(Some(killed)) => killed,
            // It was killed, or does not move: what can be found of its tree is ended from here.
            Ok(None) | Err(_) => match self.identity {
                Some(shim) => sweep(shim).await,
                None => Killed::Gone,
            },
        };
        if let Killed::Gone = killed {
            // It has nothing more to do.
            let _ = tokio::time::timeout(CONFIRM, self.shim.wait()).await;
        }
        killed
    }

    /// What the shim says of the end; `None` when it says nothing any more.
    async fn last_word(&mut self) -> Option<Killed> {
        loop {
            match self.phase {
                Phase::Gone => return Some(Killed::Gone),
                Phase::Lost => return None,
                Phase::Runs => {}
            }
            if let Some(Report::Stubborn { pids }) = self.report().await {
                return Some(Killed::Stubborn { pids });
            }
        }
    }

    /// The next report. Cancel-safe.
    pub(super) async fn report(&mut self) -> Option<Report> {
        let report = self.reports.next().await;
        match report {
            Some(Report::Gone) => self.phase = Phase::Gone,
            None if self.phase == Phase::Runs => self.phase = Phase::Lost,
            Some(_) | None => {}
        }
        report
    }
}

/// The reports as they come; bounded, whoever else writes into the pipe.
struct Reports {
    pipe: ChildStderr,
    read: Vec<u8>,
}

impl Reports {
    fn new(pipe: ChildStderr) -> Reports {
        Reports { pipe, read: Vec::new() }
    }

    async fn next(&mut self) -> Option<Report> {
        loop {
            while let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(report) => return Some(report),
                    Err(error) => tracing::warn!(line = %String::from_utf8_lossy(&line).trim_end(), %error, "a shim said something odd"),
                }
            }
            if self.read.len() > MAX_REPORT {
                tracing::warn!("a shim's report is too long: passed over");
                self.read.clear();
            }
            // Cancel-safe: what was read is in the buffer.
            if self.pipe.read_buf(&mut self.read).await.ok()? == 0 {
                return None;
            }
        }
    }
}
