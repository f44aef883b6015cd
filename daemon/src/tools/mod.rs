//! The tools a model may call, and what runs them. They never know who drives them: clients, hooks and rules are wrapped around.

pub mod ask;
pub mod bash;
mod edit;
pub mod executor;
mod input;
mod large;
mod output;
mod read;
pub mod registry;
pub mod run;
pub mod survey;
pub mod tool;
mod write;
