//! What is asked of a model and what is made of its answer, as values. It never talks to one.

pub mod request;
pub mod stream;

pub use request::{ApiMessage, ModelRequest, SystemPart};
pub use stream::{BlockStart, ErrorClass, ModelError, Piece, StreamEvent, UsageUpdate};
