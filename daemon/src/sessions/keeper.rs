//! The registry's owner: which sessions there are, which are loaded, who is called what. It never looks inside one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentd_core::session::{DrainStage, fold::KEY_LIFE_MS};
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::system::SessionChanges;
use agentd_types::{Origin, SessionId, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};

use super::actor::{self, Control, Note, Shared};
use super::create;
use super::error::SessionError;
use super::handle::{Call, SessionHandle};
use super::registry::{Ask, Registry, Reply};
use super::request::{CreateSession, ListFilter};

/// Calls that wait for one session.
const MAILBOX: usize = 256;
/// Calls that wait for the registry.
const ASKS: usize = 1_024;
/// How long cut rounds have to end when the daemon goes down.
const CUT_GRACE: Duration = Duration::from_secs(5);

/// What is known of a session.
enum Entry {
    Stub(Box<SessionInfo>),
    Loaded { handle: SessionHandle, control: mpsc::Sender<Control>, info: watch::Receiver<SessionInfo>, calls: Arc<AtomicU64> },
}

impl Entry {
    fn info(&self) -> SessionInfo {
        match self {
            Entry::Stub(info) => (**info).clone(),
            Entry::Loaded { info, .. } => info.borrow().clone(),
        }
    }
}

/// What an idempotency key of a creation stands for.
pub(super) struct CreatedBy {
    pub session: SessionId,
    pub at: Timestamp,
}

/// A session as it was found on disk.
pub struct Found {
    pub info: SessionInfo,
    /// A submission without a result, or queued commands: it goes on by itself.
    pub wants_to_run: bool,
    pub creation_key: Option<(String, Timestamp)>,
}

struct Keeper {
    shared: Arc<Shared>,
    sessions: BTreeMap<SessionId, Entry>,
    keys: BTreeMap<String, CreatedBy>,
    /// Names that a creation on its way to disk will take.
    reserved: BTreeMap<SessionId, String>,
    notes: mpsc::UnboundedSender<Note>,
    created: mpsc::UnboundedSender<create::Created>,
    draining: bool,
}

/// Starts the registry over what was found on disk. Sessions that want to run are loaded at once.
#[must_use]
pub fn start(shared: Arc<Shared>, found: Vec<Found>) -> Registry {
    let (asks, mut asked) = mpsc::channel(ASKS);
    // Bounded by the sessions: each says little, and only when nothing else is to be done.
    let (notes, mut noted) = mpsc::unbounded_channel();
    let (created, mut creations) = mpsc::unbounded_channel();
    let mut keeper =
        Keeper { shared, sessions: BTreeMap::new(), keys: BTreeMap::new(), reserved: BTreeMap::new(), notes, created, draining: false };
    for found in found {
        keeper.adopt(found);
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
            }
        }
    });
    Registry::new(asks)
}

impl Keeper {
    fn adopt(&mut self, found: Found) {
        let id = found.info.id;
        if let Some((key, at)) = found.creation_key {
            self.keys.insert(key, CreatedBy { session: id, at });
        }
        self.sessions.insert(id, Entry::Stub(Box::new(found.info)));
        if found.wants_to_run {
            self.load(id);
        }
    }

    fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Create { create, reply } => self.create(*create, reply),
            Ask::List { filter, reply } => tell(reply, Ok(self.list(&filter))),
            Ask::Find { what, reply } => tell(reply, self.find(&what)),
            Ask::Open { id, reply } => tell(reply, self.open(id)),
            Ask::Update { id, changes, by, reply } => self.update(id, changes, by, reply),
            Ask::Drain { grace, reply } => self.drain(grace, reply),
        }
    }

    fn create(&mut self, create: CreateSession, reply: Reply<SessionInfo>) {
        if self.draining {
            return tell(reply, Err(SessionError::Draining));
        }
        let now = self.shared.kit.clock.now();
        if let Some(key) = &create.idempotency_key {
            self.keys.retain(|_, used| now.since(used.at) < KEY_LIFE_MS);
            if let Some(info) = self.keys.get(key).and_then(|used| self.sessions.get(&used.session)).map(Entry::info) {
                return tell(reply, Ok(info));
            }
        }
        if let Some(name) = &create.meta.name
            && let Err(error) = self.name_is_free(name, None)
        {
            return tell(reply, Err(error));
        }
        let id = SessionId::from_u128(self.shared.kit.entropy.id());
        if let Some(name) = &create.meta.name {
            self.reserved.insert(id, name.clone());
        }
        tokio::spawn(create::append(id, create, now, Arc::clone(&self.shared), reply, self.created.clone()));
    }

    /// A creation is on disk, or failed.
    fn created(&mut self, created: create::Created) {
        let create::Created { id, result, key, reply } = created;
        self.reserved.remove(&id);
        if let Ok(info) = &result {
            if let Some(key) = key {
                self.keys.insert(key, CreatedBy { session: id, at: info.created_at });
            }
            self.sessions.insert(id, Entry::Stub(Box::new(info.clone())));
        }
        tell(reply, result);
    }

    fn name_is_free(&self, name: &str, but: Option<SessionId>) -> Result<(), SessionError> {
        let taken =
            self.sessions.iter().find(|(id, entry)| Some(**id) != but && entry.info().name.as_deref() == Some(name)).map(|(id, _)| *id);
        let reserved = self.reserved.iter().find(|(_, reserved)| *reserved == name).map(|(id, _)| *id);
        match taken.or(reserved) {
            Some(id) => Err(SessionError::NameTaken { name: name.to_owned(), id }),
            None => Ok(()),
        }
    }

    fn list(&self, filter: &ListFilter) -> Vec<SessionInfo> {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let fits = |info: &SessionInfo| {
            let archived = info.state == SessionState::Archived && !filter.all;
            let elsewhere = filter.cwd.as_ref().is_some_and(|cwd| *cwd != info.cwd);
            let other = text
                .as_ref()
                .is_some_and(|text| !info.name.iter().chain([&info.last_text]).any(|it| it.to_lowercase().contains(text.as_str())));
            !archived && !elsewhere && !other
        };
        // Ids are UUIDv7: newest last.
        self.sessions.values().rev().map(Entry::info).filter(fits).collect()
    }

    fn find(&self, what: &str) -> Result<SessionId, SessionError> {
        if let Some(id) = self.sessions.iter().find(|(_, entry)| entry.info().name.as_deref() == Some(what)).map(|(id, _)| *id) {
            return Ok(id);
        }
        let start = what.to_lowercase();
        let fits: Vec<SessionId> = self.sessions.keys().filter(|id| id.to_string().starts_with(&start)).copied().collect();
        match fits.as_slice() {
            [id] if !what.is_empty() => Ok(*id),
            [] | [_] => Err(SessionError::NotFound { what: what.to_owned(), near: self.near(what) }),
            several => {
                let matches = several.iter().take(5).map(ToString::to_string).collect();
                Err(SessionError::Ambiguous { what: what.to_owned(), matches })
            }
        }
    }

    /// Names that resemble `what`, at most three.
    fn near(&self, what: &str) -> Vec<String> {
        let what = what.to_lowercase();
        let resembles = |name: &String| {
            let name = name.to_lowercase();
            let shared = name.chars().zip(what.chars()).take_while(|(a, b)| a == b).count();
            name.contains(&what) || what.contains(&name) || shared >= 3
        };
        self.sessions.values().filter_map(|entry| entry.info().name).filter(resembles).take(3).collect()
    }

    fn open(&mut self, id: SessionId) -> Result<SessionHandle, SessionError> {
        match self.sessions.get(&id) {
            None => Err(SessionError::NotFound { what: id.to_string(), near: Vec::new() }),
            Some(Entry::Loaded { handle, .. }) if !handle.is_gone() => Ok(handle.clone()),
            Some(Entry::Loaded { .. } | Entry::Stub(_)) => Ok(self.load(id)),
        }
    }

    fn load(&mut self, id: SessionId) -> SessionHandle {
        let (calls, called) = mpsc::channel::<Call>(MAILBOX);
        let (control, controlled) = mpsc::channel(4);
        let handle = SessionHandle::new(id, calls);
        if let Some(entry) = self.sessions.get_mut(&id) {
            let (info, watched) = watch::channel(entry.info());
            let taken = Arc::new(AtomicU64::new(0));
            tokio::spawn(actor::run(id, Arc::clone(&self.shared), called, controlled, info, Arc::clone(&taken), self.notes.clone()));
            *entry = Entry::Loaded { handle: handle.clone(), control, info: watched, calls: taken };
        }
        handle
    }

    /// A new name must be free; the rest is the session's own matter.
    fn update(&mut self, id: SessionId, changes: SessionChanges, by: Origin, reply: Reply<SessionInfo>) {
        if let Some(name) = changes.name.as_deref().filter(|name| !name.is_empty())
            && let Err(error) = self.name_is_free(name, Some(id))
        {
            return tell(reply, Err(error));
        }
        match self.open(id) {
            Ok(handle) => {
                tokio::spawn(async move { tell(reply, handle.update(changes, by).await) });
            }
            Err(error) => tell(reply, Err(error)),
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Idle(id, calls) => {
                let Some(entry) = self.sessions.get_mut(&id) else { return };
                let info = entry.info();
                // Nobody holds a handle and no call came since: nothing can have begun. Its last handle is dropped with
                // the entry, and the actor ends when its calls do.
                if let Entry::Loaded { handle, calls: taken, .. } = entry
                    && handle.is_only_one()
                    && taken.load(Ordering::Acquire) == calls
                {
                    *entry = Entry::Stub(Box::new(info));
                }
            }
            Note::Deleted(id) => {
                self.sessions.remove(&id);
                self.keys.retain(|_, used| used.session != id);
            }
            Note::Lost(id) => {
                if let Some(entry) = self.sessions.get_mut(&id) {
                    let info = SessionInfo { state: SessionState::Failed, ..entry.info() };
                    *entry = Entry::Stub(Box::new(info));
                }
            }
        }
    }

    /// Stops starting, lets running rounds end within `grace`, then cuts them.
    fn drain(&mut self, grace: Duration, reply: Reply<()>) {
        self.draining = true;
        let controls: Vec<mpsc::Sender<Control>> = self
            .sessions
            .values()
            .filter_map(|entry| match entry {
                Entry::Stub(_) => None,
                Entry::Loaded { control, .. } => Some(control.clone()),
            })
            .collect();
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
