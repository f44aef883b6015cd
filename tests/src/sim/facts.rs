//! What the world outside saw happen: it outlives every crash, and the log is held against it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentd_types::{CommandId, Seq, SessionId, ToolUseId};
use bytes::Bytes;

/// Shared by clients, model and tools. A lock is enough: nothing is awaited under it.
#[derive(Clone, Default)]
pub struct Facts(Arc<Mutex<Seen>>);

/// Everything that was seen.
#[derive(Default)]
pub struct Seen {
    /// Sessions whose creation was acknowledged.
    pub created: BTreeSet<SessionId>,
    /// Whose deletion was acknowledged; `asked` ones may be gone or not.
    pub deleted: BTreeSet<SessionId>,
    pub deletion_asked: BTreeSet<SessionId>,
    /// Commands that were acknowledged.
    pub accepted: BTreeMap<CommandId, (SessionId, Seq)>,
    /// Events that a subscriber was shown.
    pub shown: BTreeMap<(SessionId, Seq), Bytes>,
    /// Calls with side effects that ran.
    pub ran: BTreeSet<ToolUseId>,
    /// Permission answers that were acknowledged.
    pub answered: BTreeSet<(SessionId, agentd_types::RequestId)>,
    /// What the model or a tool found wrong at once.
    pub wrong: Vec<String>,
    /// Requests the model was sent.
    pub requests: u64,
}

impl Facts {
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wrong(&self, what: String) {
        self.seen().wrong.push(what);
    }
}
