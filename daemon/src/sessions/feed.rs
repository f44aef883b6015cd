//! Fan-out to subscribers with two delivery classes. A slow subscriber slows nobody and loses deltas only.
//!
//! A subscriber's queue is an accelerator, not the truth: the truth is the store, and `committed` says how far it
//! goes. A subscriber that finds a hole in its queue reads the hole from the store, so the publisher may drop
//! anything at any time and never waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentd_types::live::{ClientInfo, Snapshot};
use agentd_types::{Seq, SessionId};
use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::history::History;

/// Items a subscriber's queue holds; past that it lags.
const QUEUE: usize = 256;
/// Events read from the store at once when a subscriber catches up.
const PAGE_EVENTS: u32 = 512;
/// Subscriptions of one session.
pub const MAX_SUBSCRIBERS: usize = 1_024;

/// What a subscriber gets, in order.
#[derive(Debug, Clone)]
pub enum FeedItem {
    Snapshot(Box<Snapshot>),
    /// An encoded durable event.
    Event(Seq, Bytes),
    /// An encoded stream message: a delta or a progress line.
    Delta(Bytes),
    /// Deltas were lost; no durable event ever is.
    Lagged {
        dropped: u64,
    },
    /// The daemon goes down; nothing follows.
    Draining,
}

/// What travels through a subscriber's queue.
#[derive(Debug, Clone)]
enum Queued {
    Event(Seq, Bytes),
    Delta(Bytes),
    Draining,
}

/// Whether a subscriber wants deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Partials {
    Wanted,
    Unwanted,
}

struct Subscriber {
    id: u64,
    queue: mpsc::Sender<Queued>,
    partials: Partials,
    /// Deltas dropped and not yet told.
    dropped: Arc<AtomicU64>,
    client: ClientInfo,
}

/// The publishing end; owned by the session's actor.
pub struct Publisher {
    subscribers: Vec<Subscriber>,
    next_id: u64,
    committed: watch::Sender<Seq>,
    leave: mpsc::UnboundedSender<u64>,
}

/// Too many subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowded;

impl Publisher {
    /// Also the receiver of those who left; at most one message a subscription.
    #[must_use]
    pub fn new(committed: Seq) -> (Publisher, mpsc::UnboundedReceiver<u64>) {
        let (leave, left) = mpsc::unbounded_channel();
        (Publisher { subscribers: Vec::new(), next_id: 0, committed: watch::Sender::new(committed), leave }, left)
    }

    /// Registers a subscriber in the same step that took its snapshot.
    ///
    /// # Errors
    /// [`Crowded`] past [`MAX_SUBSCRIBERS`].
    pub fn join(
        &mut self,
        snapshot: Snapshot,
        from: Option<Seq>,
        partials: Partials,
        client: ClientInfo,
        history: History,
        session: SessionId,
    ) -> Result<Subscription, Crowded> {
        if self.subscribers.len() >= MAX_SUBSCRIBERS {
            return Err(Crowded);
        }
        let id = self.next_id;
        self.next_id += 1;
        let (queue, items) = mpsc::channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        self.subscribers.push(Subscriber { id, queue, partials, dropped: Arc::clone(&dropped), client });
        let cursor = from.unwrap_or(snapshot.seq).min(snapshot.seq);
        Ok(Subscription {
            session,
            cursor,
            first: Some(Box::new(snapshot)),
            read_ahead: VecDeque::new(),
            held: None,
            items,
            committed: self.committed.subscribe(),
            dropped,
            history,
            _leave: Leave { id, to: self.leave.clone() },
        })
    }

    pub fn left(&mut self, id: u64) {
        self.subscribers.retain(|it| it.id != id);
    }

    #[must_use]
    pub fn clients(&self) -> Vec<ClientInfo> {
        self.subscribers.iter().map(|it| it.client.clone()).collect()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    /// Whether anybody wants deltas: else nothing need be encoded.
    #[must_use]
    pub fn wants_deltas(&self) -> bool {
        self.subscribers.iter().any(|it| it.partials == Partials::Wanted)
    }

    /// An event that is on disk. A full queue drops it: its subscriber will read it.
    pub fn event(&self, seq: Seq, bytes: &Bytes) {
        for subscriber in &self.subscribers {
            // Full: the hole is read from the store. Closed: `left` follows.
            let _ = subscriber.queue.try_send(Queued::Event(seq, bytes.clone()));
        }
    }

    /// Everything up to here has been offered.
    pub fn committed(&self, upto: Seq) {
        self.committed.send_replace(upto);
    }

    pub fn delta(&self, bytes: &Bytes) {
        for subscriber in self.subscribers.iter().filter(|it| it.partials == Partials::Wanted) {
            if let Err(mpsc::error::TrySendError::Full(_)) = subscriber.queue.try_send(Queued::Delta(bytes.clone())) {
                subscriber.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub fn draining(&self) {
        for subscriber in &self.subscribers {
            let _ = subscriber.queue.try_send(Queued::Draining);
        }
    }
}

/// Tells the actor when the subscription is dropped.
struct Leave {
    id: u64,
    to: mpsc::UnboundedSender<u64>,
}

impl Drop for Leave {
    fn drop(&mut self) {
        // The actor may be gone already; then nobody needs to know.
        let _ = self.to.send(self.id);
    }
}

/// One subscriber's end. `next` yields the snapshot, history after the cursor, then what is new.
pub struct Subscription {
    session: SessionId,
    /// The last event delivered.
    cursor: Seq,
    first: Option<Box<Snapshot>>,
    read_ahead: VecDeque<(Seq, Bytes)>,
    /// An item that must wait until a hole before it is filled.
    held: Option<Queued>,
    items: mpsc::Receiver<Queued>,
    committed: watch::Receiver<Seq>,
    dropped: Arc<AtomicU64>,
    history: History,
    _leave: Leave,
}

impl Subscription {
    /// The next item; `None` when the session is gone or its history cannot be read. Cancel-safe.
    pub async fn next(&mut self) -> Option<FeedItem> {
        if let Some(snapshot) = self.first.take() {
            return Some(FeedItem::Snapshot(snapshot));
        }
        loop {
            if let Some((seq, bytes)) = self.read_ahead.pop_front() {
                // What was read ahead may have come by the queue meanwhile.
                if seq > self.cursor {
                    self.cursor = seq;
                    return Some(FeedItem::Event(seq, bytes));
                }
                continue;
            }
            if self.is_behind() {
                self.read_ahead = self.history.after(self.session, self.cursor, PAGE_EVENTS).await?;
                if !self.read_ahead.is_empty() {
                    continue;
                }
            }
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                return Some(FeedItem::Lagged { dropped });
            }
            let item = match self.held.take() {
                Some(item) => item,
                None => tokio::select! {
                    biased;
                    item = self.items.recv() => item?,
                    changed = self.committed.changed() => {
                        changed.ok()?;
                        continue;
                    }
                },
            };
            match item {
                Queued::Event(seq, _) if seq <= self.cursor => {}
                Queued::Event(seq, bytes) if seq == self.cursor.next() => {
                    self.cursor = seq;
                    return Some(FeedItem::Event(seq, bytes));
                }
                // A hole: everything before this event is on disk, so it will be read first.
                hole @ Queued::Event(..) => {
                    self.held = Some(hole);
                    self.read_ahead = self.history.after(self.session, self.cursor, PAGE_EVENTS).await?;
                    if self.read_ahead.is_empty() {
                        // Its history is gone: the session was deleted.
                        return None;
                    }
                }
                Queued::Delta(bytes) => return Some(FeedItem::Delta(bytes)),
                Queued::Draining => return Some(FeedItem::Draining),
            }
        }
    }

    /// Whether events are on disk that did not come by the queue. Only asked when the queue is empty: the publisher
    /// offers an event before it says that it is committed.
    fn is_behind(&self) -> bool {
        self.held.is_none() && self.items.is_empty() && *self.committed.borrow() > self.cursor
    }
}

#[cfg(test)]
mod tests;
