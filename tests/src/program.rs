//! The real binaries in a world of their own: a short socket path, an empty data folder, no key. It never sleeps blindly.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long `eventually` is patient.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder with its own daemon; the daemon is ended with it.
pub struct World {
    dir: tempfile::TempDir,
    base_url: Option<String>,
}

/// A finished `agent`.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The output's lines as JSON.
    ///
    /// # Panics
    /// When a line is none.
    #[must_use]
    pub fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl World {
    /// A world without a model, or with one at `base_url`.
    ///
    /// # Panics
    /// When no temporary folder can be made.
    #[must_use]
    pub fn new(base_url: Option<&str>) -> World {
        let dir = tempfile::Builder::new().prefix("ag").tempdir_in("/tmp").expect("a temporary folder");
        std::fs::create_dir(dir.path().join("work")).expect("a folder");
        // Retries are real; their waits are short.
        std::fs::create_dir(dir.path().join("conf")).expect("a folder");
        std::fs::write(dir.path().join("conf/settings.json"), r#"{"provider": {"retryBaseMs": 1}}"#).expect("a file");
        World { dir, base_url: base_url.map(ToOwned::to_owned) }
    }

    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder sessions work in.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// A command line of `agent` in this world.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary("agent"));
        command.args(args).current_dir(self.work()).stdin(Stdio::null());
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"] {
            command.env_remove(name);
        }
        command
            .env("AGENT_SOCKET", self.path("s.sock"))
            .env("AGENT_DATA_DIR", self.path("data"))
            .env("AGENT_CONFIG_DIR", self.path("conf"));
        if let Some(base_url) = &self.base_url {
            command.env("ANTHROPIC_BASE_URL", base_url).env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("NO_PROXY", "127.0.0.1");
        }
        command
    }

    /// Runs `agent` to its end.
    ///
    /// # Panics
    /// When the binary cannot be started.
    #[must_use]
    pub fn agent(&self, args: &[&str]) -> Done {
        self.command(args).output().expect("agent runs").into()
    }

    /// The daemon's pid.
    ///
    /// # Panics
    /// When none runs.
    #[must_use]
    pub fn daemon_pid(&self) -> u32 {
        let status = self.agent(&["daemon", "status", "--json"]);
        let status: Value = serde_json::from_str(&status.stdout).unwrap_or_else(|error| panic!("{error}: {status:?}"));
        u32::try_from(status["pid"].as_u64().expect("a pid")).expect("a pid")
    }

    /// kill -9.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill_daemon(&self) {
        let killed = Command::new("kill").args(["-9", &self.daemon_pid().to_string()]).status().expect("kill runs");
        assert!(killed.success());
    }

    /// The durable events of a session, one JSON a line.
    #[must_use]
    pub fn log(&self, session: &str) -> Vec<Value> {
        self.agent(&["log", session, "--output-format", "stream-json"]).json_lines()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // No daemon, no error.
        let _ = self.agent(&["daemon", "stop", "--no-start", "--grace", "0"]);
    }
}

/// A built binary, beside the test's own folder.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().expect("this test's own file");
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join(name);
    assert!(Path::is_file(&path), "{} is not built: run `cargo build --bins` first", path.display());
    path
}

/// What `look` finds, as soon as it finds something.
///
/// # Panics
/// When it finds nothing within 20 s.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "it never came: {what}");
        std::thread::yield_now();
    }
}
