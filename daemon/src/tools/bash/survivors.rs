//! Trees whose command has ended and of which somebody still runs. They are their session's: they run until it is deleted,
//! until the daemon ends, or until more than 32 commands of the session left something: then its oldest is ended, and the
//! log says so.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use agentd_types::SessionId;
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::read;
use crate::processes::{Reason, Tree};

/// Trees that are kept of one session.
const MOST: usize = 32;

/// The handles of those that are kept; each tree is owned by a task of its own. A clone is the same.
#[derive(Clone, Default)]
pub struct Survivors(Arc<Kept>);

#[derive(Default)]
struct Kept(Mutex<BTreeMap<SessionId, VecDeque<Minded>>>);

struct Minded {
    shim: Option<u32>,
    /// Says why it is to end.
    end: watch::Sender<Option<Reason>>,
    task: JoinHandle<()>,
}

impl Survivors {
    /// Keeps `tree` going; what it prints from now on is dropped, so that printing neither blocks nor ends it.
    pub(super) fn keep(&self, session: SessionId, tree: Tree, output: Option<ChildStdout>) {
        let (end, ended) = watch::channel(None);
        let shim = tree.shim();
        let minded = Minded { shim, end, task: tokio::spawn(mind(tree, output, ended)) };
        let mut kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values_mut().for_each(|kept| kept.retain(|minded| !minded.task.is_finished()));
        kept.retain(|_, kept| !kept.is_empty());
        let kept = kept.entry(session).or_default();
        kept.push_back(minded);
        while kept.len() > MOST
            && let Some(oldest) = kept.pop_front()
        {
            tracing::warn!(%session, shim = oldest.shim, "more than {MOST} commands left something running: the oldest is ended");
            oldest.end.send_replace(Some(Reason::TooMany));
        }
    }

    /// Ends what is left of a session's commands, and waits until it is gone.
    pub async fn end(&self, session: SessionId) {
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        let kept = kept.unwrap_or_default();
        for minded in &kept {
            tracing::info!(%session, shim = minded.shim, "the session is deleted: what its commands left running is ended");
            minded.end.send_replace(Some(Reason::SessionDeleted));
        }
        for minded in kept {
            // It ends by itself after TERM and KILL; a panic in it has nothing to say here.
            let _ = minded.task.await;
        }
    }
}

/// Ends it when told why, or when nobody is there any more who could tell.
async fn mind(mut tree: Tree, mut output: Option<ChildStdout>, mut ended: watch::Receiver<Option<Reason>>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            biased;
            told = ended.changed() => {
                let reason = told.ok().and_then(|()| *ended.borrow());
                tree.kill(reason.unwrap_or(Reason::Cancelled)).await;
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
