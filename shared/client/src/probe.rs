//! The handshake: who answers at a socket, and whether we understand each other. It never starts a daemon.

use std::time::Duration;

use agentd_proto::{PROTOCOL, v1, v1::admin_client::AdminClient};
use agentd_types::{AbsPath, Timestamp};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;

use crate::connect::{channel, named};
use crate::error::{ClientError, Kind};
use crate::requests::DaemonInfo;

/// How long the handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Who answers at a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    Ready {
        info: Box<DaemonInfo>,
    },
    /// A daemon of another protocol: it has to make place for one of ours.
    NeedsRestart {
        version: String,
        protocol: u32,
        pid: u32,
    },
    Unreachable {
        why: String,
    },
}

/// Asks at `socket`.
pub async fn probe(socket: &AbsPath) -> Probe {
    match shake(socket, &MetadataValue::from_static("probe")).await {
        Ok((_, probe)) => probe,
        Err(error) => Probe::Unreachable { why: error.message },
    }
}

/// The link with what was learnt over it; an error means that nobody answers, or nobody whom we understand.
pub(crate) async fn shake(socket: &AbsPath, name: &MetadataValue<Ascii>) -> Result<(Channel, Probe), ClientError> {
    let channel = channel(socket).await?;
    let asked = tokio::time::timeout(HANDSHAKE, ask(&channel, name)).await;
    let answer = asked.map_err(|_| ClientError::new(Kind::Unreachable, format!("the daemon at {socket} does not answer")))??;
    Ok((channel, judge(answer)?))
}

/// As of now, over a link that exists.
pub(crate) async fn ask(channel: &Channel, name: &MetadataValue<Ascii>) -> Result<v1::GetDaemonInfoResponse, ClientError> {
    Ok(AdminClient::new(channel.clone()).get_daemon_info(named(name, v1::GetDaemonInfoRequest {})).await?.into_inner())
}

/// Another protocol is told from version and number alone: the rest of such an answer may mean anything.
fn judge(answer: v1::GetDaemonInfoResponse) -> Result<Probe, ClientError> {
    if answer.protocol == PROTOCOL {
        return Ok(Probe::Ready { info: Box::new(info(answer)?) });
    }
    Ok(Probe::NeedsRestart { version: answer.version, protocol: answer.protocol, pid: answer.pid })
}

pub(crate) fn info(answer: v1::GetDaemonInfoResponse) -> Result<DaemonInfo, ClientError> {
    let state = match answer.state() {
        v1::DaemonState::Opening => "opening",
        v1::DaemonState::Ready => "ready",
        v1::DaemonState::Draining => "draining",
        v1::DaemonState::Unspecified => "unknown",
    };
    let path = |text: String| AbsPath::new(text).map_err(|error| ClientError::new(Kind::Protocol, error.to_string()));
    Ok(DaemonInfo {
        version: answer.version,
        protocol: answer.protocol,
        pid: answer.pid,
        started_at: Timestamp(answer.started_at_ms),
        socket: path(answer.socket)?,
        data_dir: path(answer.data_dir)?,
        default_model: answer.default_model,
        provider_key_source: answer.provider_key_source,
        sessions: answer.sessions,
        state: state.to_owned(),
        provider: answer.provider,
        provider_base_url: answer.provider_base_url,
        provider_problem: answer.provider_problem,
    })
}

/// The failure of whoever wanted to talk to such a daemon.
pub(crate) fn needs_restart(version: &str, protocol: u32, pid: u32) -> ClientError {
    let ours = env!("CARGO_PKG_VERSION");
    let message =
        format!("the daemon (version {version}, pid {pid}) speaks protocol {protocol}, this client (version {ours}) speaks {PROTOCOL}");
    ClientError::new(Kind::Protocol, message).hint(format!(
        "end it with `agent daemon stop` of version {version}, or `kill {pid}`; the next `agent` starts the new one, and sessions stay"
    ))
}

#[cfg(test)]
mod tests;
