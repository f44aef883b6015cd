//! Which sessions there are: id to handle, started on first use. It never looks inside one.

use std::time::Duration;

use agentd_types::session::SessionInfo;
use agentd_types::system::SessionChanges;
use agentd_types::{Origin, SessionId};
use tokio::sync::{mpsc, oneshot};

use super::error::SessionError;
use super::handle::SessionHandle;
use super::request::{CreateSession, ListFilter};

pub(crate) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// What reaches the registry.
pub(crate) enum Ask {
    Create { create: Box<CreateSession>, reply: Reply<SessionInfo> },
    List { filter: ListFilter, reply: Reply<Vec<SessionInfo>> },
    Find { what: String, reply: Reply<SessionId> },
    Open { id: SessionId, reply: Reply<SessionHandle> },
    Update { id: SessionId, changes: SessionChanges, by: Origin, reply: Reply<SessionInfo> },
    Drain { grace: Duration, reply: Reply<()> },
}

/// The registry's handle: a cheap clone.
#[derive(Clone)]
pub struct Registry {
    asks: mpsc::Sender<Ask>,
}

impl Registry {
    pub(crate) fn new(asks: mpsc::Sender<Ask>) -> Self {
        Self { asks }
    }

    async fn ask<T>(&self, ask: impl FnOnce(Reply<T>) -> Ask) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(ask(reply)).await.map_err(|_| SessionError::Draining)?;
        answer.await.map_err(|_| SessionError::Draining)?
    }

    /// Creates; returns after `system: created` is durable.
    pub async fn create(&self, create: CreateSession) -> Result<SessionInfo, SessionError> {
        self.ask(|reply| Ask::Create { create: Box::new(create), reply }).await
    }

    /// Newest first.
    pub async fn list(&self, filter: ListFilter) -> Result<Vec<SessionInfo>, SessionError> {
        self.ask(|reply| Ask::List { filter, reply }).await
    }

    /// By name, id, or an id's unique beginning.
    pub async fn find(&self, what: impl Into<String>) -> Result<SessionId, SessionError> {
        let what = what.into();
        self.ask(|reply| Ask::Find { what, reply }).await
    }

    /// The session's handle, loading it on first use.
    pub async fn open(&self, id: SessionId) -> Result<SessionHandle, SessionError> {
        self.ask(|reply| Ask::Open { id, reply }).await
    }

    /// Changes a session's settings; a name must be free.
    pub async fn update(&self, id: SessionId, changes: SessionChanges, by: Origin) -> Result<SessionInfo, SessionError> {
        self.ask(|reply| Ask::Update { id, changes, by, reply }).await
    }

    /// Starts no submission any more, lets running rounds end within `grace`, then cuts them. Returns when all is on disk.
    pub async fn drain(&self, grace: Duration) -> Result<(), SessionError> {
        self.ask(|reply| Ask::Drain { grace, reply }).await
    }
}
