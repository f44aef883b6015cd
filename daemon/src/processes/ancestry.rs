//! Whether a peer descends from the daemon: its ancestry, walked with start times until two walks agree. It only tells;
//! what a tool-side connection may do is decided elsewhere.
//!
//! A tree whose shim was killed is re-parented past us and then looks foreign: the daemon ends such trees when it notices.

use super::proc::{Process, Stat};

/// What is known of a peer's descent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Descent {
    /// It descends from the daemon through this child of it (a shim), or is the daemon (then its own pid).
    FromUs { through: u32 },
    /// Its line was stable and has not the daemon in it.
    Foreign,
    /// It ended meanwhile, or its line never held still: as good as tool-side.
    Vanished,
    /// This system does not tell.
    Unknown,
}

/// Generations walked at most.
const GENERATIONS: usize = 4096;
/// Walks until two agree.
const WALKS: usize = 16;

/// Walks from `peer` up to `us`. Reads a few files of /proc; milliseconds at most.
#[must_use]
pub fn descent(peer: u32, us: u32) -> Descent {
    if cfg!(target_os = "linux") { walk(peer, us, super::proc::stat) } else { Descent::Unknown }
}

/// A line of ancestors, the peer first.
enum Line {
    /// With the child of ours that it came through.
    Ours(u32),
    Whole(Vec<Process>),
    /// Somebody in it was not there any more when he was looked at.
    Broken,
}

fn walk(peer: u32, us: u32, mut stat: impl FnMut(u32) -> Option<Stat>) -> Descent {
    let mut before: Option<Vec<Process>> = None;
    for _ in 0..WALKS {
        match line(peer, us, &mut stat) {
            Line::Ours(through) => return Descent::FromUs { through },
            Line::Whole(line) if before.as_ref() == Some(&line) => return Descent::Foreign,
            Line::Whole(line) => before = Some(line),
            Line::Broken => before = None,
        }
    }
    Descent::Vanished
}

fn line(peer: u32, us: u32, stat: &mut impl FnMut(u32) -> Option<Stat>) -> Line {
    let mut line: Vec<Process> = Vec::new();
    let (mut pid, mut through) = (peer, peer);
    // The first process of a pid namespace has parent 0.
    while pid != 0 {
        if pid == us {
            return Line::Ours(through);
        }
        let Some(found) = stat(pid) else { return Line::Broken };
        // A parent younger than its child is another process that got the pid.
        if line.last().is_some_and(|child| child.started < found.started) || line.len() >= GENERATIONS {
            return Line::Broken;
        }
        line.push(Process { pid, started: found.started });
        (through, pid) = (pid, found.parent);
    }
    Line::Whole(line)
}

#[cfg(test)]
mod tests;
