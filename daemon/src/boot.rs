//! The recipe: socket, leftovers, store, models, tools, sessions, rpc, in order of need; and down again in the other.
//! It decides nothing.

use std::sync::Arc;

use agentd_types::layout::{Layout, Vars};
use agentd_types::session::SessionInfo;
use agentd_types::{AbsPath, SessionId};
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
use crate::sessions::keeper;
use crate::sessions::projector::{SessionProjector, summary};
use crate::sessions::spawner::Roles;
use crate::sessions::{Registry, Shared};
use crate::settings::{self, Folders, SettingsError};
use crate::store::{BootId, Disk, Limits, Opened, Places, Prepared, ReadError, Setup, Sled, Store};
use crate::tools::agent::Agent;
use crate::tools::ask::AskUser;
use crate::tools::bash::Bash;
use crate::tools::bash::survivors::Survivors;
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
    #[error(transparent)]
    Read(#[from] ReadError),
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
    // Before the socket: a daemon that cannot use its folder must not look as if it ran.
    let prepared = prepare_store(layout.data_dir.clone(), Arc::clone(&clock)).await?;
    let (bound, socket_file) = listen::bind(&lock)?;
    let models = Arc::new(Models::new(&loaded.settings, vars));
    let outlook = models.outlook();
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_at: clock.now(),
        socket: layout.socket.clone(),
        data_dir: layout.data_dir.clone(),
        default_model: models.default_model().to_owned(),
        provider_key_source: outlook.key_source,
        provider: outlook.provider.to_owned(),
        provider_base_url: outlook.base_url,
        provider_problem: outlook.problem,
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
    // Behind the socket: a lost database takes a while, calls wait.
    let (store, opened) = blocking("opening the store", move || prepared.open()).await??;
    tell(&opened);
    let rules = Arc::new(folders.clone());
    let kit = Arc::new(kit(&config, loaded.settings, folders, models, clock, &runtime_dir));
    let roles = Roles::of(&kit);
    let shared = Arc::new(Shared { kit, roles, store: store.clone(), codec: Arc::new(WireCodec), rules });
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

async fn prepare_store(data_dir: AbsPath, clock: Arc<dyn Clock>) -> Result<Prepared, BootError> {
    let prepare = move || {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Store::prepare(Setup {
            places: Places::within(data_dir.as_path()),
            files: Arc::new(Disk),
            shelves: Arc::new(Sled),
            projector: Arc::new(SessionProjector::new(Arc::new(WireCodec))),
            clock,
            boot: BootId::new(&boot),
            limits: Limits::default(),
        })
    };
    Ok(blocking("reading the journal", prepare).await??)
}

async fn blocking<T: Send + 'static>(what: &'static str, run: impl FnOnce() -> T + Send + 'static) -> Result<T, BootError> {
    tokio::task::spawn_blocking(run).await.map_err(|error| BootError::Task { what, why: error.to_string() })
}

fn tell(opened: &Opened) {
    if let Some(rebuilt) = &opened.rebuilt {
        tracing::error!(?rebuilt, "the database was lost: it was built anew from cold copies and journal");
    }
    if let Some(cut) = &opened.cut {
        tracing::warn!(?cut, "the journal's end was torn: cut there; nothing acknowledged was in it");
    }
    for (session, why) in &opened.quarantined {
        tracing::error!(%session, why, "a session's history is damaged: it is kept apart");
    }
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
    let survivors = Survivors::default();
    tools.push(Arc::new(Bash::new(shims, survivors.clone())));
    tools.push(Arc::new(AskUser::default()));
    tools.push(Arc::new(Agent::new()));
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
        survivors,
    }
}

/// Sessions that have something to do are loaded at once; all others when they are wanted.
///
/// # Errors
/// When they cannot be read.
pub async fn open_sessions(shared: Arc<Shared>) -> Result<Registry, BootError> {
    let store = shared.store.clone();
    let found = blocking("reading the sessions", move || unsettled(&store)).await??;
    let mut wanting = Vec::with_capacity(found.len());
    for session in found {
        match session {
            OnDisk::Wants(info) => wanting.push(*info),
            // A crash came between its last event and this.
            OnDisk::Deleted(id) => shared.store.forget(id, Box::new(|_| {})).await,
        }
    }
    Ok(keeper::start(shared, wanting))
}

/// A session that is not at rest.
enum OnDisk {
    Wants(Box<SessionInfo>),
    Deleted(SessionId),
}

fn unsettled(store: &Store) -> Result<Vec<OnDisk>, ReadError> {
    let mut found = Vec::new();
    for id in store.unsettled()? {
        match store.row(id)?.as_ref().map(summary) {
            Some(Ok(summary)) if summary.is_deleted() => found.push(OnDisk::Deleted(id)),
            Some(Ok(summary)) if summary.wants_to_run() => found.push(OnDisk::Wants(Box::new(summary.info))),
            Some(Ok(_)) | None => {}
            Some(Err(error)) => tracing::error!(session = %id, %error, "the session cannot go on by itself"),
        }
    }
    Ok(found)
}
