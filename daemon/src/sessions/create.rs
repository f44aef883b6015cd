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
use super::request::CreateSession;
use super::{catalog, off_runtime};
use crate::store::{Batch, Commit, Level};

/// A creation that came to its end.
pub(super) struct Created {
    pub id: SessionId,
    pub result: Result<SessionInfo, SessionError>,
}

/// Creates the session unless its key or its name is taken, and tells the keeper what became of it.
pub(super) async fn run(id: SessionId, create: CreateSession, now: Timestamp, shared: Arc<Shared>, done: mpsc::UnboundedSender<Created>) {
    let result = match before(&create, now, &shared).await {
        Ok(Some(info)) => Ok(info),
        Ok(None) => append(id, create, now, &shared).await,
        Err(error) => Err(error),
    };
    // The keeper is gone only when the daemon is.
    let _ = done.send(Created { id, result });
}

/// The session that was created with this key before.
async fn before(create: &CreateSession, now: Timestamp, shared: &Shared) -> Result<Option<SessionInfo>, SessionError> {
    let (store, key, name) = (shared.store.clone(), create.idempotency_key.clone(), create.meta.name.clone());
    off_runtime(move || {
        let info = key.map(|key| catalog::created_with(&store, &key, now)).transpose()?.flatten();
        match (info, name) {
            (Some(info), _) => Ok(Some(info)),
            (None, Some(name)) => match catalog::named(&store, &name)? {
                Some(id) => Err(SessionError::NameTaken { name, id }),
                None => Ok(None),
            },
            (None, None) => Ok(None),
        }
    })
    .await
}

/// Appends `system: created`; returns when it is on disk.
async fn append(id: SessionId, create: CreateSession, now: Timestamp, shared: &Shared) -> Result<SessionInfo, SessionError> {
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
    match when.await {
        Ok(Commit::Synced | Commit::Written) => match Projection::open(&event) {
            Ok(projection) => Ok(projection.info()),
            Err(error) => failed(error.to_string()),
        },
        Ok(Commit::Failed(reason)) => failed(reason),
        Err(_) => failed("the commit thread has ended".to_owned()),
    }
}
