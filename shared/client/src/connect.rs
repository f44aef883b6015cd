//! A channel over the Unix socket, and calls that say who makes them. It never starts a daemon.

use std::time::Duration;

use agentd_proto::{CLIENT_METADATA, required};
use agentd_types::AbsPath;
use agentd_types::layout::Layout;
use hyper_util::rt::TokioIo;
use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::tokio::Stream as _;
use interprocess::local_socket::{GenericFilePath, ToFsName};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};

use crate::error::{ClientError, Kind};
use crate::probe::{self, Probe};
use crate::requests::DaemonInfo;

/// The daemon's places.
pub type Place = Layout;

/// A stalled stream must not hold up other calls: small stream windows below a large connection window.
const STREAM_WINDOW: u32 = 65_535;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// Bytes of one message.
pub(crate) const LARGEST: usize = 16 * 1024 * 1024;

/// A link to the daemon; cheap to clone.
#[derive(Clone)]
pub struct Connection {
    pub(crate) channel: Channel,
    pub(crate) name: MetadataValue<Ascii>,
    socket: AbsPath,
    info: DaemonInfo,
}

impl Connection {
    /// Connects to a daemon that runs, and makes sure that it speaks our protocol. `name` is how it will call us.
    ///
    /// # Errors
    /// [`Kind::Unreachable`] when nobody answers, [`Kind::Protocol`] when it speaks another protocol.
    pub async fn open(socket: &AbsPath, name: &str) -> Result<Connection, ClientError> {
        let name = MetadataValue::try_from(name.replace(|c: char| !c.is_ascii_graphic() && c != ' ', "?"))
            .map_err(|_| ClientError::new(Kind::Invalid, "the client's name cannot be sent"))?;
        let (channel, probe) = probe::shake(socket, &name).await?;
        let info = match probe {
            Probe::Ready { info } => *info,
            Probe::NeedsRestart { version, protocol, pid } => return Err(probe::needs_restart(&version, protocol, pid)),
            Probe::Unreachable { why } => return Err(ClientError::new(Kind::Unreachable, why)),
        };
        Ok(Connection { channel, name, socket: socket.clone(), info })
    }

    /// A second link to the same daemon, for a long subscription.
    pub(crate) async fn again(&self) -> Result<Channel, ClientError> {
        channel(&self.socket).await
    }

    /// As of the handshake.
    #[must_use]
    pub fn info(&self) -> &DaemonInfo {
        &self.info
    }

    /// As of now.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn daemon_info(&self) -> Result<DaemonInfo, ClientError> {
        probe::info(probe::ask(&self.channel, &self.name).await?)
    }

    /// A request that says who we are.
    pub(crate) fn request<T>(&self, message: T) -> tonic::Request<T> {
        named(&self.name, message)
    }
}

/// A request of the client called `name`.
pub(crate) fn named<T>(name: &MetadataValue<Ascii>, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert(CLIENT_METADATA, name.clone());
    request
}

pub(crate) async fn channel(socket: &AbsPath) -> Result<Channel, ClientError> {
    let path = socket.clone();
    let endpoint = Endpoint::from_static("http://localhost")
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(Duration::from_secs(20))
        .keep_alive_while_idle(true);
    let connector = tower::service_fn(move |_| {
        let path = path.clone();
        async move {
            let name = path.as_path().to_fs_name::<GenericFilePath>()?;
            Stream::connect(name).await.map(TokioIo::new)
        }
    });
    let connected = endpoint.connect_with_connector(connector).await;
    connected.map_err(|error| {
        let error = ClientError::from(error);
        ClientError { message: format!("no daemon answers at {socket}: {}", error.message), ..error }
    })
}

/// A message's field that must be there.
pub(crate) fn field<T>(name: &'static str, value: Option<T>) -> Result<T, ClientError> {
    Ok(required(name, value)?)
}
