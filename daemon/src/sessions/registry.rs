//! Which sessions there are: id to handle, started on first use. It never looks inside one.

use std::time::Duration;

use agentd_types::session::SessionInfo;
use agentd_types::system::SessionChanges;
use agentd_types::{Origin, SessionId};
use tokio::sync::{mpsc, oneshot};

use super::error::SessionError;
use super::handle::SessionHandle;
use super::request::{CreateSession, ListFilter, Listed, Slice, StoreStatus};

pub(crate) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// What reaches the registry.
pub(crate) enum Ask {
    Create { create: Box<CreateSession>, reply: Reply<SessionInfo> },
    List { filter: ListFilter, slice: Slice, reply: Reply<Listed> },
    Count { reply: Reply<u64> },
    StoreStatus { reply: Reply<StoreStatus> },
    RebuildStore { reply: Reply<()> },
    Find { what: String, reply: Reply<SessionId> },
    Open { id: SessionId, reply: Reply<SessionHandle> },
    Delete { id: SessionId, by: Origin, reply: Reply<()> },
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

    /// One that keeps nobody alive.
    pub(crate) fn downgrade(&self) -> WeakRegistry {
        WeakRegistry { asks: self.asks.downgrade() }
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
    pub async fn list(&self, filter: ListFilter, slice: Slice) -> Result<Listed, SessionError> {
        self.ask(|reply| Ask::List { filter, slice, reply }).await
    }

    /// How many there are, archived ones too.
    pub async fn count(&self) -> Result<u64, SessionError> {
        self.ask(|reply| Ask::Count { reply }).await
    }

    /// How the store is.
    pub async fn store_status(&self) -> Result<StoreStatus, SessionError> {
        self.ask(|reply| Ask::StoreStatus { reply }).await
    }

    /// Builds the store's database anew; returns when it is done. Sessions go on meanwhile.
    pub async fn rebuild_store(&self) -> Result<(), SessionError> {
        self.ask(|reply| Ask::RebuildStore { reply }).await
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

    /// Ends what runs in it, then deletes it for ever; also one that cannot be read any more.
    pub async fn delete(&self, id: SessionId, by: Origin) -> Result<(), SessionError> {
        self.ask(|reply| Ask::Delete { id, by, reply }).await
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

/// A registry's handle that does not keep it running.
#[derive(Clone)]
pub(crate) struct WeakRegistry {
    asks: mpsc::WeakSender<Ask>,
}

impl WeakRegistry {
    /// `None` when everybody else has let go of it.
    pub(crate) fn upgrade(&self) -> Option<Registry> {
        self.asks.upgrade().map(Registry::new)
    }
}
