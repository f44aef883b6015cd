//! How events become bytes: declared here, implemented in `rpc`, so that sessions never see a wire type.

use agentd_types::Event;
use agentd_types::live::Ephemeral;
use bytes::Bytes;

/// Stored bytes were not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored event cannot be read: {why}")]
pub struct BadEvent {
    pub why: String,
}

/// Encodes once for the journal and for every subscriber.
pub trait Codec: Send + Sync + 'static {
    /// A durable event: what the journal keeps and subscribers get.
    fn event(&self, event: &Event) -> Bytes;
    /// A whole stream message for a delta or a progress line.
    fn ephemeral(&self, ephemeral: &Ephemeral) -> Bytes;
    /// Reads back what [`Codec::event`] made.
    ///
    /// # Errors
    /// [`BadEvent`] when the bytes are not an event of a known version.
    fn read(&self, bytes: &[u8]) -> Result<Event, BadEvent>;
}
