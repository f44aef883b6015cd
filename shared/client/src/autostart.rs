//! Starting the daemon when none runs, as tmux does; what keeps it from starting is told. One starter at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use agentd_types::layout::{Layout, lock_of};

use crate::connect::{Connection, Place};
use crate::error::{ClientError, Kind};

/// How long a new daemon has until it answers; also how long another client's attempt is waited for.
const BOUND: Duration = Duration::from_secs(3);
/// The first wait between two looks; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Whether a daemon may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    Auto,
    Never,
}

/// Connects, starting the daemon if that is allowed and needed.
///
/// # Errors
/// [`Kind::Unreachable`] when none runs and none may be started; [`Kind::CannotStart`] with what it said when it could not.
pub async fn ensure(place: &Place, name: &str, start: Start) -> Result<Connection, ClientError> {
    let error = match Connection::open(&place.socket, name).await {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    match (error.kind, start) {
        (Kind::Unreachable, Start::Auto) => begin(place, name, &program()?).await,
        (Kind::Unreachable, Start::Never) => Err(error.hint("start it with `agent daemon start`, or leave --no-start out")),
        _ => Err(error),
    }
}

async fn begin(place: &Layout, name: &str, program: &Path) -> Result<Connection, ClientError> {
    let lock = startup_lock(place).await?;
    // While we waited for the lock somebody else may have started it.
    if let Ok(connection) = Connection::open(&place.socket, name).await {
        return Ok(connection);
    }
    // One that goes down answers no more and still holds the store. One that hangs is named by the new daemon's error.
    released(place, BOUND).await;
    let said = tempfile::tempfile().map_err(|error| cannot(format!("no temporary file for its messages: {error}")))?;
    let mut child = spawn(program, place, &said)?;
    let waited = tokio::time::timeout(BOUND, answers(place, name, &mut child)).await;
    drop(lock);
    match waited {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(Ended { how })) => Err(cannot(format!("{} ended ({how}) and said:\n{}", program.display(), words(&said)))),
        // It is not killed: it may be reading a large store, and answer the next time.
        Err(_) => Err(cannot(format!(
            "{} (pid {}) does not answer within {} s and is left running; it said:\n{}",
            program.display(),
            child.id(),
            BOUND.as_secs(),
            words(&said)
        ))),
    }
}

/// What has become of the daemon that held the socket's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    Gone,
    /// It holds it still.
    Alive,
}

/// Waits, `bound` at most, until no daemon holds the socket's lock: until the last one has ended, whatever its socket says.
pub async fn released(place: &Place, bound: Duration) -> Holder {
    // Without a file nobody holds it; what cannot be opened is the daemon's to report.
    let Ok(lock) = File::open(lock_of(&place.socket)) else { return Holder::Gone };
    let until = tokio::time::Instant::now() + bound;
    let mut pause = FIRST_PAUSE;
    loop {
        match lock.try_lock_shared() {
            Ok(()) | Err(TryLockError::Error(_)) => return Holder::Gone,
            Err(TryLockError::WouldBlock) if tokio::time::Instant::now() > until => return Holder::Alive,
            Err(TryLockError::WouldBlock) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The new daemon ended.
struct Ended {
    how: ExitStatus,
}

async fn answers(place: &Layout, name: &str, child: &mut Child) -> Result<Connection, Ended> {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(connection) = Connection::open(&place.socket, name).await {
            return Ok(connection);
        }
        if let Ok(Some(how)) = child.try_wait() {
            return Err(Ended { how });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Held while one client starts the daemon; it dies with its holder.
async fn startup_lock(place: &Layout) -> Result<File, ClientError> {
    let folder = place.socket.parent().unwrap_or_else(|| place.socket.clone());
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.as_path());
    made.map_err(|error| cannot(format!("the socket's folder {folder} cannot be made: {error}")))?;
    let mut path = place.socket.as_path().as_os_str().to_owned();
    path.push(".start");
    let path = PathBuf::from(path);
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let lock = lock.map_err(|error| cannot(format!("{} cannot be opened: {error}", path.display())))?;
    let until = tokio::time::Instant::now() + BOUND * 2;
    let mut pause = FIRST_PAUSE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(cannot(format!("{} cannot be locked: {error}", path.display()))),
            Err(TryLockError::WouldBlock) if tokio::time::Instant::now() > until => {
                return Err(cannot(format!("another client has held {} for {} s", path.display(), (BOUND * 2).as_secs())));
            }
            Err(TryLockError::WouldBlock) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// `agentd` beside this program, else on the PATH.
fn program() -> Result<PathBuf, ClientError> {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("agentd"))).filter(|it| it.is_file());
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join("agentd")).find(|it| it.is_file())
    };
    beside.or_else(on_path).ok_or_else(|| cannot("there is no `agentd` beside this program or on the PATH".to_owned()))
}

fn spawn(program: &Path, place: &Layout, said: &File) -> Result<Child, ClientError> {
    let stderr = said.try_clone().map_err(|error| cannot(error.to_string()))?;
    Command::new(program)
        .arg("--foreground")
        .arg("--socket")
        .arg(place.socket.as_path())
        .arg("--data-dir")
        .arg(place.data_dir.as_path())
        .arg("--config")
        .arg(place.settings.as_path())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        // A group of its own: what is typed at our terminal must not end it.
        .process_group(0)
        .spawn()
        .map_err(|error| cannot(format!("{} cannot be started: {error}", program.display())))
}

/// What the daemon said, at most the last 4 KiB.
fn words(said: &File) -> String {
    use std::os::unix::fs::FileExt;
    let len = said.metadata().map_or(0, |meta| meta.len());
    let start = len.saturating_sub(4096);
    let mut bytes = vec![0; usize::try_from(len - start).unwrap_or(0)];
    match said.read_exact_at(&mut bytes, start) {
        Ok(()) if bytes.is_empty() => "(nothing)".to_owned(),
        Ok(()) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) => format!("(its messages cannot be read: {error})"),
    }
}

fn cannot(message: String) -> ClientError {
    ClientError::new(Kind::CannotStart, format!("the daemon cannot be started: {message}"))
}

#[cfg(test)]
mod tests;
