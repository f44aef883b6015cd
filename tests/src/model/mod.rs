//! A model's server for tests: scripted answers over real HTTP, and laws for every request. It never thinks.

pub mod law;
pub mod script;
pub mod stub;
mod wire;

pub use script::{
    Gate, Item, Reply, breaks, call, calls, calls_all, calls_as, calls_with, cut_off, cuts, ends_short, fails, mixes, only_pings, page,
    pauses, redacts, refuses, says, silent, stalls, thinks, too_long, truncated, truncates, window_full,
};
pub use stub::{Recorded, Stub};
