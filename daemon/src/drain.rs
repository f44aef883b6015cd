//! Going down: who asked, and how long running rounds have. It never ends anything itself.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// How long running rounds have after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(10);

/// The process's signals; made in `main`, before the socket.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes SIGTERM and SIGINT over.
    ///
    /// # Errors
    /// When the runtime cannot.
    pub fn new() -> std::io::Result<Signals> {
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits until somebody wants the daemon to go down; the grace that running rounds have.
pub async fn wanted(signals: &mut Signals, asked: &mut mpsc::Receiver<Duration>) -> Duration {
    tokio::select! {
        () = signals.next() => GRACE,
        Some(grace) = asked.recv() => grace,
    }
}
