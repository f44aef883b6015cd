//! Models: who can be asked, and how. Nothing here knows a session.

pub mod provider;
pub mod registry;

pub mod http;
pub mod sse;

pub mod anthropic;
pub mod rehearsal;

pub use provider::{ModelStream, Provider};
pub use registry::{Models, ResolveError};
