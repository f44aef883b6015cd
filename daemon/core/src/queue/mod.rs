//! The command queue's rules: order, gates, batches, bounds. It never waits and never runs a command.

pub mod note;
pub mod pending;
pub mod wording;

pub use note::note;
pub use pending::{Bound, Pending, Slept, Waits};
