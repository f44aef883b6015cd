//! How long, and how patiently, a lost link is tried again. It never dials itself.

use std::time::Duration;

use tokio::time::Instant;

/// The first wait before a try; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long it goes on in all.
const GIVE_UP: Duration = Duration::from_secs(30);

/// Waits that grow, up to an end.
#[derive(Debug)]
pub(crate) struct Patience {
    since: Instant,
    pause: Duration,
}

/// Whether another try is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Try,
    GiveUp,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience { since: Instant::now(), pause: FIRST_PAUSE }
    }

    /// Waits for the time of the next try. Dropping it in the middle only shortens the wait.
    pub(crate) async fn wait(&mut self) -> Again {
        if self.since.elapsed() > GIVE_UP {
            return Again::GiveUp;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        tokio::time::sleep(pause).await;
        Again::Try
    }
}

#[cfg(test)]
mod tests;
