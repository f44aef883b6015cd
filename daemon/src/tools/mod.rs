//! The tools a model may call, and what runs them. They never know who drives them: clients, hooks and rules are wrapped around.

pub mod agent;
pub mod ask;
pub mod bash;
mod change;
mod edit;
pub mod executor;
mod glob;
mod grep;
pub mod host;
mod input;
mod large;
mod notebook_edit;
mod output;
mod read;
pub mod registry;
pub mod run;
mod search;
pub(crate) mod sleep;
pub mod survey;
mod task_output;
mod task_stop;
pub(crate) mod todo;
pub mod tool;
mod write;
