//! Events and live pieces as wire bytes, for the store and for subscribers. It never keeps any.

use agentd_proto::v1;
use agentd_types::Event;
use agentd_types::live::Ephemeral;
use bytes::Bytes;
use prost::Message;

use crate::sessions::codec::{BadEvent, Codec};

/// Events as `agent.v1.Event`; live pieces as whole `agent.v1.SubscribeResponse`s.
#[derive(Debug, Clone, Copy, Default)]
pub struct WireCodec;

impl Codec for WireCodec {
    fn event(&self, event: &Event) -> Bytes {
        v1::Event::from(event).encode_to_vec().into()
    }

    fn ephemeral(&self, ephemeral: &Ephemeral) -> Bytes {
        v1::SubscribeResponse::from(ephemeral).encode_to_vec().into()
    }

    fn read(&self, bytes: &[u8]) -> Result<Event, BadEvent> {
        let wire = v1::Event::decode(bytes).map_err(|error| BadEvent { why: error.to_string() })?;
        Event::try_from(wire).map_err(|error| BadEvent { why: error.to_string() })
    }
}

#[cfg(test)]
mod tests;
