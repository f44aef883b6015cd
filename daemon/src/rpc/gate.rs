//! How far the daemon is, and the wait until it can serve. It never opens anything itself.

use tokio::sync::watch;
use tonic::Status;

use super::status;
use crate::sessions::Registry;

/// How far the daemon is; its boot and its drain move it on.
#[derive(Clone)]
pub enum Stage {
    /// The store is being opened: calls wait.
    Opening,
    Ready(Registry),
    /// The daemon goes down. With a registry, calls still reach it (it refuses what is new); without, they end.
    Draining(Option<Registry>),
}

/// Calls wait here for the registry.
#[derive(Clone)]
pub(super) struct Gate {
    stage: watch::Receiver<Stage>,
}

impl Gate {
    pub(super) fn new(stage: watch::Receiver<Stage>) -> Self {
        Self { stage }
    }

    /// How far the daemon is now.
    pub(super) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }

    /// The registry, once there is one. The caller's own deadline ends the wait.
    pub(super) async fn registry(&self) -> Result<Registry, Status> {
        let mut stage = self.stage.clone();
        let opened = stage.wait_for(|stage| !matches!(stage, Stage::Opening)).await.map_err(|_| status::draining())?;
        match &*opened {
            Stage::Ready(registry) | Stage::Draining(Some(registry)) => Ok(registry.clone()),
            Stage::Draining(None) | Stage::Opening => Err(status::draining()),
        }
    }

    /// The stages to come, the present one first.
    pub(super) fn stages(&self) -> watch::Receiver<Stage> {
        let mut stage = self.stage.clone();
        stage.mark_changed();
        stage
    }
}
