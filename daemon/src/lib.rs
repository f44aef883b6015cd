//! The daemon as a library; `main.rs` is its thin shell.
//!
//! Invariants
//! - Nothing here decides what `agentd-core` decides; here is what it costs to do it.
//! - One owner per state: a session's actor owns the session, the commit thread owns the journal. No locks around state with a life of its own.
//! - Only `rpc` names wire types, only `store` names the journal's, only `processes` starts a process.
//! - Process-wide things (signals, tracing, the TLS provider) live in `main.rs`.

pub mod background;
pub mod boot;
pub mod clock;
pub mod drain;
pub mod engine;
pub mod entropy;
pub mod files;
pub mod listen;
pub mod lock;
pub mod models;
pub mod permissions;
pub mod processes;
pub mod rpc;
pub mod sessions;
pub mod settings;
pub mod store;
pub mod tools;
