//! A session's stream that resumes from its cursor: every durable event once, in order, over lost links and restarts.

use agentd_proto::v1;
use agentd_proto::v1::events_client::EventsClient;
use agentd_proto::v1::subscribe_response::Item;
use agentd_types::event::ToolProgress;
use agentd_types::live::{Delta, RetryCountdown, Snapshot};
use agentd_types::{Event, Seq};
use tonic::Streaming;

use crate::connect::{Connection, LARGEST};
use crate::error::{ClientError, Kind};
use crate::patience::{Again, Patience};

/// How the link is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    Up,
    Lost { why: String },
}

/// What a subscriber sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    Link(LinkState),
    /// The session as of its seq; also after a new link.
    Snapshot(Box<Snapshot>),
    Event(Box<Event>),
    Delta(Delta),
    Progress(ToolProgress),
    /// A failed model request waits to be repeated.
    Countdown(RetryCountdown),
    /// Deltas were dropped; no durable event ever is.
    Lagged {
        dropped: u64,
    },
    Draining,
}

/// A subscription.
pub struct Attach {
    connection: Connection,
    session: String,
    /// The last event delivered; `None` until the first snapshot when the tail was asked for.
    cursor: Option<Seq>,
    partials: bool,
    stream: Option<Streaming<v1::SubscribeResponse>>,
    /// While the link is lost.
    dialling: Option<Patience>,
}

impl Connection {
    /// Subscribes on a link of its own: events after `from` (`Seq::ZERO` = all, `None` = what is new).
    ///
    /// # Errors
    /// When there is no such session, or the link fails.
    pub async fn attach(&self, what: &str, from: Option<Seq>, partials: bool) -> Result<Attach, ClientError> {
        let mut attach =
            Attach { connection: self.clone(), session: what.to_owned(), cursor: from, partials, stream: None, dialling: None };
        attach.stream = Some(attach.subscribe().await?);
        Ok(attach)
    }
}

impl Attach {
    /// The last durable event delivered.
    #[must_use]
    pub fn cursor(&self) -> Seq {
        self.cursor.unwrap_or(Seq::ZERO)
    }

    /// The next update. After a lost link it dials again, for 30 seconds. Cancel-safe.
    ///
    /// # Errors
    /// When the session is gone, or the daemon stays away.
    pub async fn next(&mut self) -> Result<Update, ClientError> {
        loop {
            let Some(stream) = &mut self.stream else {
                match self.dial().await? {
                    Some(update) => return Ok(update),
                    None => continue,
                }
            };
            match stream.message().await {
                Ok(Some(message)) => {
                    if let Some(update) = self.take(message)? {
                        return Ok(update);
                    }
                }
                Ok(None) => return Ok(self.lost("the daemon closed the stream".to_owned())),
                Err(status) => {
                    let error = ClientError::from(status);
                    match error.kind {
                        Kind::Unreachable | Kind::Internal | Kind::Draining => return Ok(self.lost(error.message)),
                        _ => return Err(error),
                    }
                }
            }
        }
    }

    fn lost(&mut self, why: String) -> Update {
        self.stream = None;
        self.dialling = Some(Patience::new());
        Update::Link(LinkState::Lost { why })
    }

    /// One try; `None` = not yet.
    async fn dial(&mut self) -> Result<Option<Update>, ClientError> {
        let again = self.dialling.get_or_insert_with(Patience::new).wait().await;
        match self.subscribe().await {
            Ok(stream) => {
                self.stream = Some(stream);
                self.dialling = None;
                Ok(Some(Update::Link(LinkState::Up)))
            }
            // A daemon that goes down may come back as another one.
            Err(error) if (error.is_lost_link() || error.kind == Kind::Draining) && again == Again::Try => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn subscribe(&self) -> Result<Streaming<v1::SubscribeResponse>, ClientError> {
        let channel = self.connection.again().await?;
        let from_seq = self.cursor.map(|seq| seq.0);
        let request = v1::SubscribeRequest { session_id: self.session.clone(), from_seq, partials: self.partials };
        let mut events = EventsClient::new(channel).max_decoding_message_size(LARGEST);
        Ok(events.subscribe(self.connection.request(request)).await?.into_inner())
    }

    /// `None` for what was seen before, or is of a newer kind than we know.
    fn take(&mut self, message: v1::SubscribeResponse) -> Result<Option<Update>, ClientError> {
        Ok(match message.item {
            None => None,
            Some(Item::Snapshot(snapshot)) => {
                let snapshot = Snapshot::try_from(snapshot)?;
                self.cursor.get_or_insert(snapshot.seq);
                Some(Update::Snapshot(Box::new(snapshot)))
            }
            Some(Item::Event(event)) => {
                let seq = Seq(event.seq);
                if self.cursor.is_some_and(|cursor| seq <= cursor) {
                    return Ok(None);
                }
                self.cursor = Some(seq);
                // An event of a kind we do not know is skipped, not an end.
                Event::try_from(event).ok().map(|event| Update::Event(Box::new(event)))
            }
            Some(Item::Delta(delta)) => Delta::try_from(delta).ok().map(Update::Delta),
            Some(Item::Progress(progress)) => Some(Update::Progress(progress.into())),
            Some(Item::Countdown(countdown)) => Some(Update::Countdown(countdown.into())),
            Some(Item::Lagged(lagged)) => Some(Update::Lagged { dropped: lagged.dropped }),
            Some(Item::Draining(_)) => Some(Update::Draining),
        })
    }
}

#[cfg(test)]
mod tests;
