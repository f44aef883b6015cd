//! Shims of a daemon that was killed: their pipe is closed, so they are ending their trees; waited for, or ended.
//!
//! To be called before the first call is answered, and before this daemon starts a tree of its own.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentd_types::AbsPath;
use rustix::fs::OFlags;
use rustix::process::Signal;

use super::message::Holder;
use super::proc::{self, Process};
use super::sweep::sweep;
use super::tree::Killed;

/// How long a shim has: TERM, 2 s, KILL, and a little.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of a lock file that are read.
const MAX_HOLDER: u64 = 4096;

/// What was found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Shims that were still there and ended their trees.
    pub ended: Vec<u32>,
    /// Shims that had to be killed, with whoever was found of their trees.
    pub killed: Vec<u32>,
    /// Files of shims that were not there any more; what was found of their trees was ended.
    pub stale: Vec<u32>,
    /// Processes that could not be ended.
    pub left: Vec<u32>,
}

/// Returns when no shim that was here before still runs; within 4 s, then with who is left.
pub async fn end_leftovers(runtime_dir: &AbsPath) -> Leftovers {
    let folder = runtime_dir.join("shims");
    // No folder: no shim ever ran here.
    let found: Vec<PathBuf> = fs::read_dir(folder.as_path()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let named = found.into_iter().filter_map(|path| {
        let pid = path.file_name()?.to_str()?.parse::<u32>().ok()?;
        Some((pid, tokio::spawn(end(path, pid))))
    });
    let mut leftovers = Leftovers::default();
    for (pid, ended) in named.collect::<Vec<_>>() {
        // A panic there must not keep the daemon from starting.
        let Ok((what, killed)) = ended.await else { continue };
        match what {
            What::Ended => leftovers.ended.push(pid),
            What::Killed => leftovers.killed.push(pid),
            What::Stale => leftovers.stale.push(pid),
        }
        if let Killed::Stubborn { pids } = killed {
            leftovers.left.extend(pids);
        }
    }
    if leftovers != Leftovers::default() {
        tracing::warn!(?leftovers, "an earlier daemon was killed: what it had left running was ended");
    }
    leftovers
}

/// What was found.
enum What {
    Ended,
    Killed,
    Stale,
}

async fn end(path: PathBuf, pid: u32) -> (What, Killed) {
    let done = if is_held(&path) { end_held(&path, pid).await } else { (What::Stale, end_stale(&path, pid).await) };
    // Its holder is gone, or cannot be ended: the file would only name another process one day.
    let _ = fs::remove_file(&path);
    done
}

/// The shim is there: its lock says so. Only the one that the file describes is sent anything.
async fn end_held(path: &Path, pid: u32) -> (What, Killed) {
    let described = |shim: &Process| holder(path).is_some_and(|holder| holder.boot == proc::boot() && holder.started == shim.started);
    let shim = Process::find(pid).filter(described);
    if let Some(shim) = shim {
        // Its pipe told it already, unless somebody else holds the other end; and it may have been stopped.
        shim.send(Signal::TERM);
        shim.send(Signal::CONT);
    }
    let waited = tokio::time::timeout(PATIENCE, async {
        while is_held(path) {
            tokio::time::sleep(LOOK).await;
        }
    });
    match (waited.await, shim) {
        (Ok(()), _) => (What::Ended, Killed::Gone),
        (Err(_), Some(shim)) => (What::Killed, sweep(shim).await),
        (Err(_), None) => (What::Killed, Killed::Stubborn { pids: vec![pid] }),
    }
}

/// The shim was killed: a shim that ends by itself removes its file.
async fn end_stale(path: &Path, pid: u32) -> Killed {
    match holder(path) {
        // Numbers mean something within their boot only.
        Some(holder) if holder.boot == proc::boot() && !holder.boot.is_empty() => sweep(Process { pid, started: holder.started }).await,
        Some(_) | None => Killed::Gone,
    }
}

fn open(path: &Path) -> Option<File> {
    // Whatever lies there by that name, it neither blocks nor leads elsewhere.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits();
    OpenOptions::new().read(true).write(true).custom_flags(flags.cast_signed()).open(path).ok()
}

fn is_held(path: &Path) -> bool {
    open(path).is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn holder(path: &Path) -> Option<Holder> {
    let mut text = Vec::new();
    open(path)?.take(MAX_HOLDER).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
