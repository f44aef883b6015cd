//! Trees whose command has ended and of which somebody still runs. They run until the daemon ends, or until more than
//! 32 commands left something: then the oldest is ended, and the log says so.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::process::ChildStdout;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::read;
use crate::processes::{Reason, Tree};

/// Trees that are kept.
const MOST: usize = 32;

/// The handles of those that are kept; each tree is owned by a task of its own.
#[derive(Default)]
pub struct Survivors {
    kept: Mutex<VecDeque<Minded>>,
}

struct Minded {
    shim: Option<u32>,
    end: CancellationToken,
    task: JoinHandle<()>,
}

impl Survivors {
    /// Keeps `tree` going; what it prints from now on is dropped, so that printing neither blocks nor ends it.
    pub fn keep(&self, tree: Tree, output: Option<ChildStdout>) {
        let end = CancellationToken::new();
        let shim = tree.shim();
        let minded = Minded { shim, end: end.clone(), task: tokio::spawn(mind(tree, output, end)) };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|minded| !minded.task.is_finished());
        kept.push_back(minded);
        while kept.len() > MOST
            && let Some(oldest) = kept.pop_front()
        {
            tracing::warn!(shim = oldest.shim, "more than {MOST} commands left something running: the oldest is ended");
            oldest.end.cancel();
        }
    }
}

impl Drop for Survivors {
    fn drop(&mut self) {
        for minded in self.kept.get_mut().unwrap_or_else(PoisonError::into_inner) {
            minded.end.cancel();
        }
    }
}

async fn mind(mut tree: Tree, mut output: Option<ChildStdout>, end: CancellationToken) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            biased;
            () = end.cancelled() => {
                tree.kill(Reason::TooMany).await;
                return;
            }
            () = tree.wait_gone() => {
                // Nothing is left, or its shim was killed: then what is left is ended.
                tree.kill(Reason::Lost).await;
                return;
            }
            bytes = read(&mut output, &mut buffer) => {
                if bytes.is_none() {
                    output = None;
                }
            }
        }
    }
}
