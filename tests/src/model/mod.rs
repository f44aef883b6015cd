//! A model's server for tests: scripted answers over real HTTP, and laws for every request. It never thinks.

pub mod law;
pub mod script;
pub mod stub;

pub use script::{Gate, Reply, breaks, calls, calls_all, cut_off, fails, refuses, says, stalls, thinks, too_long, truncated};
pub use stub::{Recorded, Stub};
