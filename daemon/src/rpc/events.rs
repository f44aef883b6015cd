//! Service `Events`. Stored events are passed on as the bytes they are.

use agentd_proto::frame::EventPage;
use agentd_proto::server::events_server::Events;
use agentd_proto::v1::{ReadEventsRequest, SubscribeRequest, read_events_request};
use agentd_types::Seq;
use bytes::Bytes;
use tonic::{Request, Response, Status};

use super::attach::{Frames, frames};
use super::peer::Caller;
use super::server::Rpc;
use crate::sessions::request::{Page, ReadFrom};

/// Events of a page, where the request names no number.
const PAGE: u32 = 200;
/// Most events of a page.
const MOST: u32 = 1_000;
/// Bytes after which a page ends early: with one more event it still fits a message.
const PAGE_BYTES: usize = 8 << 20;

#[tonic::async_trait]
impl Events for Rpc {
    type SubscribeStream = Frames;

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<Frames>, Status> {
        let client = Caller::of(&request).attached(self.now());
        let SubscribeRequest { session_id, from_seq, partials } = request.into_inner();
        let subscription = self.session(&session_id).await?.subscribe(from_seq.map(Seq), partials, client).await?;
        Ok(Response::new(frames(subscription)))
    }

    async fn read_events(&self, request: Request<ReadEventsRequest>) -> Result<Response<EventPage>, Status> {
        let ReadEventsRequest { session_id, from, limit } = request.into_inner();
        let from = match from {
            Some(read_events_request::From::AfterSeq(seq)) => ReadFrom::After(Seq(seq)),
            Some(read_events_request::From::BeforeSeq(seq)) => ReadFrom::Before(Some(Seq(seq))),
            None => ReadFrom::Before(None),
        };
        let limit = if limit == 0 { PAGE } else { limit.min(MOST) };
        let page = self.session(&session_id).await?.read(from, limit).await?;
        Ok(Response::new(cut(page, from, PAGE_BYTES)))
    }
}

/// At most about `bytes` of the page, from the side it was read from, and at least one event.
fn cut(page: Page, from: ReadFrom, bytes: usize) -> EventPage {
    let last_seq = page.last_seq.0;
    let mut events: Vec<Bytes> = page.events.into_iter().map(|(_, event)| event).collect();
    match from {
        ReadFrom::After(_) => events.truncate(fitting(events.iter(), bytes)),
        ReadFrom::Before(_) => {
            let fits = fitting(events.iter().rev(), bytes);
            events.drain(..events.len() - fits);
        }
    }
    EventPage { events, last_seq }
}

/// How many of `events` fit into `bytes`; the first always does.
fn fitting<'a>(events: impl Iterator<Item = &'a Bytes>, bytes: usize) -> usize {
    let mut sum = 0_usize;
    events
        .enumerate()
        .take_while(|(at, event)| {
            sum += event.len();
            *at == 0 || sum <= bytes
        })
        .count()
}

#[cfg(test)]
mod tests;
