//! The lock file beside the socket: its holder is the daemon. It ends with the process, however that ends; the file itself stays.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use agentd_types::AbsPath;
use agentd_types::layout::lock_of;

/// How often and how long the holder is given to write its pid.
const PID_TRIES: u32 = 20;
const PID_WAIT: Duration = Duration::from_millis(10);
/// How often and with which pauses a held lock is tried.
const LOCK_TRIES: u32 = 5;
const LOCK_WAIT: Duration = Duration::from_millis(10);

/// Held by the one daemon of a socket, until dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    socket: AbsPath,
}

/// Why this process is not the daemon of its socket.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("already running, pid {pid} (socket {})", .socket.display())]
    AlreadyRunning { pid: u32, socket: PathBuf },
    #[error("already running (socket {}); its pid is not written in {}", .socket.display(), .lock.display())]
    HeldByUnknown { socket: PathBuf, lock: PathBuf },
    #[error("the socket's folder {} cannot be made: {error}", .folder.display())]
    Folder { folder: PathBuf, error: io::Error },
    #[error("the socket's folder {} is not safe: {why}; choose another socket with AGENT_SOCKET or --socket", .folder.display())]
    Unsafe { folder: PathBuf, why: String },
    #[error("the lock file {} cannot be used: {error}", .lock.display())]
    File { lock: PathBuf, error: io::Error },
    #[error("the lock file {} belongs to uid {owner}, not to uid {own}; remove it, or choose another socket", .lock.display())]
    Foreign { lock: PathBuf, owner: u32, own: u32 },
}

impl Lock {
    /// Makes the socket's folder (0700) if it is missing, checks it, and takes the lock. Waits at most 0.2 s.
    ///
    /// # Errors
    /// [`LockError::AlreadyRunning`] when another process holds it; else what is wrong with folder or file.
    pub fn take(socket: &AbsPath) -> Result<Lock, LockError> {
        let own = rustix::process::geteuid().as_raw();
        folder_of(socket, own)?;
        let path = lock_of(socket);
        let failed = |error| LockError::File { lock: path.clone(), error };
        let mut file = open(&path).map_err(failed)?;
        let owner = file.metadata().map_err(failed)?.uid();
        if owner != own {
            return Err(LockError::Foreign { lock: path, owner, own });
        }
        match patient(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&mut file, socket, path)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(Lock { _file: file, socket: socket.clone() })
    }

    /// The socket it is for.
    #[must_use]
    pub fn socket(&self) -> &AbsPath {
        &self.socket
    }
}

/// A client that looks whether the last daemon is gone holds the lock for a moment; a daemon holds it for good.
fn patient(file: &File) -> Result<(), TryLockError> {
    let (_never, wait) = mpsc::channel::<()>();
    for _ in 1..LOCK_TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let _ = wait.recv_timeout(LOCK_WAIT);
            }
            done => return done,
        }
    }
    file.try_lock()
}

fn open(path: &Path) -> io::Result<File> {
    // A link here would be somebody else's doing.
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(no_link).open(path)
}

/// The folder is ours alone to write: else anybody could put a socket there that our clients would trust.
fn folder_of(socket: &AbsPath, own: u32) -> Result<(), LockError> {
    let Some(folder) = socket.as_path().parent() else {
        return Err(LockError::Unsafe { folder: socket.as_path().to_path_buf(), why: "it is not a file in a folder".to_owned() });
    };
    let failed = |error| LockError::Folder { folder: folder.to_path_buf(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let found = folder.metadata().map_err(failed)?;
    match standing(found.uid(), found.mode(), own) {
        Standing::Private => Ok(()),
        Standing::Shared => {
            tracing::warn!(folder = %folder.display(), "others may write in the socket's folder; a folder of your own (0700) is safer");
            Ok(())
        }
        Standing::Unsafe(why) => Err(LockError::Unsafe { folder: folder.to_path_buf(), why }),
    }
}

/// What a folder is to us.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// Ours, and nobody else writes there.
    Private,
    /// Others write there, but cannot touch what is ours (like `/tmp`).
    Shared,
    Unsafe(String),
}

fn standing(owner: u32, mode: u32, own: u32) -> Standing {
    let others_write = mode & 0o022 != 0;
    let sticky = mode & 0o1000 != 0;
    match (owner == own, others_write) {
        (true, false) => Standing::Private,
        (_, true) if sticky && (owner == own || owner == 0) => Standing::Shared,
        (true, true) => Standing::Unsafe(format!("others may write in it (mode {:o}); chmod 700 it", mode & 0o7777)),
        (false, _) => Standing::Unsafe(format!("it belongs to uid {owner}, not to uid {own}")),
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Says who holds it. A holder that has only just got the lock writes its pid at once.
fn held(file: &mut File, socket: &AbsPath, lock: PathBuf) -> LockError {
    let socket = socket.as_path().to_path_buf();
    let (_never, wait) = mpsc::channel::<()>();
    for _ in 0..PID_TRIES {
        if let Some(pid) = read_pid(file) {
            return LockError::AlreadyRunning { pid, socket };
        }
        // The sender is held: this is a wait, bounded by its time alone.
        let _ = wait.recv_timeout(PID_WAIT);
    }
    LockError::HeldByUnknown { socket, lock }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    // Without its newline it may be half a number.
    text.strip_suffix('\n')?.parse().ok()
}

#[cfg(test)]
mod tests;
