//! Sessions: each an actor with one owner, behind a cheap handle. They never see a wire type.

pub mod error;
pub mod request;
pub mod codec;
pub mod handle;
pub mod registry;
pub mod keeper;
mod create;
pub mod actor;
mod serving;
mod perform;
mod waiting;
mod inbox;
mod live;
pub mod load;
pub mod history;
pub mod feed;

pub use actor::Shared;
pub use error::SessionError;
pub use handle::SessionHandle;
pub use registry::Registry;
