//! The seam to the commit thread: what is handed in, and how far it has come. Nothing here writes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentd_types::{Seq, SessionId};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// How far an append must have come before its caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    Written,
    Synced,
}

/// Events of one session that become one journal record: all of them or none.
#[derive(Debug, Clone)]
pub struct Batch {
    pub session: SessionId,
    /// The first event's number; the others follow densely.
    pub first: Seq,
    /// Encoded events.
    pub events: Vec<Bytes>,
    pub level: Level,
}

/// How far a batch has come. `Written` is told for `Level::Written` only; then `Synced` or `Failed`, once.
///
/// After `Failed` nothing of the batch is shown and its numbers are free again. Whether a crash before the next sync brings
/// it back is unknown: the disk that refused it may have taken it nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commit {
    Written,
    Synced,
    Failed(String),
}

/// Who is told; called on the commit thread, must not block.
pub type Waiter = Box<dyn FnMut(Commit) + Send>;

/// A waiter that is told its last word exactly once, whatever becomes of the thread.
pub(super) struct Told(Option<Waiter>);

impl Told {
    pub(super) fn new(waiter: Waiter) -> Told {
        Told(Some(waiter))
    }

    pub(super) fn written(&mut self) {
        if let Some(waiter) = &mut self.0 {
            tell(waiter, Commit::Written);
        }
    }

    pub(super) fn end(mut self, commit: Commit) {
        if let Some(mut waiter) = self.0.take() {
            tell(&mut waiter, commit);
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(mut waiter) = self.0.take() {
            tell(&mut waiter, Commit::Failed("the store stopped before this was kept; restart agentd and repeat".to_owned()));
        }
    }
}

/// A waiter that panics takes nobody with it.
fn tell(waiter: &mut Waiter, commit: Commit) {
    if catch_unwind(AssertUnwindSafe(|| waiter(commit))).is_err() {
        tracing::error!("a waiter of the commit thread panicked");
    }
}

/// What reaches the commit thread.
pub(super) enum Request {
    Append {
        batch: Batch,
        told: Told,
        /// Room of the queue; given back when this is done.
        room: OwnedSemaphorePermit,
    },
    Forget {
        session: SessionId,
        told: Told,
        room: OwnedSemaphorePermit,
    },
    /// Told when everything before it is synced.
    Barrier {
        told: Told,
        room: OwnedSemaphorePermit,
    },
    /// The last one.
    Stop {
        done: oneshot::Sender<Result<(), String>>,
    },
}

/// What a turn of the commit thread's work was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stepped {
    Committed,
    /// Nothing was queued.
    Rested,
}
