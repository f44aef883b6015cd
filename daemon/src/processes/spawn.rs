//! Starting a tree under a shim. The daemon's only children are shims; stdin of a tree is /dev/null.

use std::process::Stdio;
use std::time::Duration;

use agentd_types::AbsPath;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::limits::Limits;
use super::message::{Failure, Order, Report, line};
use super::tree::{Reason, Tree};

/// How long a start may take: a folder on a file system that hangs must not hold up an interrupt for ever.
const START: Duration = Duration::from_secs(10);

/// How shims are started; a value.
#[derive(Debug, Clone)]
pub struct Shims {
    executable: AbsPath,
    locks: AbsPath,
    limits: Limits,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Launch {
    /// A name looked up in the environment's PATH, or a path.
    pub program: String,
    pub args: Vec<String>,
    pub cwd: AbsPath,
    /// All of it: nothing is inherited.
    pub environment: Vec<(String, String)>,
}

/// Why nothing runs.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the folder {folder} cannot be entered ({why}); go to one that exists")]
    Folder { folder: AbsPath, why: String },
    #[error("there is no program `{program}` on the session's PATH; install it, or set PATH in the session's environment")]
    NotFound { program: String },
    #[error("{program} cannot be started: {why}")]
    Program { program: String, why: String },
    #[error("the shim {0} cannot be started: {1}")]
    Shim(AbsPath, std::io::Error),
}

impl Shims {
    /// `executable` answers to `__shim`; lock files go below `runtime_dir`. Trees get the limits this process has now.
    #[must_use]
    pub fn new(executable: AbsPath, runtime_dir: AbsPath) -> Shims {
        Shims { executable, locks: runtime_dir.join("shims"), limits: Limits::of_this_process() }
    }

    /// The same with other limits for its trees.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Shims {
        Shims { limits, ..self }
    }

    /// Starts `launch`; returns when its program runs, within 10 s. Dropping the future ends what it had started,
    /// unconfirmed: who must know that nothing runs awaits it and ends the tree.
    ///
    /// # Errors
    /// [`SpawnError`]; nothing runs then.
    pub async fn launch(&self, launch: Launch) -> Result<Tree, SpawnError> {
        let Launch { program, args, cwd, environment } = launch;
        let failed = |error| SpawnError::Shim(self.executable.clone(), error);
        // The shim's own environment is empty too: /proc would show a tool the daemon's keys in it.
        let mut shim = Command::new(self.executable.as_path())
            .arg("__shim")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(mut control), Some(output), Some(reports)) = (shim.stdin.take(), shim.stdout.take(), shim.stderr.take()) else {
            return Err(failed(std::io::Error::other("its pipes are missing")));
        };
        let order =
            Order { program: program.clone(), args, cwd: cwd.to_string(), environment, limits: self.limits, locks: self.locks.to_string() };
        let order = line(&order).map_err(|error| failed(std::io::Error::other(error)))?;
        // A shim that ended before it read all of it says why in its report.
        let written = control.write_all(&order).await;
        let mut tree = Tree::new(shim, control, output, reports);
        let other = |why: &str| Err(SpawnError::Program { program: program.clone(), why: why.to_owned() });
        let Ok(report) = tokio::time::timeout(START, tree.report()).await else {
            tree.kill(Reason::NotStarted).await;
            return other(&format!("nothing was heard of it within {} s", START.as_secs()));
        };
        match (report, written) {
            (Some(Report::Started { .. }), _) => Ok(tree),
            (Some(Report::Failed { why: Failure::Folder { why } }), _) => Err(SpawnError::Folder { folder: cwd, why }),
            (Some(Report::Failed { why: Failure::NotFound }), _) => Err(SpawnError::NotFound { program }),
            (Some(Report::Failed { why: Failure::Other { why } }), _) => other(&why),
            (Some(Report::Exited { .. } | Report::Stubborn { .. } | Report::Gone) | None, Err(error)) => Err(failed(error)),
            (Some(Report::Exited { .. } | Report::Stubborn { .. } | Report::Gone) | None, Ok(())) => other("its shim ended at once"),
        }
    }
}
