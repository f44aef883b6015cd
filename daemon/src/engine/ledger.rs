//! Where the engine hands in what shall last, and where it shows what shall not. It never numbers an entry.

use std::pin::Pin;

use agentd_core::query::StoreFailure;
use agentd_types::live::Ephemeral;
use agentd_types::{Entry, Event};

/// How far an append must have come before its caller goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Handed to the operating system: survives kill -9. Published with the next sync (at most 1 s later).
    Written,
    /// On disk: survives power loss.
    Synced,
}

/// The numbered events of one append, in order.
pub type Receipt = Vec<Event>;

/// A boxed future.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes entries; the session's actor behind it numbers them. All of one call become one journal record.
pub trait Ledger: Send + Sync {
    fn append(&self, entries: Vec<Entry>, durability: Durability) -> Pending<'_, Result<Receipt, StoreFailure>>;
}

/// Shows deltas and progress to whoever watches; may drop them, never waits.
pub trait Feed: Send + Sync {
    fn show(&self, ephemeral: Ephemeral);
}
