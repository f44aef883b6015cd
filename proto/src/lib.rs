//! The public contract: package `agent.v1`, and its conversions to our types.
//!
//! Invariants
//! - This crate never does IO and never decides anything: it says what is on the wire.
//! - The bytes of a stored event are exactly the bytes of an [`v1::Event`].
//! - Only [`frame`] (feature `server`) stands in for generated messages; its bytes equal theirs.
//! - `agentd-types` is the only crate of ours below it.

pub mod v1 {
    //! The generated messages and clients of `agent/v1/*.proto`, where each is documented.
    #![allow(clippy::all, clippy::pedantic, rustdoc::all)]
    include!(concat!(env!("OUT_DIR"), "/agent.v1.rs"));
}

#[cfg(feature = "server")]
pub mod frame;
pub mod reason;

#[cfg(feature = "server")]
pub mod server {
    //! The generated server halves; Subscribe and ReadEvents answer with the messages of [`crate::frame`].
    #![allow(clippy::all, clippy::pedantic, rustdoc::all)]
    include!(concat!(env!("OUT_DIR"), "/server/agent.v1.rs"));
}

mod enums;
mod from_wire;
mod to_wire;
mod wire_error;

pub use from_wire::{enum_of, enum_or_default, required};
pub use wire_error::WireError;

/// The number of this contract. It grows when a client of the number before could misread the daemon.
pub const PROTOCOL: u32 = 1;

/// The files of package `agent.v1` as an encoded `google.protobuf.FileDescriptorSet`, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fds.bin"));

/// Request metadata in which a client names itself, like `cli on pts/3`.
pub const CLIENT_METADATA: &str = "agent-client";

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod tests;
