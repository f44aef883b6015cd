//! Rehearsals: scripts in a model's place, through the very same engine. No language model is ever involved.

pub mod script;

pub mod expect;
pub mod play;
pub mod provider;

pub mod tour;

pub use provider::RehearsalProvider;
pub use script::{Script, ScriptError};
