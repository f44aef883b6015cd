//! The registry's owner: which sessions are loaded, and what is on its way. Which there are the store knows (`catalog`). It
//! never looks inside one and never waits for the disk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentd_core::query::StoreFailure;
use agentd_core::session::DrainStage;
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::system::SessionChanges;
use agentd_types::{Origin, SessionId};
use tokio::sync::{mpsc, oneshot, watch};

use super::actor::{self, Control, Note, Shared};
use super::catalog::{self, Overlay};
use super::create;
use super::error::SessionError;
use super::handle::{Call, SessionHandle};
use super::off_runtime;
use super::registry::{Ask, Registry, Reply, WeakRegistry};
use super::request::CreateSession;
use crate::store::{Commit, Store};

/// Calls that wait for one session.
const MAILBOX: usize = 256;
/// Calls that wait for the registry.
const ASKS: usize = 1_024;
/// How long cut rounds have to end when the daemon goes down.
const CUT_GRACE: Duration = Duration::from_secs(5);

/// A session that is loaded.
struct Loaded {
    handle: SessionHandle,
    control: mpsc::Sender<Control>,
    info: watch::Receiver<SessionInfo>,
    /// Calls its actor has taken.
    calls: Arc<AtomicU64>,
}

/// What tasks that look into the store tell the keeper.
enum Told {
    /// The session is there: it may be loaded.
    Looked { info: Box<SessionInfo>, reply: Reply<SessionHandle> },
    /// Its new name is on disk, or refused.
    Renamed(SessionId),
}

struct Keeper {
    shared: Arc<Shared>,
    loaded: BTreeMap<SessionId, Loaded>,
    /// Sessions that could not be loaded or panicked, since the daemon started; the list says so.
    lost: BTreeMap<SessionId, SessionInfo>,
    /// Names that a creation or a renaming on its way to disk will take.
    reserved: BTreeMap<SessionId, String>,
    /// Creations on their way to disk, and who waits for them.
    creating: BTreeMap<SessionId, Creating>,
    notes: mpsc::UnboundedSender<Note>,
    created: mpsc::UnboundedSender<create::Created>,
    told: mpsc::UnboundedSender<Told>,
    registry: WeakRegistry,
    draining: bool,
}

struct Creating {
    key: Option<String>,
    replies: Vec<Reply<SessionInfo>>,
}

/// Starts the registry. The sessions of `unsettled` are loaded at once: they go on by themselves.
#[must_use]
pub fn start(shared: Arc<Shared>, unsettled: Vec<SessionInfo>) -> Registry {
    let (asks, mut asked) = mpsc::channel(ASKS);
    // Bounded by the sessions and the calls in flight: each says little, and only when nothing else is to be done.
    let (notes, mut noted) = mpsc::unbounded_channel();
    let (created, mut creations) = mpsc::unbounded_channel();
    let (told, mut words) = mpsc::unbounded_channel();
    let registry = Registry::new(asks);
    let mut keeper = Keeper {
        shared,
        loaded: BTreeMap::new(),
        lost: BTreeMap::new(),
        reserved: BTreeMap::new(),
        creating: BTreeMap::new(),
        notes,
        created,
        told,
        registry: registry.downgrade(),
        draining: false,
    };
    for info in unsettled {
        keeper.load(info);
    }
    tokio::spawn(async move {
        loop {
            tokio::select! {
                ask = asked.recv() => match ask {
                    Some(ask) => keeper.ask(ask),
                    None => return,
                },
                Some(note) = noted.recv() => keeper.note(note),
                Some(created) = creations.recv() => keeper.created(created),
                Some(told) = words.recv() => keeper.told(told),
            }
        }
    });
    registry
}

impl Keeper {
    fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Create { create, reply } => self.create(*create, reply),
            Ask::List { filter, slice, reply } => {
                let overlay = self.overlay();
                self.look(reply, move |store| catalog::list(&store, &filter, slice, &overlay));
            }
            Ask::Count { reply } => self.look(reply, |store| catalog::count(&store)),
            Ask::StoreStatus { reply } => self.look(reply, |store| Ok(store.status())),
            Ask::RebuildStore { reply } => {
                self.look(reply, |store| store.rebuild().map_err(|reason| SessionError::Store(StoreFailure { reason })));
            }
            Ask::Find { what, reply } => self.look(reply, move |store| catalog::find(&store, &what)),
            Ask::Open { id, reply } => self.open(id, reply),
            Ask::Update { id, changes, by, reply } => self.update(id, changes, by, reply),
            Ask::Delete { id, by, reply } => self.delete(id, by, reply),
            Ask::Drain { grace, reply } => self.drain(grace, reply),
        }
    }

    /// Answers with what is found in the store.
    fn look<T: Send + 'static>(&self, reply: Reply<T>, look: impl FnOnce(Store) -> Result<T, SessionError> + Send + 'static) {
        let store = self.shared.store.clone();
        tokio::spawn(async move { tell(reply, off_runtime(move || look(store)).await) });
    }

    fn overlay(&self) -> Overlay {
        let loaded = self.loaded.iter().map(|(id, loaded)| (*id, loaded.info.borrow().clone()));
        self.lost.iter().map(|(id, info)| (*id, info.clone())).chain(loaded).collect()
    }

    fn create(&mut self, create: CreateSession, reply: Reply<SessionInfo>) {
        if self.draining {
            return tell(reply, Err(SessionError::Draining));
        }
        let key = create.idempotency_key.clone();
        if let Some(same) = self.creating.values_mut().find(|it| it.key.is_some() && it.key == key) {
            return same.replies.push(reply);
        }
        let now = self.shared.kit.clock.now();
        let id = SessionId::from_u128(self.shared.kit.entropy.id());
        if let Some(name) = &create.meta.name {
            if let Err(error) = self.name_is_free(name) {
                return tell(reply, Err(error));
            }
            self.reserved.insert(id, name.clone());
        }
        self.creating.insert(id, Creating { key, replies: vec![reply] });
        tokio::spawn(create::run(id, create, now, Arc::clone(&self.shared), self.created.clone()));
    }

    /// A creation is on disk, or failed.
    fn created(&mut self, created: create::Created) {
        let create::Created { id, result } = created;
        self.reserved.remove(&id);
        let replies = self.creating.remove(&id).map(|it| it.replies).unwrap_or_default();
        for reply in replies {
            tell(reply, result.clone());
        }
    }

    /// Whether nothing on its way to disk takes the name; whether a session has it, the store knows.
    fn name_is_free(&self, name: &str) -> Result<(), SessionError> {
        match self.reserved.iter().find(|(_, reserved)| *reserved == name) {
            Some((id, _)) => Err(SessionError::NameTaken { name: name.to_owned(), id: *id }),
            None => Ok(()),
        }
    }

    fn open(&mut self, id: SessionId, reply: Reply<SessionHandle>) {
        if let Some(loaded) = self.loaded.get(&id).filter(|loaded| !loaded.handle.is_gone()) {
            return tell(reply, Ok(loaded.handle.clone()));
        }
        let (store, told) = (self.shared.store.clone(), self.told.clone());
        tokio::spawn(async move {
            match off_runtime(move || catalog::info_of(&store, id)).await {
                Ok(info) => {
                    let _ = told.send(Told::Looked { info: Box::new(info), reply });
                }
                Err(error) => tell(reply, Err(error)),
            }
        });
    }

    fn told(&mut self, told: Told) {
        match told {
            Told::Looked { info, reply } => {
                let handle = match self.loaded.get(&info.id).filter(|loaded| !loaded.handle.is_gone()) {
                    Some(loaded) => loaded.handle.clone(),
                    None => self.load(*info),
                };
                tell(reply, Ok(handle));
            }
            Told::Renamed(id) => {
                self.reserved.remove(&id);
            }
        }
    }

    fn load(&mut self, info: SessionInfo) -> SessionHandle {
        let id = info.id;
        let (calls, called) = mpsc::channel::<Call>(MAILBOX);
        let (control, controlled) = mpsc::channel(4);
        let handle = SessionHandle::new(id, calls);
        let (info, watched) = watch::channel(info);
        let taken = Arc::new(AtomicU64::new(0));
        tokio::spawn(actor::run(id, Arc::clone(&self.shared), called, controlled, info, Arc::clone(&taken), self.notes.clone()));
        self.lost.remove(&id);
        self.loaded.insert(id, Loaded { handle: handle.clone(), control, info: watched, calls: taken });
        handle
    }

    /// A new name must be free; the rest is the session's own matter.
    fn update(&mut self, id: SessionId, changes: SessionChanges, by: Origin, reply: Reply<SessionInfo>) {
        let name = changes.name.clone().filter(|name| !name.is_empty());
        if let Some(name) = &name {
            if let Err(error) = self.name_is_free(name) {
                return tell(reply, Err(error));
            }
            self.reserved.insert(id, name.clone());
        }
        let (store, told, registry) = (self.shared.store.clone(), self.told.clone(), self.registry.clone());
        tokio::spawn(async move {
            let updated = async {
                let taken = off_runtime(move || {
                    let Some(name) = name else { return Ok(None) };
                    Ok(catalog::named(&store, &name)?.filter(|other| *other != id).map(|other| (name, other)))
                });
                if let Some((name, id)) = taken.await? {
                    return Err(SessionError::NameTaken { name, id });
                }
                registry.upgrade().ok_or(SessionError::Draining)?.open(id).await?.update(changes, by).await
            };
            let updated = updated.await;
            let _ = told.send(Told::Renamed(id));
            tell(reply, updated);
        });
    }

    /// By its actor, which ends what runs; one that cannot be read has none.
    fn delete(&self, id: SessionId, by: Origin, reply: Reply<()>) {
        let (store, registry) = (self.shared.store.clone(), self.registry.clone());
        tokio::spawn(async move {
            let Some(registry) = registry.upgrade() else { return tell(reply, Err(SessionError::Draining)) };
            let deleted = match registry.open(id).await {
                Ok(session) => session.delete(by).await,
                Err(SessionError::Store(failure)) if store.is_quarantined(id) => {
                    tracing::warn!(session = %id, reason = %failure.reason, %by, "a session that cannot be read is deleted");
                    forget(&store, id).await
                }
                Err(error) => Err(error),
            };
            tell(reply, deleted);
        });
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Idle(id, calls) => {
                // Nobody holds a handle and no call came since: nothing can have begun. Its last handle is dropped with
                // the entry, and the actor ends when its calls do.
                let idle = |loaded: &Loaded| loaded.handle.is_only_one() && loaded.calls.load(Ordering::Acquire) == calls;
                if self.loaded.get(&id).is_some_and(idle) {
                    self.loaded.remove(&id);
                }
            }
            Note::Deleted(id) => {
                self.loaded.remove(&id);
                self.lost.remove(&id);
            }
            Note::Lost(id) => {
                if let Some(loaded) = self.loaded.remove(&id) {
                    let info = SessionInfo { state: SessionState::Failed, ..loaded.info.borrow().clone() };
                    self.lost.insert(id, info);
                }
            }
        }
    }

    /// Stops starting, lets running rounds end within `grace`, then cuts them.
    fn drain(&mut self, grace: Duration, reply: Reply<()>) {
        self.draining = true;
        let controls: Vec<mpsc::Sender<Control>> = self.loaded.values().map(|loaded| loaded.control.clone()).collect();
        tokio::spawn(async move {
            if tokio::time::timeout(grace, tell_all(&controls, DrainStage::Stop)).await.is_err() {
                tracing::info!("the grace period is over: running submissions are cut");
                if tokio::time::timeout(CUT_GRACE, tell_all(&controls, DrainStage::Cut)).await.is_err() {
                    tracing::warn!("some submissions did not end in time");
                }
            }
            tell(reply, Ok(()));
        });
    }
}

/// Nothing of it is left afterwards.
async fn forget(store: &Store, id: SessionId) -> Result<(), SessionError> {
    let (done, outcome) = oneshot::channel();
    let mut done = Some(done);
    let waiter = Box::new(move |commit| {
        if let Some(done) = done.take() {
            let _ = done.send(commit);
        }
    });
    store.forget(id, waiter).await;
    match outcome.await {
        Ok(Commit::Synced | Commit::Written) => Ok(()),
        Ok(Commit::Failed(reason)) => Err(SessionError::Store(StoreFailure { reason })),
        Err(_) => Err(SessionError::Gone),
    }
}

/// Tells every session and waits until each has nothing left to do.
async fn tell_all(controls: &[mpsc::Sender<Control>], stage: DrainStage) {
    let mut quiet = Vec::with_capacity(controls.len());
    for control in controls {
        let (done, when) = oneshot::channel();
        // A session that is gone has nothing left to do.
        if control.send(Control::Drain { stage, quiet: done }).await.is_ok() {
            quiet.push(when);
        }
    }
    for when in quiet {
        let _ = when.await;
    }
}

/// The caller may have gone.
fn tell<T>(reply: Reply<T>, result: Result<T, SessionError>) {
    let _ = reply.send(result);
}
