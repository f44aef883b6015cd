//! The vocabulary of agentd: what every other crate talks about.
//!
//! Invariants
//! - This crate never does IO: no files, no environment, no clock, no randomness, no sockets.
//! - It knows no wire format but JSON values as such; protobuf types live in `agentd-proto`.
//! - None of our crates is below it.

pub mod config;
pub mod content;
pub mod event;
pub mod id;
pub mod json;
pub mod layout;
pub mod live;
pub mod origin;
pub mod outcome;
pub mod path;
pub mod permission;
pub mod question;
pub mod queue;
pub mod rule;
pub mod session;
pub mod system;
pub mod task;
pub mod time;
pub mod usage;

pub use content::Block;
pub use event::{Body, Entry, Event};
pub use id::{AgentId, CommandId, MessageId, RequestId, Seq, SessionId, SubmissionId, TaskId, ToolUseId};
pub use json::Json;
pub use origin::Origin;
pub use path::AbsPath;
pub use time::Timestamp;
pub use usage::{Money, Usage};
