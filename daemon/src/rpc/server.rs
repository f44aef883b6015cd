//! Assembles the services, health, reflection and limits into one server. It never opens a socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentd_proto::server::admin_server::AdminServer;
use agentd_proto::server::events_server::EventsServer;
use agentd_proto::server::permissions_server::PermissionsServer;
use agentd_proto::server::queue_server::QueueServer;
use agentd_proto::server::sessions_server::SessionsServer;
use agentd_proto::server::tasks_server::TasksServer;
use agentd_proto::{FILE_DESCRIPTOR_SET, WireError};
use agentd_types::{AbsPath, Timestamp};
use futures_util::Stream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tonic::Status;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tonic_reflection::server::Builder as Reflection;

use super::gate::{Gate, Stage};
use super::status::bad_field;
use crate::clock::Clock;
use crate::sessions::{Registry, SessionHandle};

/// Largest message, both ways.
pub const LARGEST_MESSAGE: usize = 16 << 20;
/// How often a silent connection is asked whether it lives.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// How long open calls may take to end once the server shuts down: a stream that a client keeps open must not keep the daemon.
const LINGER: Duration = Duration::from_secs(2);
/// Calls at a time on one connection.
const MOST_STREAMS: u32 = 256;

/// What this daemon is, for whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub version: String,
    pub pid: u32,
    pub started_at: Timestamp,
    pub socket: AbsPath,
    pub data_dir: AbsPath,
    /// The model of sessions that name none.
    pub default_model: String,
    /// Where the provider's key comes from, never the key; empty = there is none.
    pub provider_key_source: String,
    /// Who would be asked for the default model; empty = nobody can be.
    pub provider: String,
    /// Where; empty without a server.
    pub provider_base_url: String,
    /// Why nobody can be asked; empty when somebody can.
    pub provider_problem: String,
}

/// All services: a cheap clone.
#[derive(Clone)]
pub struct Rpc {
    gate: Gate,
    facts: Arc<Facts>,
    clock: Arc<dyn Clock>,
    drain: mpsc::Sender<Duration>,
}

impl Rpc {
    /// `drain` gets the grace of each Drain call; while one is waiting there, further ones change nothing.
    #[must_use]
    pub fn new(stage: watch::Receiver<Stage>, facts: Facts, clock: Arc<dyn Clock>, drain: mpsc::Sender<Duration>) -> Self {
        Self { gate: Gate::new(stage), facts: Arc::new(facts), clock, drain }
    }

    /// The registry, once the store is open.
    pub(super) async fn registry(&self) -> Result<Registry, Status> {
        self.gate.registry().await
    }

    /// A session by name, id or an id's unique beginning.
    pub(super) async fn session(&self, what: &str) -> Result<SessionHandle, Status> {
        if what.is_empty() {
            return Err(bad_field(WireError::Missing { field: "session_id" }));
        }
        let registry = self.registry().await?;
        let id = registry.find(what).await?;
        Ok(registry.open(id).await?)
    }

    pub(super) fn stage(&self) -> Stage {
        self.gate.stage()
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn ask_drain(&self, grace: Duration) {
        match self.drain.try_send(grace) {
            Ok(()) => tracing::info!(grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX), "asked to drain"),
            // A drain is waiting or at work already; that is what was asked for.
            Err(mpsc::error::TrySendError::Full(_) | mpsc::error::TrySendError::Closed(_)) => tracing::info!("asked to drain again"),
        }
    }
}

/// Why the server could not be made or ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the API's own description cannot be served: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    #[error("serving ended: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves `incoming` until `shutdown` is done and the open calls have ended, which they have 2 s for. `incoming` is dropped when
/// `shutdown` is done.
///
/// # Errors
/// [`ServeError`]; a failing connection is none.
pub async fn serve<I, IO>(rpc: Rpc, incoming: I, shutdown: impl Future<Output = ()>) -> Result<(), ServeError>
where
    I: Stream<Item = io::Result<IO>>,
    IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let (reporter, health) = tonic_health::server::health_reporter();
    let describe = || {
        Reflection::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    macro_rules! service {
        ($server:ident) => {
            $server::new(rpc.clone()).max_decoding_message_size(LARGEST_MESSAGE).max_encoding_message_size(LARGEST_MESSAGE)
        };
    }
    // Told before the first connection, so that nobody is told "serving" too early.
    report(&reporter, &rpc.stage()).await;
    let router = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .max_concurrent_streams(MOST_STREAMS)
        .add_service(health)
        .add_service(describe().build_v1()?)
        .add_service(describe().build_v1alpha()?)
        .add_service(service!(SessionsServer))
        .add_service(service!(QueueServer))
        .add_service(service!(EventsServer))
        .add_service(service!(PermissionsServer))
        .add_service(service!(TasksServer))
        .add_service(service!(AdminServer));
    let (closing, closed) = oneshot::channel::<()>();
    let serving = router.serve_with_incoming_shutdown(incoming, async {
        shutdown.await;
        drop(closing);
    });
    let lingering = async {
        // An error, as it is only ever dropped.
        let _ = closed.await;
        tokio::time::sleep(LINGER).await;
    };
    let mut stages = rpc.gate.stages();
    tokio::pin!(serving, lingering);
    loop {
        tokio::select! {
            ended = &mut serving => return Ok(ended?),
            () = &mut lingering => {
                tracing::warn!("clients keep calls open; shutting down without them");
                return Ok(());
            }
            Ok(()) = stages.changed() => {
                let stage = stages.borrow_and_update().clone();
                report(&reporter, &stage).await;
            }
        }
    }
}

/// Health: serving when calls are answered, the whole and each service alike.
async fn report(reporter: &HealthReporter, stage: &Stage) {
    let status = match stage {
        Stage::Ready(_) => ServingStatus::Serving,
        Stage::Opening | Stage::Draining(_) => ServingStatus::NotServing,
    };
    for service in ["", "agent.v1.Sessions", "agent.v1.Queue", "agent.v1.Events", "agent.v1.Permissions", "agent.v1.Tasks"] {
        reporter.set_service_status(service, status).await;
    }
    reporter.set_service_status("agent.v1.Admin", ServingStatus::Serving).await;
}

#[cfg(test)]
mod tests;
