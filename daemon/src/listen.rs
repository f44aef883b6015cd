//! The socket: bound by the holder of the lock, accepting whoever may connect. It never replaces a socket that answers.

use std::fs;
use std::io::{self, IoSlice};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use agentd_types::AbsPath;
use futures_util::Stream;
use futures_util::stream::unfold;
use interprocess::local_socket::tokio::{Listener, Stream as LocalStream};
use interprocess::local_socket::traits::tokio::Listener as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName};
use interprocess::os::unix::local_socket::ListenerOptionsExt;
use interprocess::os::unix::uds_local_socket::tokio::Stream as UnixIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use crate::lock::Lock;
use crate::rpc::peer::Peer;

/// Longest path of a socket, in bytes.
const LONGEST_PATH: usize = if cfg!(target_os = "macos") { 103 } else { 107 };
/// Between two tries to accept, when the system has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "the socket's path has {length} bytes, at most {LONGEST_PATH} are possible: {}; name a shorter one with AGENT_SOCKET or --socket",
        .path.display()
    )]
    TooLong { path: PathBuf, length: usize },
    #[error("{} is in the way and is no socket; move it, or choose another socket with AGENT_SOCKET or --socket", .path.display())]
    InTheWay { path: PathBuf },
    #[error("something that does not hold the lock answers at {}; end it first", .path.display())]
    Answered { path: PathBuf },
    #[error("cannot listen at {}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// A bound socket.
pub struct Bound {
    listener: Listener,
    own: u32,
}

/// The socket's file. Dropping it removes the file, if it is still the one that was bound. Drop it before the lock.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Binds the lock's socket (mode 0600), in place of a stale one. Needs a runtime.
///
/// # Errors
/// [`ListenError`], which names the path.
pub fn bind(lock: &Lock) -> Result<(Bound, SocketFile), ListenError> {
    let path = lock.socket().as_path().to_path_buf();
    check_length(lock.socket())?;
    let failed = |error| ListenError::Io { path: path.clone(), error };
    clear_stale(&path)?;
    let name = path.as_path().to_fs_name::<GenericFilePath>().map_err(failed)?;
    // Not reclaimed on drop: that would remove the path whoever's socket is there by then. `SocketFile` looks first.
    let listener = ListenerOptions::new().name(name).mode(0o600).reclaim_name(false).create_tokio().map_err(failed)?;
    let found = fs::symlink_metadata(&path).map_err(failed)?;
    let file = SocketFile { path: path.clone(), device: found.dev(), inode: found.ino() };
    Ok((Bound { listener, own: rustix::process::geteuid().as_raw() }, file))
}

/// Says so before anything is made.
///
/// # Errors
/// [`ListenError::TooLong`].
pub fn check_length(socket: &AbsPath) -> Result<(), ListenError> {
    let length = socket.as_path().as_os_str().as_bytes().len();
    if length > LONGEST_PATH { Err(ListenError::TooLong { path: socket.as_path().to_path_buf(), length }) } else { Ok(()) }
}

/// Removes a socket that nobody listens at. The lock is held: nobody else binds meanwhile.
fn clear_stale(path: &PathBuf) -> Result<(), ListenError> {
    let failed = |error| ListenError::Io { path: path.clone(), error };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => return Err(ListenError::InTheWay { path: path.clone() }),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ListenError::Answered { path: path.clone() }),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            tracing::info!(path = %path.display(), "removing the socket of a daemon that is gone");
            fs::remove_file(path).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

impl SocketFile {
    fn is_still_ours(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if !self.is_still_ours() {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket's file stays behind");
        }
    }
}

impl Bound {
    /// Connections of those who may connect, one after the other. Never ends, and never yields an error: a failing accept is logged
    /// and tried again.
    pub fn incoming(self) -> impl Stream<Item = io::Result<Io>> + Send {
        unfold(self, |bound| async {
            let io = bound.next().await;
            Some((Ok(io), bound))
        })
    }

    async fn next(&self) -> Io {
        let mut failures = 0_u64;
        loop {
            match self.listener.accept().await {
                Ok(stream) => match admit(stream, self.own) {
                    Some(io) => return io,
                    None => failures = 0,
                },
                Err(error) => {
                    // Once for a row of failures: out of descriptors, this comes twenty times a second.
                    if failures == 0 {
                        tracing::error!(%error, "cannot accept connections; trying again");
                    }
                    failures += 1;
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Checks who it is, before a byte is read.
fn admit(stream: LocalStream, own: u32) -> Option<Io> {
    let LocalStream::UdSocket(stream) = stream;
    let peer = match Peer::of(&stream) {
        Ok(peer) => peer,
        Err(error) => {
            tracing::warn!(%error, "refused a connection: nobody says whose it is");
            return None;
        }
    };
    match peer.admit(own) {
        Ok(()) => Some(Io { stream, peer }),
        Err(stranger) => {
            tracing::warn!(uid = stranger.uid, pid = stranger.pid, "refused a connection: {stranger}");
            None
        }
    }
}

/// An accepted connection and whose it is.
#[derive(Debug)]
pub struct Io {
    stream: UnixIo,
    peer: Peer,
}

impl Connected for Io {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
