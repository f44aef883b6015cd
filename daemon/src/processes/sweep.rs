//! Ending what is left of a tree whose shim was killed, or does not answer. It ends nobody it cannot tell to be of the tree.
//!
//! Found are the shim's descendants while it is there, and everybody of its session (the shim led it, and its number is
//! nobody else's while a member lives). What remains: who left the session (setsid) and was re-parented past the shim.

use std::time::Duration;

use rustix::process::Signal;

use super::proc::{Process, Table};
use super::tree::Killed;

/// Looks, and the pause between two: half a second in all.
const LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// KILL to the shim and to whoever is found of its tree, until nobody is.
pub async fn sweep(shim: Process) -> Killed {
    let mut left = Vec::new();
    for _ in 0..LOOKS {
        // Reading all of /proc takes milliseconds: not on a runtime thread.
        left = tokio::task::spawn_blocking(move || kill_once(shim)).await.unwrap_or_default();
        if left.is_empty() {
            return Killed::Gone;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Killed::Stubborn { pids: left }
}

/// Who had to be sent KILL.
fn kill_once(shim: Process) -> Vec<u32> {
    let table = Table::read();
    let mut tree = table.session_of(shim);
    if Process::find(shim.pid) == Some(shim) {
        tree.extend(table.descendants(shim.pid));
        tree.push(shim);
    }
    tree.retain(Process::is_alive);
    tree.sort_unstable();
    tree.dedup();
    // The shim last: while it is there, who is orphaned stays its child and is found.
    tree.sort_by_key(|process| process.pid == shim.pid);
    for process in &tree {
        process.send(Signal::KILL);
    }
    tree.into_iter().map(|process| process.pid).collect()
}
