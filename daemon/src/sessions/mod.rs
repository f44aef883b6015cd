//! Sessions: each an actor with one owner, behind a cheap handle. They never see a wire type.

pub mod actor;
mod catalog;
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
pub mod projector;
pub mod registry;
pub mod request;
mod rules;
mod serving;
pub mod spawner;
pub mod task_output;
mod waiting;

pub use actor::Shared;
pub use error::SessionError;
pub use handle::SessionHandle;
pub use registry::Registry;

/// Runs what blocks where it may.
async fn off_runtime<T: Send + 'static>(run: impl FnOnce() -> Result<T, SessionError> + Send + 'static) -> Result<T, SessionError> {
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a look into the store ended unexpectedly");
        Err(SessionError::Gone)
    })
}
