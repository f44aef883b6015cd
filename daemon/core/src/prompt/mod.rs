//! The system field, from parts. It never reads the environment: what it says of it is handed in.

pub mod system;

pub use system::{Surroundings, frame, is_kept, system};
