//! One submission's cancellation: a token, why, and by whom. It never ends anything by itself.

use std::sync::{Arc, OnceLock};

use agentd_types::Origin;
use agentd_types::system::InterruptReason;
use tokio_util::sync::CancellationToken;

/// Cheap to clone; the first reason stays.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    token: CancellationToken,
    said: Arc<OnceLock<(InterruptReason, Option<Origin>)>>,
}

impl Cancel {
    /// Ends what races this. Later reasons change nothing.
    pub fn cancel(&self, reason: InterruptReason, by: Option<Origin>) {
        // Set before the token fires, so that whoever wakes finds it.
        let _ = self.said.set((reason, by));
        self.token.cancel();
    }

    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why, once cancelled.
    #[must_use]
    pub fn reason(&self) -> Option<InterruptReason> {
        self.said.get().map(|(reason, _)| *reason)
    }

    /// Who, if a person did.
    #[must_use]
    pub fn by(&self) -> Option<Origin> {
        self.said.get().and_then(|(_, by)| by.clone())
    }

    /// `future`, or `None` if cancelled first. A cancelled submission starts nothing.
    pub async fn race<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.token.cancelled() => None,
            done = future => Some(done),
        }
    }
}
