//! The recipe: socket, leftovers, store, models, tools, sessions, rpc, in order of need; and down again in the other.
//! It decides nothing.

use std::sync::Arc;

use agentd_core::session::Projection;
use agentd_core::session::fold::Ending;
use agentd_types::layout::{Layout, Vars};
use agentd_types::system::System;
use agentd_types::{AbsPath, Body, Seq, SessionId};
use tokio::sync::{mpsc, watch};

use crate::clock::{Clock, SystemClock};
use crate::drain::{self, Signals};
use crate::engine::Kit;
use crate::entropy::SystemEntropy;
use crate::listen::{self, ListenError};
use crate::lock::{Lock, LockError};
use crate::models::Models;
use crate::processes::{self, Shims};
use crate::rpc::{self, Facts, Rpc, Stage, WireCodec};
use crate::sessions::codec::Codec;
use crate::sessions::keeper::{self, Found};
use crate::sessions::{Registry, Shared, load};
use crate::settings::{self, Folders, SettingsError};
use crate::store::{BootId, Disk, Opened, Store};
use crate::tools::ask::AskUser;
use crate::tools::bash::Bash;
use crate::tools::registry::{ToolRegistry, built_in_files};
use crate::tools::survey::Survey;

/// What the daemon is started with: values only.
pub struct Config {
    pub layout: Layout,
    /// What runs as a shim: this program's own file.
    pub executable: AbsPath,
    pub home: Option<AbsPath>,
}

/// Why it could not start, or go on.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] crate::store::OpenError),
    #[error("{what} ended unexpectedly: {why}")]
    Task { what: &'static str, why: String },
    #[error(transparent)]
    Serve(#[from] crate::rpc::server::ServeError),
}

/// Runs the daemon until it is asked to go down.
///
/// # Errors
/// What kept it from starting, naming the path and the cause.
pub async fn run(config: Config, vars: &impl Vars, mut signals: Signals) -> Result<(), BootError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let layout = &config.layout;
    listen::check_length(&layout.socket)?;
    let loaded = settings::read(layout.settings.as_path())?;
    for warning in &loaded.warnings {
        tracing::warn!(settings = %layout.settings, "{warning}");
    }
    let folders = Folders::open(layout.settings.as_path())?;
    let lock = Lock::take(&layout.socket)?;
    // Before the socket: a daemon that cannot open its store must not look as if it ran.
    let (store, opened) = open_store(layout.data_dir.clone()).await?;
    tell(&opened);
    let (bound, socket_file) = listen::bind(&lock)?;
    let models = Arc::new(Models::new(&loaded.settings, vars));
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_at: clock.now(),
        socket: layout.socket.clone(),
        data_dir: layout.data_dir.clone(),
        default_model: models.default_model().to_owned(),
        provider_key_source: key_source(&models),
    };
    let (stage, staged) = watch::channel(Stage::Opening);
    let (ask_drain, mut drain_asked) = mpsc::channel(4);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let rpc = Rpc::new(staged, facts, Arc::clone(&clock), ask_drain);
    let serving = tokio::spawn(rpc::serve(rpc, bound.incoming(), async {
        let _ = stopped.await;
    }));
    let runtime_dir = layout.socket.parent().unwrap_or_else(|| layout.data_dir.clone());
    // Orphans of a killed daemon are gone before the first call is answered.
    processes::end_leftovers(&runtime_dir).await;
    let rules = Arc::new(folders.clone());
    let kit = Arc::new(kit(&config, loaded.settings, folders, models, clock, &runtime_dir));
    let shared = Arc::new(Shared { kit, store: store.clone(), codec: Arc::new(WireCodec), rules });
    let registry = open_sessions(shared).await?;
    stage.send_replace(Stage::Ready(registry.clone()));
    tracing::info!(socket = %layout.socket, data = %layout.data_dir, "ready");

    let grace = drain::wanted(&mut signals, &mut drain_asked).await;
    tracing::info!(?grace, "going down");
    stage.send_replace(Stage::Draining(Some(registry.clone())));
    tokio::select! {
        drained = registry.drain(grace) => {
            if let Err(error) = drained {
                tracing::warn!(%error, "the sessions did not drain");
            }
        }
        // A second signal cuts short.
        () = signals.next() => tracing::warn!("cut short by a second signal"),
    }
    let _ = stop.send(());
    serving.await.map_err(|error| BootError::Task { what: "the server", why: error.to_string() })??;
    if let Err(error) = store.shutdown().await {
        tracing::error!(%error, "the store did not stop cleanly");
    }
    drop(socket_file);
    drop(lock);
    tracing::info!("stopped");
    Ok(())
}

async fn open_store(data_dir: AbsPath) -> Result<(Store, Opened), BootError> {
    let open = move || {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Store::open(data_dir.join("journal").as_path(), Arc::new(Disk), BootId::new(&boot))
    };
    let opened = tokio::task::spawn_blocking(open).await;
    Ok(opened.map_err(|error| BootError::Task { what: "opening the store", why: error.to_string() })??)
}

fn tell(opened: &Opened) {
    if let Some(cut) = &opened.cut {
        tracing::warn!(?cut, "the journal's end was torn: cut there; nothing acknowledged was in it");
    }
    for (session, why) in &opened.quarantined {
        tracing::error!(%session, why, "a session's history is damaged: it is kept apart");
    }
}

fn key_source(models: &Models) -> String {
    models.resolve(models.default_model()).map_or_else(|_| "none".to_owned(), |provider| provider.key_source().to_owned())
}

fn kit(
    config: &Config,
    settings: agentd_types::config::Settings,
    folders: Folders,
    models: Arc<Models>,
    clock: Arc<dyn Clock>,
    runtime_dir: &AbsPath,
) -> Kit {
    let mut tools = built_in_files();
    let shims = Shims::new(config.executable.clone(), runtime_dir.clone());
    let survey = Survey::new(shims.clone());
    tools.push(Arc::new(Bash::new(shims)));
    tools.push(Arc::new(AskUser::default()));
    let tools = ToolRegistry::new(tools);
    Kit {
        models,
        specs: tools.specs(),
        tools,
        settings,
        survey,
        folders,
        clock,
        entropy: Arc::new(SystemEntropy),
        data_dir: config.layout.data_dir.clone(),
        home: config.home.clone(),
        protected: [Some(config.layout.data_dir.clone()), Some(runtime_dir.clone()), config.layout.settings.parent()]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// Every session's state as of its last event; those with something to do are loaded at once.
///
/// # Errors
/// When the task that reads them ends unexpectedly.
pub async fn open_sessions(shared: Arc<Shared>) -> Result<Registry, BootError> {
    let (store, codec) = (shared.store.clone(), Arc::clone(&shared.codec));
    let find = move || {
        let ids = store.sessions();
        ids.into_iter().filter_map(|(id, _)| found(&store, codec.as_ref(), id)).collect::<Vec<OnDisk>>()
    };
    let on_disk = tokio::task::spawn_blocking(find)
        .await
        .map_err(|error| BootError::Task { what: "reading the sessions", why: error.to_string() })?;
    let mut found = Vec::with_capacity(on_disk.len());
    for session in on_disk {
        match session {
            OnDisk::Kept(session) => found.push(*session),
            // A crash came between its last event and this.
            OnDisk::Deleted(id) => shared.store.forget(id, Box::new(|_| {})).await,
        }
    }
    Ok(keeper::start(shared, found))
}

/// A session as it lies on disk.
enum OnDisk {
    Kept(Box<Found>),
    Deleted(SessionId),
}

fn found(store: &Store, codec: &dyn Codec, id: SessionId) -> Option<OnDisk> {
    let mut creation_key = None;
    let projection: Projection = match load::projection(store, codec, id) {
        Ok(projection) => projection,
        Err(error) => {
            tracing::error!(session = %id, %error, "the session cannot be read");
            return None;
        }
    };
    if let Ok(first) = store.read_after(id, Seq::ZERO, 1, usize::MAX)
        && let Some((_, bytes)) = first.first()
        && let Ok(event) = codec.read(bytes)
        && let Body::System(System::Created { idempotency_key: Some(key), .. }) = event.body
    {
        creation_key = Some((key, event.time));
    }
    let wants_to_run = projection.run.is_some() || !projection.queue.commands().is_empty();
    Some(match projection.ending {
        Ending::Deleted => OnDisk::Deleted(id),
        Ending::Whole | Ending::Interrupted | Ending::Failed => {
            OnDisk::Kept(Box::new(Found { info: projection.info(), wants_to_run, creation_key }))
        }
    })
}
