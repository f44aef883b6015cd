//! The running work of a session's tasks: started when they are on disk, told to end, heard of when nothing of them runs.
//! Dropping it ends everything, unconfirmed.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;

use agentd_types::TaskId;
use agentd_types::task::{TaskEnd, TaskOutcome};
use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::tools::host::Work;

/// A session's running tasks. Its owner is the session's actor.
#[derive(Default)]
pub struct Tasks {
    running: JoinSet<(TaskId, TaskEnd)>,
    stops: HashMap<TaskId, CancellationToken>,
}

impl Tasks {
    /// Takes the work over.
    pub fn run(&mut self, id: TaskId, work: Work) {
        let stop = CancellationToken::new();
        self.stops.insert(id, stop.clone());
        self.running.spawn(async move {
            // Work that panics fails its task, not its session.
            let end = match AssertUnwindSafe(work(stop)).catch_unwind().await {
                Ok(end) => end,
                Err(_) => {
                    let summary = "it failed unexpectedly; the daemon's log says more".to_owned();
                    TaskEnd { summary, ..TaskEnd::of(TaskOutcome::Failed) }
                }
            };
            (id, end)
        });
    }

    /// Tells it to end; it is heard of by [`Tasks::next`].
    pub fn stop(&self, id: TaskId) {
        if let Some(stop) = self.stops.get(&id) {
            stop.cancel();
        }
    }

    /// The next that has ended; waits for ever while none runs. Cancel-safe.
    pub async fn next(&mut self) -> (TaskId, TaskEnd) {
        loop {
            match self.running.join_next().await {
                Some(Ok((id, end))) => {
                    self.stops.remove(&id);
                    return (id, end);
                }
                Some(Err(error)) => tracing::error!(%error, "a task's work was torn down"),
                None => std::future::pending().await,
            }
        }
    }
}
