//! Sessions: each an actor with one owner, behind a cheap handle. They never see a wire type.

pub mod codec;
pub mod error;
pub mod feed;
pub mod handle;
pub mod registry;
pub mod request;

pub use error::SessionError;
pub use handle::SessionHandle;
pub use registry::Registry;
