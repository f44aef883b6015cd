//! Time and ids of a simulation: they grow, over crashes too, and nothing else.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use agentd::clock::Clock;
use agentd::entropy::Entropy;
use agentd_types::Timestamp;

/// Milliseconds that the simulation counts.
#[derive(Default)]
pub struct SimClock(AtomicI64);

impl SimClock {
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000 + self.0.load(Ordering::Relaxed))
    }
}

/// Ids that count, as version 7 UUIDs do.
#[derive(Default)]
pub struct SimEntropy(AtomicU64);

impl Entropy for SimEntropy {
    fn id(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1) << 80
    }

    fn up_to(&self, bound: u64) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) % bound.saturating_add(1).max(1)
    }
}
