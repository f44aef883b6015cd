//! A session read back from the store: its state and its conversation are folds over its events. Blocking; never on a runtime thread.

use agentd_core::session::{Projection, Unfoldable};
use agentd_types::{Event, Seq, SessionId};

use super::codec::{BadEvent, Codec};
use crate::engine::Conversation;
use crate::store::Store;

/// Events read at once.
const PAGE_EVENTS: usize = 1_024;
/// Bytes read at once.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Why a session cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("its history cannot be read: {0}")]
    Read(String),
    #[error(transparent)]
    Event(#[from] BadEvent),
    #[error(transparent)]
    Fold(#[from] Unfoldable),
    #[error("it has no events")]
    Empty,
}

/// Calls `each` with every event of `session` in order.
///
/// # Errors
/// When the store cannot read, or an event is none.
pub fn each_event(
    store: &Store,
    codec: &dyn Codec,
    session: SessionId,
    mut each: impl FnMut(Event) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let mut cursor = Seq::ZERO;
    loop {
        let page = store.read_after(session, cursor, PAGE_EVENTS, PAGE_BYTES).map_err(|error| LoadError::Read(error.to_string()))?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        cursor = *last;
        for (_, bytes) in &page {
            each(codec.read(bytes)?)?;
        }
    }
}

/// The session's state.
///
/// # Errors
/// As [`each_event`]; also when it has no events.
pub fn projection(store: &Store, codec: &dyn Codec, session: SessionId) -> Result<Projection, LoadError> {
    let mut projection: Option<Projection> = None;
    each_event(store, codec, session, |event| {
        match &mut projection {
            Some(projection) => projection.fold(&event),
            None => projection = Some(Projection::open(&event)?),
        }
        Ok(())
    })?;
    projection.ok_or(LoadError::Empty)
}

/// The engine's memory of it, from an empty one: the main loop's or a subagent's.
///
/// # Errors
/// As [`each_event`].
pub fn conversation(
    store: &Store,
    codec: &dyn Codec,
    session: SessionId,
    mut conversation: Conversation,
) -> Result<Conversation, LoadError> {
    each_event(store, codec, session, |event| {
        conversation.fold(&event);
        Ok(())
    })?;
    Ok(conversation)
}
