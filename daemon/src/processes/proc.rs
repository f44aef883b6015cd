//! Processes as /proc shows them. A process that ends meanwhile is simply not there; nothing here decides who is ended.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal};

/// What is needed of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, `Z`, …
    pub state: char,
    pub parent: u32,
    /// The session (in the kernel's sense) it belongs to: its leader's pid.
    pub session: u32,
    /// Clock ticks after boot: with the pid it names a process for good.
    pub started: u64,
}

/// A process, told apart from a later one of the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pub pid: u32,
    pub started: u64,
}

impl Process {
    /// The process that has this pid now.
    #[must_use]
    pub fn find(pid: u32) -> Option<Process> {
        Some(Process { pid, started: stat(pid)?.started })
    }

    /// Whether it is there and no zombie.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.started == self.started && stat.state != 'Z')
    }

    /// Sends `signal` to this process and to no other. It may be gone, or may not be ours to signal: who sends looks again.
    pub fn send(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        // The handle pins whoever has the pid now; only after that is it known to be the one that is meant.
        if stat(self.pid).is_none_or(|stat| stat.started != self.started) {
            return;
        }
        let _ = match handle {
            Ok(handle) => rustix::process::pidfd_send_signal(handle, signal),
            // No descriptor to be had: a reuse of the pid in this very instant is what is left to chance.
            Err(_) => rustix::process::kill_process(pid, signal),
        };
    }
}

/// The stat of one process; `None` when it is not there.
#[must_use]
pub fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a stat line. The name may hold anything, parentheses too: what counts comes after the last one.
#[must_use]
pub fn parse_stat(line: &[u8]) -> Option<Stat> {
    let after = line.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(&line[after..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// One look at all processes.
#[derive(Debug, Default)]
pub struct Table(BTreeMap<u32, Stat>);

impl Table {
    #[must_use]
    pub fn read() -> Table {
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        Table(pids.filter_map(|pid| Some((pid, stat(pid)?))).collect())
    }

    /// Every descendant of `root`, itself not counted, zombies counted: one may have threads that still run.
    #[must_use]
    pub fn descendants(&self, root: u32) -> Vec<Process> {
        let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
        for (pid, stat) in &self.0 {
            children.entry(stat.parent).or_default().push(Process { pid: *pid, started: stat.started });
        }
        let mut found = Vec::new();
        let mut next = vec![root];
        while let Some(pid) = next.pop() {
            for child in children.remove(&pid).unwrap_or_default() {
                found.push(child);
                next.push(child.pid);
            }
        }
        found
    }

    /// The children of `parent`, zombies counted.
    #[must_use]
    pub fn children(&self, parent: u32) -> Vec<Process> {
        let children = self.0.iter().filter(|(_, stat)| stat.parent == parent);
        children.map(|(pid, stat)| Process { pid: *pid, started: stat.started }).collect()
    }

    /// Who belongs to the session that `leader` led, itself not counted; nobody when its pid is another's by now.
    #[must_use]
    pub fn session_of(&self, leader: Process) -> Vec<Process> {
        if self.0.get(&leader.pid).is_some_and(|stat| stat.started != leader.started) {
            return Vec::new();
        }
        let members = self
            .0
            .iter()
            .filter(|(pid, stat)| stat.session == leader.pid && **pid != leader.pid && stat.started >= leader.started && stat.state != 'Z');
        members.map(|(pid, stat)| Process { pid: *pid, started: stat.started }).collect()
    }
}

/// What the kernel calls this boot; empty where it does not say.
#[must_use]
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
