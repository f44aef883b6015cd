//! What the engine needs of its session: where entries last, where deltas show, what joins between two rounds.
//! Declared here, implemented in `sessions`. The engine never numbers an entry.

use std::pin::Pin;
use std::sync::Arc;

use agentd_core::query::StoreFailure;
use agentd_core::queue::Slept;
pub use agentd_core::session::Durability;
use agentd_types::live::Ephemeral;
use agentd_types::queue::QueuedCommand;
use agentd_types::{Entry, Event, MessageId};

/// The numbered events of one append, in order.
pub type Receipt = Vec<Arc<Event>>;

/// A boxed future.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes entries; the session's actor behind it numbers them. All of one call become one journal record.
pub trait Ledger: Send + Sync {
    /// Returns when the entries are as durable as asked. Must be awaited: a dropped append may still be taken.
    fn append(&self, entries: Vec<Entry>, durability: Durability) -> Pending<'_, Result<Receipt, StoreFailure>>;

    /// Gate A: the commands that will join the next round.
    fn lease(&self, slept: Slept) -> Pending<'_, Vec<QueuedCommand>>;

    /// Takes the leased commands as attachments, with `entries`, in one durable record. One id a leased command.
    fn absorb(&self, attachments: Vec<MessageId>, entries: Vec<Entry>) -> Pending<'_, Result<Receipt, StoreFailure>>;
}

/// Shows deltas and progress to whoever watches; may drop them, never waits.
pub trait Feed: Send + Sync {
    fn show(&self, ephemeral: Ephemeral);
}
