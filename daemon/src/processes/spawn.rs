//! Starting a tree under a shim, watching it, ending it. Dropping a tree ends it too, unconfirmed.

use std::process::Stdio;

use agentd_types::AbsPath;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::message::{Order, Report, Status};

/// How shims are started; a value.
#[derive(Debug, Clone)]
pub struct Shims {
    executable: AbsPath,
    locks: AbsPath,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Launch {
    pub program: String,
    pub args: Vec<String>,
    pub cwd: AbsPath,
    pub environment: Vec<(String, String)>,
}

/// Why nothing runs.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the folder {0} is gone; go to one that exists")]
    NoFolder(AbsPath),
    #[error("the shim {0} cannot be started: {1}")]
    Shim(AbsPath, std::io::Error),
    #[error("{program} cannot be started: {why}")]
    Program { program: String, why: String },
}

/// A running tree.
pub struct Tree {
    shim: Child,
    /// Closing it ends the tree.
    control: Option<ChildStdin>,
    output: Option<ChildStdout>,
    reports: Lines<BufReader<ChildStderr>>,
}

/// How the direct child ended, and who of its tree still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub status: Status,
    pub survivors: Vec<u32>,
}

impl Shims {
    #[must_use]
    pub fn new(executable: AbsPath, runtime_dir: AbsPath) -> Shims {
        Shims { executable, locks: runtime_dir.join("shims") }
    }

    /// Starts `launch`; returns when its program runs.
    ///
    /// # Errors
    /// [`SpawnError`]; nothing runs then.
    pub async fn launch(&self, launch: Launch) -> Result<Tree, SpawnError> {
        if !launch.cwd.as_path().is_dir() {
            return Err(SpawnError::NoFolder(launch.cwd));
        }
        let failed = |error| SpawnError::Shim(self.executable.clone(), error);
        let mut shim = Command::new(self.executable.as_path())
            .arg("__shim")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(mut control), Some(output), Some(reports)) = (shim.stdin.take(), shim.stdout.take(), shim.stderr.take()) else {
            return Err(failed(std::io::Error::other("its pipes are missing")));
        };
        let program = launch.program.clone();
        let order = Order {
            program: launch.program,
            args: launch.args,
            cwd: launch.cwd.to_string(),
            environment: launch.environment,
            locks: self.locks.to_string(),
        };
        let mut line = serde_json::to_vec(&order).map_err(|error| failed(std::io::Error::other(error)))?;
        line.push(b'\n');
        control.write_all(&line).await.map_err(failed)?;
        let mut tree = Tree { shim, control: Some(control), output: Some(output), reports: BufReader::new(reports).lines() };
        match tree.report().await {
            Some(Report::Started { .. }) => Ok(tree),
            Some(Report::Failed { why }) => Err(SpawnError::Program { program, why }),
            Some(Report::Exited { .. } | Report::Gone) | None => {
                Err(SpawnError::Program { program, why: "its shim ended at once".to_owned() })
            }
        }
    }
}

impl Tree {
    /// stdout and stderr of the tree, in one stream; once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.output.take()
    }

    /// The direct child's end. Cancel-safe. `None` when the shim itself was killed.
    pub async fn exited(&mut self) -> Option<Exit> {
        loop {
            match self.report().await? {
                Report::Exited { status, survivors } => return Some(Exit { status, survivors }),
                Report::Started { .. } | Report::Failed { .. } => {}
                Report::Gone => return None,
            }
        }
    }

    /// Ends the tree; returns when nobody of it is left: at once if it obeys TERM, after 2 s if it does not.
    pub async fn kill(&mut self) {
        self.control = None;
        while let Some(report) = self.report().await {
            if let Report::Gone = report {
                break;
            }
        }
        // The shim has nothing more to do.
        let _ = self.shim.wait().await;
    }

    async fn report(&mut self) -> Option<Report> {
        loop {
            let line = self.reports.next_line().await.ok().flatten()?;
            match serde_json::from_str(&line) {
                Ok(report) => return Some(report),
                Err(error) => tracing::warn!(line, %error, "a shim said something odd"),
            }
        }
    }
}
