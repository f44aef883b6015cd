//! What a provider is. It never retries and never stores anything: policy is `core::model::retry`.

use std::pin::Pin;

use agentd_core::model::{ModelError, ModelRequest, StreamEvent};
use futures_util::Stream;

/// A model's answer as it comes. Ends after `MessageStop`, or with an error; dropping it ends the request.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ModelError>> + Send>>;

/// Somebody who answers model requests.
pub trait Provider: Send + Sync + 'static {
    /// Where the key came from, for `system: init`: `ANTHROPIC_API_KEY`, `settings`, `rehearsal`, …
    fn key_source(&self) -> &'static str;

    /// Sends the request; resolves when the answer begins.
    fn send<'a>(&'a self, request: &'a ModelRequest) -> Pin<Box<dyn Future<Output = Result<ModelStream, ModelError>> + Send + 'a>>;
}
