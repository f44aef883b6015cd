//! Fan-out to subscribers with two delivery classes. A slow subscriber slows nobody and loses deltas only.

use agentd_types::Seq;
use agentd_types::live::Snapshot;
use bytes::Bytes;

/// What a subscriber gets, in order.
#[derive(Debug, Clone)]
pub enum FeedItem {
    Snapshot(Box<Snapshot>),
    /// An encoded durable event.
    Event(Seq, Bytes),
    /// An encoded delta or progress line.
    Delta(Bytes),
    /// Deltas were lost; no durable event ever is.
    Lagged {
        dropped: u64,
    },
    /// The daemon goes down; nothing follows.
    Draining,
}

/// One subscriber's end. `next` yields the snapshot, history after the cursor, then what is new.
pub struct Subscription {
    _private: (),
}

impl Subscription {
    /// The next item; `None` when the session is gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<FeedItem> {
        None
    }
}
