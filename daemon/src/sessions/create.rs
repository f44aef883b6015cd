//! A session's first event, brought to disk before anyone hears of the session.

use std::sync::Arc;

use agentd_core::query::StoreFailure;
use agentd_core::session::Projection;
use agentd_types::session::SessionInfo;
use agentd_types::system::System;
use agentd_types::{Body, Entry, Seq, SessionId, Timestamp};
use tokio::sync::{mpsc, oneshot};

use super::actor::Shared;
use super::error::SessionError;
use super::registry::Reply;
use super::request::CreateSession;
use crate::store::{Batch, Commit, Level};

/// A creation that came to its end.
pub(super) struct Created {
    pub id: SessionId,
    pub result: Result<SessionInfo, SessionError>,
    pub key: Option<String>,
    pub reply: Reply<SessionInfo>,
}

/// Appends `system: created` and tells the keeper when it is on disk.
pub(super) async fn append(
    id: SessionId,
    create: CreateSession,
    now: Timestamp,
    shared: Arc<Shared>,
    reply: Reply<SessionInfo>,
    done: mpsc::UnboundedSender<Created>,
) {
    let key = create.idempotency_key.clone();
    let body = Body::System(System::Created { meta: create.meta, idempotency_key: create.idempotency_key });
    let event = Entry::outside(body).by(create.by).number(id, Seq::ZERO.next(), now);
    let (told, when) = oneshot::channel();
    let mut told = Some(told);
    let waiter = Box::new(move |commit| match commit {
        Commit::Written => {}
        Commit::Synced | Commit::Failed(_) => {
            if let Some(told) = told.take() {
                let _ = told.send(commit);
            }
        }
    });
    let batch = Batch { session: id, first: event.seq, events: vec![shared.codec.event(&event)], level: Level::Synced };
    shared.store.append(batch, waiter).await;
    let failed = |reason: String| Err(SessionError::Store(StoreFailure { reason }));
    let result = match when.await {
        Ok(Commit::Synced | Commit::Written) => match Projection::open(&event) {
            Ok(projection) => Ok(projection.info()),
            Err(error) => failed(error.to_string()),
        },
        Ok(Commit::Failed(reason)) => failed(reason),
        Err(_) => failed("the commit thread has ended".to_owned()),
    };
    // The keeper is gone only when the daemon is.
    let _ = done.send(Created { id, result, key, reply });
}
