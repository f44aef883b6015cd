//! Time as a handed-in value. Nothing else in the daemon asks the system for the date.

use std::time::{SystemTime, UNIX_EPOCH};

use agentd_types::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    // The one place that asks.
    #[allow(clippy::disallowed_methods)]
    fn now(&self) -> Timestamp {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}
