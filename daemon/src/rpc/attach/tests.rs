//! What a subscriber reads is what the session fed.

use agentd_proto::v1::subscribe_response::Item;
use agentd_proto::v1::{self, Draining, Lagged};
use agentd_types::live::{Delta, DeltaKind, Ephemeral};
use agentd_types::system::System;
use agentd_types::{Body, Entry, MessageId, Seq, SessionId, Timestamp};
use prost::Message;

use super::frame;
use crate::rpc::WireCodec;
use crate::sessions::codec::Codec;
use crate::sessions::feed::FeedItem;

/// As a foreign client reads it.
fn read(item: FeedItem) -> Item {
    v1::SubscribeResponse::decode(frame(item).encode_to_vec().as_slice()).unwrap().item.unwrap()
}

#[test]
fn stored_bytes_are_read_as_an_event() {
    let event = Entry::outside(Body::System(System::Deleted)).number(SessionId::from_u128(1), Seq(9), Timestamp(5));
    assert_eq!(read(FeedItem::Event(Seq(9), WireCodec.event(&event))), Item::Event((&event).into()));
}

#[test]
fn live_bytes_are_read_as_what_they_are() {
    let delta = Delta { message: MessageId::from_u128(1), block: 2, offset: 0, kind: DeltaKind::Thinking, text: "hm".into() };
    assert_eq!(read(FeedItem::Delta(WireCodec.ephemeral(&Ephemeral::Delta(delta.clone())))), Item::Delta((&delta).into()));
}

#[test]
fn news_of_the_link_are_typed() {
    assert_eq!(read(FeedItem::Lagged { dropped: 3 }), Item::Lagged(Lagged { dropped: 3 }));
    assert_eq!(read(FeedItem::Draining), Item::Draining(Draining {}));
}
