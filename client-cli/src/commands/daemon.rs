//! The daemon itself: start, stop, status.

use std::time::Duration;

use agentd_client::{ClientError, Connection, DaemonInfo, Holder, Kind, Probe, Start, ensure, probe, released};
use serde_json::json;

use crate::args::{DaemonCommand, Global};
use crate::exit::{Exit, Failure};
use crate::output::{Out, timestamp};
use crate::place;

pub async fn run(global: &Global, command: &DaemonCommand) -> Result<Exit, Failure> {
    let layout = place::layout(global)?;
    match command {
        DaemonCommand::Start => {
            let connection = ensure(&layout, &place::name(), Start::Auto).await?;
            Out::line(&format!("running, pid {}", connection.info().pid))?;
        }
        DaemonCommand::Status => {
            return match probe(&layout.socket).await {
                Probe::Ready { info } => status(global, &info),
                Probe::NeedsRestart { version, protocol, pid } => other(global, &version, protocol, pid),
                Probe::Unreachable { why } => Err(ClientError::new(Kind::Unreachable, why).into()),
            };
        }
        DaemonCommand::Stop { grace } => match Connection::open(&layout.socket, &place::name()).await {
            Ok(connection) => {
                let pid = connection.info().pid;
                connection.drain(Duration::from_secs(*grace)).await?;
                match released(&layout, Duration::from_secs(grace.saturating_add(10))).await {
                    Holder::Gone => {}
                    Holder::Alive => return Err(Failure::Other("the daemon did not stop in time; its log says why".to_owned())),
                }
                Out::line(&format!("stopped, pid {pid}"))?;
            }
            Err(error) if error.kind == Kind::Unreachable => Out::line("not running")?,
            Err(error) => return Err(error.into()),
        },
    }
    Ok(Exit::Done)
}

/// A daemon of another protocol: what is known of it, and that it has to make place.
fn other(global: &Global, version: &str, protocol: u32, pid: u32) -> Result<Exit, Failure> {
    if global.json {
        Out::json(&json!({"version": version, "protocol": protocol, "pid": pid, "state": "needs_restart"}))?;
    } else {
        Out::line(&format!("needs a restart (version {version}, protocol {protocol}, pid {pid}): this client speaks another protocol"))?;
    }
    Ok(Exit::Failed)
}

fn status(global: &Global, info: &DaemonInfo) -> Result<Exit, Failure> {
    if global.json {
        Out::json(&json!({
            "version": info.version, "protocol": info.protocol, "pid": info.pid, "state": info.state, "socket": info.socket.to_string(),
            "data_dir": info.data_dir.to_string(), "default_model": info.default_model, "provider_key_source": info.provider_key_source,
            "sessions": info.sessions, "started_at": timestamp(info.started_at),
        }))?;
    } else {
        Out::line(&format!("{} (version {}, protocol {}, pid {})", info.state, info.version, info.protocol, info.pid))?;
        Out::line(&format!("socket {}\ndata {}", info.socket, info.data_dir))?;
        Out::line(&format!("model {} (key: {}), {} sessions", info.default_model, info.provider_key_source, info.sessions))?;
    }
    Ok(Exit::Done)
}
