//! Sessions: each an actor with one owner, behind a cheap handle. They never see a wire type.

pub mod actor;
pub mod codec;
mod create;
pub mod error;
pub mod feed;
pub mod handle;
pub mod history;
mod inbox;
pub mod keeper;
mod live;
pub mod load;
mod perform;
pub mod registry;
pub mod request;
mod rules;
mod serving;
mod waiting;

pub use actor::Shared;
pub use error::SessionError;
pub use handle::SessionHandle;
pub use registry::Registry;
