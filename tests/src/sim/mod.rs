//! The simulation: the daemon's own sessions, engine, loop and journal over a model, tools, a disk and a time that a seed
//! decides. It crashes between any two acts. It never opens a socket and never touches a real disk.
//!
//! `world` is one seed's life and deaths; `property` is what must hold whatever happens.

pub mod world;

pub mod property;

mod clients;
mod clock;
mod facts;
mod gates;
mod model;
mod rng;
mod tools;

pub use property::Violation;
pub use world::{Plan, Report, run, shortest};
