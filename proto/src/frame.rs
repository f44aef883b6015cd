//! Answers that carry events which are encoded already: each event is encoded once, for the disk and for all who read it.
//! Only servers use them; their bytes are those of the generated messages. They are never decoded.

use bytes::{Buf, BufMut, Bytes};
use prost::DecodeError;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint, encoded_len_varint, key_len, skip_field, uint64};

use crate::v1;

/// `SubscribeResponse.event`.
const EVENT: u32 = 2;
/// `ReadEventsResponse.events`.
const EVENTS: u32 = 1;
/// `ReadEventsResponse.last_seq`.
const LAST_SEQ: u32 = 2;

/// What a server sends for a [`v1::SubscribeResponse`].
#[derive(Debug, Clone, PartialEq)]
pub enum SubscribeFrame {
    /// An encoded [`v1::Event`].
    Event(Bytes),
    /// A whole encoded [`v1::SubscribeResponse`]: deltas and progress, encoded once for all subscribers.
    Whole(Bytes),
    /// Everything that is made for one subscriber.
    Typed(Box<v1::SubscribeResponse>),
}

impl SubscribeFrame {
    /// A frame with `item`, encoded when it is sent.
    #[must_use]
    pub fn typed(item: v1::subscribe_response::Item) -> Self {
        SubscribeFrame::Typed(Box::new(v1::SubscribeResponse { item: Some(item) }))
    }
}

impl Message for SubscribeFrame {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        match self {
            SubscribeFrame::Event(event) => put_message(EVENT, event, buf),
            SubscribeFrame::Whole(whole) => buf.put_slice(whole),
            SubscribeFrame::Typed(typed) => typed.encode_raw(buf),
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            SubscribeFrame::Event(event) => message_len(EVENT, event),
            SubscribeFrame::Whole(whole) => whole.len(),
            SubscribeFrame::Typed(typed) => typed.encoded_len(),
        }
    }

    fn merge_field(&mut self, tag: u32, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        skip_field(wire_type, tag, buf, ctx)
    }

    fn clear(&mut self) {
        *self = SubscribeFrame::Whole(Bytes::new());
    }
}

/// What a server sends for a [`v1::ReadEventsResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventPage {
    /// Encoded [`v1::Event`]s, ascending.
    pub events: Vec<Bytes>,
    pub last_seq: u64,
}

impl Message for EventPage {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        for event in &self.events {
            put_message(EVENTS, event, buf);
        }
        if self.last_seq != 0 {
            uint64::encode(LAST_SEQ, &self.last_seq, buf);
        }
    }

    fn encoded_len(&self) -> usize {
        let last_seq = if self.last_seq == 0 { 0 } else { uint64::encoded_len(LAST_SEQ, &self.last_seq) };
        self.events.iter().map(|event| message_len(EVENTS, event)).sum::<usize>() + last_seq
    }

    fn merge_field(&mut self, tag: u32, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        skip_field(wire_type, tag, buf, ctx)
    }

    fn clear(&mut self) {
        *self = EventPage::default();
    }
}

/// A message field: key, length, and the bytes as they are.
fn put_message(tag: u32, encoded: &[u8], buf: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, buf);
    encode_varint(encoded.len() as u64, buf);
    buf.put_slice(encoded);
}

/// The length of what [`put_message`] writes.
fn message_len(tag: u32, encoded: &[u8]) -> usize {
    key_len(tag) + encoded_len_varint(encoded.len() as u64) + encoded.len()
}

#[cfg(test)]
mod tests;
