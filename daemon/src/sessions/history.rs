//! Reading committed events off the runtime's threads. It never sees an event before it is on disk.

use std::collections::VecDeque;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use crate::store::Store;

/// Bytes of one page at most: well below the size limit of a message.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A reader of committed events; cheap to clone.
#[derive(Clone)]
pub struct History {
    store: Store,
}

impl History {
    #[must_use]
    pub fn new(store: Store) -> History {
        History { store }
    }

    /// Events with seq > `after`, at most `events`; `None` when they cannot be read (logged).
    pub async fn after(&self, session: SessionId, after: Seq, events: u32) -> Option<VecDeque<(Seq, Bytes)>> {
        let store = self.store.clone();
        let read = tokio::task::spawn_blocking(move || store.read_after(session, after, events as usize, PAGE_BYTES)).await;
        self.seen(session, read)
    }

    /// The newest events with seq < `before` (or the newest of all), ascending.
    pub async fn before(&self, session: SessionId, before: Option<Seq>, events: u32) -> Option<VecDeque<(Seq, Bytes)>> {
        let store = self.store.clone();
        let read = tokio::task::spawn_blocking(move || store.read_before(session, before, events as usize, PAGE_BYTES)).await;
        self.seen(session, read)
    }

    fn seen<E: std::fmt::Display>(
        &self,
        session: SessionId,
        read: Result<Result<Vec<(Seq, Bytes)>, E>, tokio::task::JoinError>,
    ) -> Option<VecDeque<(Seq, Bytes)>> {
        match read {
            Ok(Ok(events)) => Some(events.into()),
            Ok(Err(error)) => {
                tracing::error!(%session, %error, "history cannot be read");
                None
            }
            Err(error) => {
                tracing::error!(%session, %error, "reading history ended unexpectedly");
                None
            }
        }
    }
}
