//! What waits for the applier: committed records in order, and orders. It never touches the database.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::mpsc::Sender;
use std::time::Duration;

use agentd_types::{Seq, SessionId};

use super::{Found, Indexed, Tail};
use crate::store::journal::Place;
use crate::store::limits::Limits;

/// What a committed record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Events { session: SessionId, first: Seq, count: u32 },
    Deleted { session: SessionId },
}

impl What {
    #[must_use]
    pub fn session(&self) -> SessionId {
        match self {
            What::Events { session, .. } | What::Deleted { session } => *session,
        }
    }
}

/// A record that the database does not hold yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub place: Place,
    pub what: What,
}

/// What became of an order.
pub type Restored = Result<(), String>;

/// Something else the applier shall do.
pub enum Order {
    /// One session's entries are damaged: write them anew from cold copy and journal.
    Restore { session: SessionId, why: String, done: Sender<Restored> },
    /// All of it anew.
    Rebuild { why: Rebuild, done: Sender<Restored> },
}

/// Why everything is built anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuild {
    /// A person wants it: the old database is well.
    Asked,
    Damaged(String),
}

/// What the applier does next.
pub enum Work {
    /// Records in order, with their events or where those are.
    Apply(Vec<(Waiting, Option<Found>)>),
    Order(Order),
    /// Nobody needs it any more.
    Over,
}

/// Whether records had their time to gather.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gathered {
    Yes,
    No,
}

#[derive(Default)]
pub(super) struct Queue {
    records: VecDeque<Waiting>,
    orders: VecDeque<Order>,
    /// How many records were ever pushed and popped.
    pushed: u64,
    popped: u64,
    /// Somebody waits until this many were popped.
    wanted: u64,
}

impl Queue {
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.records.push_back(waiting);
        self.pushed += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn want(&mut self, upto: u64) {
        self.wanted = self.wanted.max(upto);
    }

    fn is_wanted(&self) -> bool {
        self.popped < self.wanted
    }

    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    pub(super) fn popped(&self) -> u64 {
        self.popped
    }
}

impl Tail {
    /// Waits until there is something to do. `pause`: not before this long, unless it is an order.
    pub fn next_work(&self, limits: &Limits, pause: Option<Duration>) -> Work {
        let mut index = self.index();
        let mut gathered = Gathered::No;
        if let Some(pause) = pause {
            let idle = |index: &mut super::Index| index.queue.orders.is_empty() && !index.progress.is_over();
            index = self.work.wait_timeout_while(index, pause, idle).unwrap_or_else(PoisonError::into_inner).0;
        }
        loop {
            if let Some(order) = index.queue.orders.pop_front() {
                return Work::Order(order);
            }
            if index.progress.is_over() {
                return Work::Over;
            }
            let full = index.queue.records.len() >= limits.apply_records;
            if !index.queue.records.is_empty() && (full || gathered == Gathered::Yes || index.queue.is_wanted()) {
                return Work::Apply(index.next_records(limits));
            }
            if index.queue.records.is_empty() {
                index = self.work.wait(index).unwrap_or_else(PoisonError::into_inner);
            } else {
                let gathers = |index: &mut super::Index| {
                    index.queue.records.len() < limits.apply_records
                        && index.queue.orders.is_empty()
                        && !index.queue.is_wanted()
                        && !index.progress.is_over()
                };
                index = self.work.wait_timeout_while(index, limits.gather, gathers).unwrap_or_else(PoisonError::into_inner).0;
                gathered = Gathered::Yes;
            }
        }
    }

    /// The first `count` records are in the database.
    pub fn applied(&self, count: usize) {
        let mut index = self.index();
        for _ in 0..count {
            let Some(Waiting { what, .. }) = index.queue.records.pop_front() else { break };
            index.queue.popped += 1;
            match what {
                What::Events { session, first, count } => index.applied_events(session, Seq(first.0 + u64::from(count) - 1)),
                What::Deleted { session } => {
                    index.deleted.remove(&session);
                }
            }
        }
        index.progress.gets_on();
        drop(index);
        self.progress.notify_all();
    }

    /// Sets a session apart: nothing of it is read or taken any more.
    pub fn quarantine(&self, session: SessionId, reason: String) {
        let mut index = self.index();
        if !index.deleted.contains(&session) {
            index.forget(session);
            index.quarantined.insert(session, reason);
        }
    }

    /// Hands an order to the applier; it tells when it has been carried out.
    pub fn order(&self, order: Order) {
        let mut index = self.index();
        if !index.progress.is_over() {
            index.queue.orders.push_back(order);
        }
        drop(index);
        self.work.notify_all();
    }
}

impl super::Index {
    fn applied_events(&mut self, session: SessionId, last: Seq) {
        let Some(records) = self.sessions.get_mut(&session) else { return };
        records.applied = records.applied.max(last);
        records.shrink();
        if records.all.is_empty() {
            self.sessions.remove(&session);
        }
    }

    /// A batch's worth from the front, each with its events if they are in memory.
    fn next_records(&self, limits: &Limits) -> Vec<(Waiting, Option<Found>)> {
        let mut bytes = 0;
        let mut taken = Vec::new();
        for waiting in self.queue.records.iter().take(limits.apply_records) {
            taken.push((*waiting, self.found(waiting)));
            bytes += waiting.place.len as usize;
            if bytes >= limits.apply_bytes {
                break;
            }
        }
        taken
    }

    /// `None` for a deletion, or what belongs to a session that is set apart or deleted meanwhile.
    fn found(&self, waiting: &Waiting) -> Option<Found> {
        let What::Events { session, first, count } = waiting.what else { return None };
        let records = self.sessions.get(&session)?;
        let at = records.all.binary_search_by_key(&first, |record| record.first).ok()?;
        let found = records.plan(at, at + 1).pop();
        found.filter(|_| records.all[at] == Indexed { first, count, place: waiting.place })
    }
}
