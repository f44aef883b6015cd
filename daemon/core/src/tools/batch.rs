//! Which call of a batch may start now: safe ones beside each other, any other alone, nothing overtaking it. It runs no call.

use super::spec::{CallTraits, Concurrency, Effects};

/// Calls that run beside each other at most.
pub const PARALLEL: usize = 10;

/// Whether the message that asks for the calls is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The model still streams: only calls that change nothing, run beside others and need no question may start.
    Streaming,
    Stored,
}

/// How a call goes with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Manner {
    /// Beside other safe ones, and while the model still streams.
    Early,
    /// Beside other safe ones, once its message is stored.
    Beside,
    /// When all before it are over, and nothing beside it.
    Alone,
}

impl From<CallTraits> for Manner {
    fn from(traits: CallTraits) -> Manner {
        match (traits.concurrency, traits.effects) {
            (Concurrency::Safe, Effects::ReadOnly) => Manner::Early,
            (Concurrency::Safe, Effects::SideEffects) => Manner::Beside,
            (Concurrency::Alone, Effects::ReadOnly | Effects::SideEffects) => Manner::Alone,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waiting,
    Running,
    /// It would ask somebody: not before its message is stored.
    Held,
    Over,
}

/// The calls of one message, in the order the model made them.
#[derive(Debug, Clone)]
pub struct Batch {
    stage: Stage,
    calls: Vec<(Manner, Progress)>,
}

impl Batch {
    #[must_use]
    pub fn new(stage: Stage) -> Batch {
        Batch { stage, calls: Vec::new() }
    }

    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The next call the model made. Its number is its place.
    pub fn push(&mut self, manner: Manner) {
        self.calls.push((manner, Progress::Waiting));
    }

    /// The call that may start now, if one may. Say [`started`](Batch::started) before asking again.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        let running = self.running();
        if running >= PARALLEL || self.calls.contains(&(Manner::Alone, Progress::Running)) {
            return None;
        }
        for (at, call) in self.calls.iter().enumerate() {
            match (call, self.stage) {
                ((_, Progress::Over | Progress::Running), _) | ((_, Progress::Held), Stage::Streaming) => {}
                ((Manner::Alone, Progress::Waiting | Progress::Held), Stage::Stored) => return (running == 0).then_some(at),
                // Nothing overtakes it.
                ((Manner::Alone, Progress::Waiting), Stage::Streaming) => return None,
                ((Manner::Beside, Progress::Waiting), Stage::Streaming) => {}
                ((Manner::Early, Progress::Waiting), Stage::Streaming) => return Some(at),
                ((Manner::Early | Manner::Beside, Progress::Waiting | Progress::Held), Stage::Stored) => return Some(at),
            }
        }
        None
    }

    pub fn started(&mut self, at: usize) {
        self.calls[at].1 = Progress::Running;
    }

    /// It would ask: it starts again when its message is stored.
    pub fn held(&mut self, at: usize) {
        self.calls[at].1 = Progress::Held;
    }

    /// It has a result, or stays open.
    pub fn over(&mut self, at: usize) {
        self.calls[at].1 = Progress::Over;
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.calls.iter().all(|(_, progress)| *progress == Progress::Over)
    }

    #[must_use]
    pub fn is_running(&self, at: usize) -> bool {
        self.calls.get(at).is_some_and(|(_, progress)| *progress == Progress::Running)
    }

    #[must_use]
    pub fn running(&self) -> usize {
        self.calls.iter().filter(|(_, progress)| *progress == Progress::Running).count()
    }
}

#[cfg(test)]
mod tests;
