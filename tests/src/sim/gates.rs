//! Where models and tools wait until the simulation lets them go on: it alone decides what happens next.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::rng::Rng;

/// The open waits of one life. A lock is enough: nothing is awaited under it.
#[derive(Clone, Default)]
pub struct Gates(Arc<Mutex<Vec<oneshot::Sender<()>>>>);

impl Gates {
    /// Waits until it is let through; for ever when its life ends first.
    pub async fn pass(&self) {
        let (go, gone) = oneshot::channel();
        self.all().push(go);
        if gone.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Lets one through, if any still waits.
    pub fn open_one(&self, rng: &mut Rng) {
        let mut all = self.all();
        all.retain(|gate| !gate.is_closed());
        if !all.is_empty() {
            let at = rng.below(all.len());
            let _ = all.remove(at).send(());
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        let mut all = self.all();
        all.retain(|gate| !gate.is_closed());
        all.len()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
