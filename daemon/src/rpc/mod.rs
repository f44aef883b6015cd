//! The public API at work: wire messages in, calls to sessions, wire messages out. It decides nothing and holds no state of a session.

pub mod server;

mod admin;
pub mod attach;
pub mod codec;
mod events;
pub mod gate;
pub mod peer;
mod permissions;
mod queue;
mod sessions;
pub mod status;
mod tasks;

pub use codec::WireCodec;
pub use gate::Stage;
pub use server::{Facts, Rpc, serve};
