//! What is asked of a model and what is made of its answer, as values. It never talks to one.

pub mod catalog;
pub mod ending;
pub mod fallback;
pub mod fold;
pub mod price;
pub mod repair;
pub mod request;
pub mod retry;
pub mod stream;

pub use catalog::{Known, ModelFacts, Prefix, Thinking};
pub use fold::{Completed, FoldDelta, FoldEnd, Folded, Folder};
pub use repair::{Repair, unreadable_input};
pub use request::{ApiMessage, ModelRequest, SystemPart};
pub use retry::Verdict;
pub use stream::{BlockStart, ErrorClass, ModelError, Piece, StreamEvent, UsageUpdate};
