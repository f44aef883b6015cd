//! A subscription as a stream of frames. It never buffers: a reader that is slow leaves its items with the session.

use std::pin::Pin;

use agentd_proto::frame::SubscribeFrame;
use agentd_proto::v1::subscribe_response::Item;
use agentd_proto::v1::{Draining, Lagged};
use futures_util::Stream;
use futures_util::stream::unfold;
use tonic::Status;

use crate::sessions::feed::{FeedItem, Subscription};

/// What Subscribe answers with.
pub type Frames = Pin<Box<dyn Stream<Item = Result<SubscribeFrame, Status>> + Send>>;

/// The subscription's items. It ends with the session, and after `draining`.
#[must_use]
pub fn frames(subscription: Subscription) -> Frames {
    Box::pin(unfold(Some(subscription), |subscription| async {
        let mut subscription = subscription?;
        let item = subscription.next().await?;
        let rest = match &item {
            FeedItem::Draining => None,
            FeedItem::Snapshot(_) | FeedItem::Event(..) | FeedItem::Delta(_) | FeedItem::Lagged { .. } => Some(subscription),
        };
        Some((Ok(frame(item)), rest))
    }))
}

/// Events and deltas go on as the bytes they are; the rest is encoded for this subscriber.
fn frame(item: FeedItem) -> SubscribeFrame {
    match item {
        FeedItem::Snapshot(snapshot) => SubscribeFrame::typed(Item::Snapshot(snapshot.as_ref().into())),
        FeedItem::Event(_, event) => SubscribeFrame::Event(event),
        FeedItem::Delta(response) => SubscribeFrame::Whole(response),
        FeedItem::Lagged { dropped } => SubscribeFrame::typed(Item::Lagged(Lagged { dropped })),
        FeedItem::Draining => SubscribeFrame::typed(Item::Draining(Draining {})),
    }
}

#[cfg(test)]
mod tests;
