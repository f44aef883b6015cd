//! The tools a model may call, and what runs them. They never know who drives them: clients, hooks and rules are wrapped around.

pub mod ask;
pub mod bash;
mod edit;
pub mod executor;
mod glob;
mod grep;
mod input;
mod large;
mod output;
mod read;
pub mod registry;
pub mod run;
mod search;
mod sleep;
pub mod survey;
mod todo;
pub mod tool;
mod write;
