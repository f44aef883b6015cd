//! The tools a model may call, and what runs them. They never know who drives them: clients, hooks and rules are wrapped around.

pub mod tool;
pub mod registry;
pub mod run;
mod input;
mod output;
mod read;
mod write;
mod edit;
pub mod bash;
