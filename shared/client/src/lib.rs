//! How a client finds, starts, calls and follows the daemon.
//!
//! Invariants
//! - Wire types end here: callers see `agentd-types` only.
//! - Nothing is printed, and no session's state is kept beyond a cursor.
//! - It can't reach the daemon's code.

pub mod connect;
pub mod probe;

pub mod autostart;

pub mod requests;
pub mod session;
pub mod tasks;

mod patience;

pub mod attach;
pub mod streamed;

pub mod printable;

pub mod error;
pub mod tour;

pub use attach::{Attach, LinkState, Update};
pub use autostart::{Holder, Start, ensure, released};
pub use connect::{Connection, Place};
pub use error::{ClientError, Kind};
pub use printable::printable;
pub use probe::{Probe, probe};
pub use requests::{
    DaemonInfo, InterruptOutcome, NewSession, PermissionRow, QuestionRow, Receipt, StoreEvent, StoreStatus, Submission, Weight,
};
pub use streamed::{Piece, Rest, Streamed};
pub use tasks::{Follow, TaskOutput, TaskPiece};
