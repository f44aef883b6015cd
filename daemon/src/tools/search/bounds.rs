//! How long a search may go on. It ends nothing itself: whoever searches looks here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One search's time.
const PATIENCE: Duration = Duration::from_secs(20);

/// A search's bounds; a clone is the same.
#[derive(Clone)]
pub struct Bounds {
    until: Instant,
    cancelled: Arc<AtomicBool>,
}

/// Why a search ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Cancelled,
    Time,
    Entries(usize),
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Cancelled => f.write_str("it was cancelled"),
            Stop::Time => write!(f, "it took longer than {} s", PATIENCE.as_secs()),
            Stop::Entries(most) => write!(f, "there are more than {most} entries"),
        }
    }
}

impl Bounds {
    pub fn new() -> Bounds {
        Bounds { until: Instant::now() + PATIENCE, cancelled: Arc::default() }
    }

    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn reached(&self) -> Option<Stop> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Some(Stop::Cancelled);
        }
        (Instant::now() >= self.until).then_some(Stop::Time)
    }
}
