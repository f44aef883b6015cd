//! How events and live pieces become bytes, once; implemented by `rpc`. Sessions never see a wire type.

use agentd_types::Event;
use agentd_types::live::Ephemeral;
use bytes::Bytes;

/// Stored bytes that are no event of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored event cannot be read: {why}")]
pub struct BadEvent {
    pub why: String,
}

/// Encodes each thing once: the same bytes go to the disk and to every subscriber.
pub trait Codec: Send + Sync + 'static {
    /// The bytes that are stored, sent by `FeedItem::Event` and read back by [`Codec::read`].
    fn event(&self, event: &Event) -> Bytes;

    /// The bytes sent by `FeedItem::Delta`; they tell a delta from a progress line themselves.
    fn ephemeral(&self, ephemeral: &Ephemeral) -> Bytes;

    /// What [`Codec::event`] wrote.
    ///
    /// # Errors
    /// [`BadEvent`] for bytes that are damaged, or of a newer version.
    fn read(&self, bytes: &[u8]) -> Result<Event, BadEvent>;
}
