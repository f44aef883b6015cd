//! What is written is what is read, and damage is an error.

use agentd_proto::v1;
use agentd_types::event::ToolProgress;
use agentd_types::live::{Delta, DeltaKind, Ephemeral};
use agentd_types::system::System;
use agentd_types::{Body, Entry, MessageId, Seq, SessionId, Timestamp, ToolUseId};
use prost::Message;

use super::WireCodec;
use crate::sessions::codec::Codec;

fn notice(text: &str) -> agentd_types::Event {
    Entry::outside(Body::System(System::Notice { text: text.into() })).number(SessionId::from_u128(7), Seq(3), Timestamp(1_000))
}

#[test]
fn an_event_is_read_back_as_it_was() {
    let event = notice("half a disk is left");
    assert_eq!(WireCodec.read(&WireCodec.event(&event)), Ok(event));
}

#[test]
fn damaged_bytes_say_what_is_wrong() {
    let bytes = WireCodec.event(&notice("half a disk is left"));
    let cut = WireCodec.read(&bytes[..bytes.len() - 4]).unwrap_err();
    assert!(cut.to_string().starts_with("the stored event cannot be read: "), "{cut}");

    let empty = WireCodec.read(&[]).unwrap_err();
    assert_eq!(empty.why, "`event.session_id` cannot be read: `` is not an id (a UUID like 0198c0de-7a3b-7f00-8000-000000000001)");
}

#[test]
fn live_pieces_tell_themselves_apart() {
    use v1::subscribe_response::Item;
    let read = |bytes: bytes::Bytes| v1::SubscribeResponse::decode(bytes).unwrap().item.unwrap();

    let delta = Delta { message: MessageId::from_u128(1), block: 0, offset: 5, kind: DeltaKind::Text, text: "more".into() };
    let progress = ToolProgress { tool_use: ToolUseId::new("toolu_1"), text: "12 of 40".into() };
    assert_eq!(read(WireCodec.ephemeral(&Ephemeral::Delta(delta.clone()))), Item::Delta((&delta).into()));
    assert_eq!(read(WireCodec.ephemeral(&Ephemeral::Progress(progress.clone()))), Item::Progress((&progress).into()));
}
