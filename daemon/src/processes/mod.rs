//! Process trees: each under a shim that outlives nothing. Only this room starts a process.

pub mod descent;
pub mod environment;
pub mod leftovers;
pub mod message;
pub mod shim;
pub mod spawn;

pub use environment::session_environment;
pub use leftovers::end_leftovers;
pub use shim::shim_main;
pub use spawn::{Launch, Shims, SpawnError, Tree};
