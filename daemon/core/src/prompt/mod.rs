//! The system field, from parts. It never reads the environment: what it says of it is handed in.

pub mod agent;
pub mod system;

pub use agent::{AgentKind, Tools};
pub use system::{Surroundings, frame, is_kept, system};
