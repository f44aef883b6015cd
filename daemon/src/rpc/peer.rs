//! Who is at the other end of a connection: the kernel's word for the process, the client's own for its name.

use agentd_proto::CLIENT_METADATA;
use agentd_types::live::ClientInfo;
use agentd_types::{Origin, Timestamp};
use interprocess::local_socket::traits::StreamCommon;
use tonic::Request;

/// Longest name a client may give itself, in bytes.
const LONGEST_NAME: usize = 128;

/// The process that connected, as the kernel says; it may have ended since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    /// Absent where the kernel does not tell (macOS).
    pub pid: Option<u32>,
    /// When that process started, in clock ticks since boot: with the pid it names one process for ever. Linux only.
    pub start_time: Option<u64>,
}

/// Somebody else's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is from uid {uid} (pid {}), this daemon serves uid {own} and root only", .pid.map_or("unknown".to_owned(), |pid| pid.to_string()))]
pub struct Stranger {
    pub uid: u32,
    pub pid: Option<u32>,
    pub own: u32,
}

impl Peer {
    /// Asks the kernel.
    ///
    /// # Errors
    /// When the kernel does not tell the uid: such a connection cannot be let in.
    pub fn of(stream: &impl StreamCommon) -> std::io::Result<Peer> {
        let creds = stream.peer_creds()?;
        let uid = creds.euid().ok_or_else(|| std::io::Error::other("the kernel does not tell who connected"))?;
        let pid = creds.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
        Ok(Peer { uid, pid, start_time: pid.and_then(start_time) })
    }

    /// Whether this process may talk to a daemon of uid `own`.
    ///
    /// # Errors
    /// [`Stranger`] for every uid but `own` and root.
    pub fn admit(self, own: u32) -> Result<(), Stranger> {
        if self.uid == own || self.uid == 0 { Ok(()) } else { Err(Stranger { uid: self.uid, pid: self.pid, own }) }
    }
}

/// Field 22 of `/proc/PID/stat`. The name in field 2 may hold anything, also `)`: what counts is after the last one.
fn start_time(pid: u32) -> Option<u64> {
    start_time_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn start_time_in(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Who makes a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// As the client names itself ("cli on pts/3"), or "client pid N".
    pub name: String,
    pub pid: Option<u32>,
}

impl Caller {
    /// From a request's metadata and connection.
    #[must_use]
    pub fn of<T>(request: &Request<T>) -> Caller {
        let pid = request.extensions().get::<Peer>().and_then(|peer| peer.pid);
        let given = request.metadata().get(CLIENT_METADATA).and_then(|name| name.to_str().ok()).map(str::trim);
        let name = match given {
            Some(name) if !name.is_empty() => name.chars().take(LONGEST_NAME).collect(),
            Some(_) | None => pid.map_or("client".to_owned(), |pid| format!("client pid {pid}")),
        };
        Caller { name, pid }
    }

    /// The person at that client.
    #[must_use]
    pub fn origin(self) -> Origin {
        Origin::Person { client: self.name }
    }

    /// The client as others see it attached.
    #[must_use]
    pub fn attached(self, since: Timestamp) -> ClientInfo {
        ClientInfo { name: self.name, pid: self.pid, since }
    }
}

#[cfg(test)]
mod tests;
