//! How a client finds, starts, calls and follows the daemon.
//!
//! Invariants
//! - Wire types end here: callers see `agentd-types` only.
//! - Nothing is printed, and no session's state is kept beyond a cursor.
//! - It can't reach the daemon's code.

pub mod attach;
pub mod autostart;
pub mod connect;
pub mod error;
pub mod requests;
pub mod session;

pub use attach::{Attach, LinkState, Update};
pub use autostart::{Start, ensure};
pub use connect::{Connection, Place};
pub use error::{ClientError, Kind};
pub use requests::{DaemonInfo, InterruptOutcome, NewSession, PermissionRow, Receipt, Submission};
