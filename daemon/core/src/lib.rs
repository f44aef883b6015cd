//! What agentd decides, as pure functions over values.
//!
//! Invariants
//! - This crate never does IO: no files, environment, clock, randomness, sockets, threads or `async`.
//! - Time, ids and everything measured come in as values; what is to be done goes out as values.
//! - It knows no wire type, no store, no provider and no tool by name; only `agentd-types` is below it.
//! - Functions here cannot fail for reasons outside their arguments.

pub mod context;
pub mod model;
pub mod permission;
pub mod prompt;
pub mod query;
pub mod queue;
pub mod session;
pub mod tools;
