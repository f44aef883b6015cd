//! What was acknowledged, kept: the journal and what is read from it. It never knows what an event means.

pub mod commit;

pub use commit::{Batch, Commit, Level, Waiter};
