//! What a person sees of a session in a terminal.
//!
//! Invariants
//! - This crate never connects by itself and never knows the daemon's insides: it is handed a connection.
//! - The plain view never sends a terminal control code.

pub mod plain;
