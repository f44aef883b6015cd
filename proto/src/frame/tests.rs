//! Frames and the generated messages are the same bytes.

use agentd_types::live::Ephemeral;
use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;

use super::{EventPage, SubscribeFrame};
use crate::v1::subscribe_response::Item;
use crate::{arbitrary, v1};

fn generated(item: Item) -> Vec<u8> {
    v1::SubscribeResponse { item: Some(item) }.encode_to_vec()
}

fn checked(frame: &SubscribeFrame) -> Vec<u8> {
    let bytes = frame.encode_to_vec();
    assert_eq!(bytes.len(), frame.encoded_len());
    bytes
}

proptest! {
    #[test]
    fn an_event_frame_is_the_generated_message(event in arbitrary::event()) {
        let event = v1::Event::from(&event);
        let frame = SubscribeFrame::Event(Bytes::from(event.encode_to_vec()));
        prop_assert_eq!(checked(&frame), generated(Item::Event(event)));
    }

    #[test]
    fn a_whole_frame_is_the_generated_message(delta in arbitrary::delta()) {
        let response = v1::SubscribeResponse::from(&Ephemeral::Delta(delta.clone()));
        let frame = SubscribeFrame::Whole(Bytes::from(response.encode_to_vec()));
        prop_assert_eq!(checked(&frame), generated(Item::Delta((&delta).into())));
    }

    #[test]
    fn a_typed_frame_is_the_generated_message(snapshot in arbitrary::snapshot()) {
        let item = Item::Snapshot((&snapshot).into());
        prop_assert_eq!(checked(&SubscribeFrame::typed(item.clone())), generated(item));
    }

    #[test]
    fn a_page_is_the_generated_message(events in prop::collection::vec(arbitrary::event(), 0..4), last_seq in any::<u64>()) {
        let events: Vec<v1::Event> = events.iter().map(v1::Event::from).collect();
        let page = EventPage { events: events.iter().map(|event| Bytes::from(event.encode_to_vec())).collect(), last_seq };
        let bytes = page.encode_to_vec();
        prop_assert_eq!(bytes.len(), page.encoded_len());
        prop_assert_eq!(bytes, v1::ReadEventsResponse { events, last_seq }.encode_to_vec());
    }
}

#[test]
fn empty_ones_are_the_generated_messages() {
    assert_eq!(EventPage::default().encode_to_vec(), v1::ReadEventsResponse::default().encode_to_vec());
    let draining = Item::Draining(v1::Draining {});
    assert_eq!(SubscribeFrame::typed(draining.clone()).encode_to_vec(), generated(draining));
}
