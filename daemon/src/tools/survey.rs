//! What a session's folder and machine look like, for the system prompt. It is no tool, changes nothing, and never waits long.

use std::path::Path;
use std::time::Duration;

use agentd_types::AbsPath;
use tokio::io::AsyncReadExt;

use crate::processes::{Launch, Reason, Shims, Status, session_environment};

/// How long git may take; a prompt is not held up for longer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of git's words that are kept.
const MAX_BYTES: usize = 4 << 10;
/// Lines of git's status that are kept.
const MAX_LINES: usize = 40;

/// Asks the machine.
#[derive(Debug, Clone)]
pub struct Survey {
    shims: Shims,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// The operating system with its version.
    pub os: String,
    /// The state of the folder's repository; absent where there is none.
    pub git: Option<String>,
}

impl Survey {
    #[must_use]
    pub fn new(shims: Shims) -> Survey {
        Survey { shims }
    }

    /// Looks at `folder` with a session's environment.
    pub async fn look(&self, folder: &AbsPath, environment: &[(String, String)]) -> Surveyed {
        let place = folder.clone();
        let asked = tokio::task::spawn_blocking(move || (os(), is_in_repository(place.as_path()))).await;
        let (os, in_repository) = asked.unwrap_or_else(|_| (std::env::consts::OS.to_owned(), false));
        let git = if in_repository { Some(self.git(folder, environment).await) } else { None };
        Surveyed { os, git }
    }

    async fn git(&self, folder: &AbsPath, environment: &[(String, String)]) -> String {
        let mut environment = session_environment(environment);
        let ours = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
        environment.retain(|(name, _)| !ours.iter().any(|(own, _)| own == name));
        environment.extend(ours.map(|(name, value)| (name.to_owned(), value.to_owned())));
        // A repository's own settings must not start a program here.
        let args = ["-c", "core.fsmonitor=false", "status", "--porcelain=v1", "--branch", "--ignore-submodules=all"];
        let launch = Launch { program: "git".to_owned(), args: args.map(ToOwned::to_owned).to_vec(), cwd: folder.clone(), environment };
        let mut tree = match self.shims.launch(launch).await {
            Ok(tree) => tree,
            Err(error) => return format!("not known: {error}"),
        };
        let mut output = tree.take_output();
        let mut bytes = Vec::new();
        let reading = async {
            let mut buffer = [0; 4096];
            while let Some(pipe) = &mut output
                && bytes.len() <= MAX_BYTES
            {
                match pipe.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                }
            }
            // More than we keep: it need not come to its end.
            if bytes.len() > MAX_BYTES { None } else { tree.wait_child().await }
        };
        let ended = tokio::time::timeout(PATIENCE, reading).await;
        let said = match ended {
            Err(_) => format!("not known: git took longer than {} s", PATIENCE.as_secs()),
            Ok(Some(exit)) if exit.status != Status::Code(0) => format!("not known: git {}", first_line(&bytes)),
            Ok(_) => shortened(&String::from_utf8_lossy(&bytes)),
        };
        // Confirmed elsewhere: nobody waits for the end of a question.
        tokio::spawn(async move { tree.kill(Reason::Cancelled).await });
        said
    }
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().chars().take(200).collect()
}

/// The first lines, and how many there were.
fn shortened(text: &str) -> String {
    let whole: Vec<&str> = text.lines().collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut bytes = 0;
    for line in &whole {
        bytes += line.len() + 1;
        if kept.len() == MAX_LINES || bytes > MAX_BYTES {
            break;
        }
        kept.push(line);
    }
    let mut said = kept.join("\n");
    if whole.len() == 1 {
        said.push_str("\n(clean)");
    } else if kept.len() < whole.len() {
        said.push_str("\n(and more)");
    }
    said
}

fn is_in_repository(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// Its name and version, as far as the system's files tell them.
fn os() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let kernel = format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease").trim()).trim().to_owned();
    let release = read("/etc/os-release");
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"'));
    match pretty {
        Some(pretty) if !pretty.is_empty() => format!("{pretty} ({kernel})"),
        Some(_) | None => kernel,
    }
}

#[cfg(test)]
mod tests;
