//! Process trees: each under a shim that outlives nothing. Only this room starts a process.

pub mod ancestry;
pub mod environment;
pub mod leftovers;
pub mod limits;
pub mod message;
mod proc;
pub mod shim;
mod signals;
pub mod spawn;
mod sweep;
pub mod tree;

pub use ancestry::{Descent, descent};
pub use environment::session_environment;
pub use leftovers::{Leftovers, end_leftovers};
pub use limits::Limits;
pub use message::Status;
pub use shim::shim_main;
pub use spawn::{Launch, Shims, SpawnError};
pub use tree::{Exit, Killed, Reason, Tree};
