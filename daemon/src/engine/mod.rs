//! The engine: one conversation's loop, driven. It knows no store, no session and no client.

pub mod asked;
pub mod calling;
pub mod cancel;
pub mod conversation;
pub mod drive;
// The door has the room's name.
#[allow(clippy::module_inception)]
pub mod engine;
pub mod hands;
pub mod kit;
pub mod ledger;
pub mod log;
pub mod partial;
pub mod purse;
pub mod said;
pub mod tally;

pub use cancel::Cancel;
pub use conversation::Conversation;
pub use engine::{QueryEngine, Surround};
pub use kit::Kit;
