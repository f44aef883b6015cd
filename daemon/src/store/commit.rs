//! The seam to the commit thread: what is handed in, and how far it has come.

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commit {
    Written,
    Synced,
    Failed(String),
}

/// Who is told; called on the commit thread, must not block.
pub type Waiter = Box<dyn FnMut(Commit) + Send>;
