//! Shims of a daemon that was killed: their pipe is closed, so they are ending their trees; waited for, or ended.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentd_types::AbsPath;
use rustix::process::{Pid, Signal};

use super::descent::descendants;

/// How long a shim has: TERM, 2 s, KILL, and a little.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Returns when no shim that was here before still runs.
pub async fn end_leftovers(runtime_dir: &AbsPath) {
    let folder = runtime_dir.join("shims");
    let found: Vec<PathBuf> = fs::read_dir(folder.as_path()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let ends = found.into_iter().map(|path| tokio::spawn(end(path)));
    for ended in ends.collect::<Vec<_>>() {
        // A panic there must not keep the daemon from starting.
        let _ = ended.await;
    }
}

async fn end(path: PathBuf) {
    let pid = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
    let waited = tokio::time::timeout(PATIENCE, async {
        while is_held(&path) {
            tokio::time::sleep(LOOK).await;
        }
    });
    if waited.await.is_err()
        && let Some(pid) = pid
    {
        tracing::warn!(pid, "a shim of an earlier daemon did not end its tree: killed");
        for target in descendants(pid).into_iter().chain([pid]) {
            if let Some(target) = i32::try_from(target).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(target, Signal::KILL);
            }
        }
    }
    // Its holder is gone.
    let _ = fs::remove_file(&path);
}

fn is_held(path: &Path) -> bool {
    let file: File = match OpenOptions::new().write(true).open(path) {
        Ok(file) => file,
        Err(_) => return false,
    };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}
