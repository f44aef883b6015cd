//! What the store's index says of sessions: who is called what, which there are. Blocking; never on a runtime thread, and it
//! never loads a session.

use std::collections::BTreeMap;

use agentd_core::session::{Summary, fold::KEY_LIFE_MS};
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::{SessionId, Timestamp};

use super::error::SessionError;
use super::projector::{key_label, name_label, summary};
use super::request::{ListFilter, Listed, Slice};
use crate::store::{Order, ReadError, Row, Store};

/// Rows read at once.
const ROWS: usize = 1_024;
/// Sessions that an ambiguous beginning names.
const AMBIGUOUS: usize = 5;
/// Names that resemble one that is not there.
const NEAR: usize = 3;

/// What is known better than the index says: sessions that are loaded, and those that could not be.
pub(super) type Overlay = BTreeMap<SessionId, SessionInfo>;

fn failed(error: ReadError) -> SessionError {
    SessionError::Store(agentd_core::query::StoreFailure { reason: error.to_string() })
}

fn read(row: &Row) -> Option<Summary> {
    summary(row).inspect_err(|error| tracing::error!(%error, "a session is left out of the list")).ok()
}

/// A session's row, if there is one and it can be read.
pub(super) fn info_of(store: &Store, id: SessionId) -> Result<SessionInfo, SessionError> {
    // Also says that it is set apart, and why.
    let last = store.last_seq(id).map_err(failed)?;
    let row = store.row(id).map_err(failed)?.filter(|_| last.is_some());
    let row = row.ok_or_else(|| SessionError::NotFound { what: id.to_string(), near: Vec::new() })?;
    Ok(summary(&row).map_err(|reason| SessionError::Store(agentd_core::query::StoreFailure { reason }))?.info)
}

/// The session created with `key` not longer ago than a key lives.
pub(super) fn created_with(store: &Store, key: &str, now: Timestamp) -> Result<Option<SessionInfo>, SessionError> {
    for id in store.labelled(key_label(key)).map_err(failed)?.into_iter().rev() {
        let found = store.row(id).map_err(failed)?.as_ref().and_then(read);
        if let Some(found) = found.filter(|it| it.creation_key.as_deref() == Some(key) && now.since(it.info.created_at) < KEY_LIFE_MS) {
            return Ok(Some(found.info));
        }
    }
    Ok(None)
}

/// How many sessions there are.
pub(super) fn count(store: &Store) -> Result<u64, SessionError> {
    store.count().map_err(failed)
}

/// The session of that name.
pub(super) fn named(store: &Store, name: &str) -> Result<Option<SessionId>, SessionError> {
    Ok(store.labelled(name_label(name)).map_err(failed)?.first().copied())
}

/// By name, id, or an id's unique beginning.
pub(super) fn find(store: &Store, what: &str) -> Result<SessionId, SessionError> {
    if let Some(id) = named(store, what)? {
        return Ok(id);
    }
    let start = what.to_lowercase();
    let fits = match beginning(&start) {
        Some((from, to)) => store.rows(from..=to, Order::Ascending, AMBIGUOUS + 1).map_err(failed)?,
        None => Vec::new(),
    };
    let fits: Vec<SessionId> = fits.into_iter().map(|row| row.session).filter(|id| id.to_string().starts_with(&start)).collect();
    match fits.as_slice() {
        [id] => Ok(*id),
        [] => Err(SessionError::NotFound { what: what.to_owned(), near: near(store, what)? }),
        several => {
            let matches = several.iter().take(AMBIGUOUS).map(ToString::to_string).collect();
            Err(SessionError::Ambiguous { what: what.to_owned(), matches })
        }
    }
}

/// The first and last id whose text begins so; nothing if none can.
fn beginning(text: &str) -> Option<(SessionId, SessionId)> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let hex = !digits.is_empty() && digits.len() <= 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex {
        return None;
    }
    let bits = u128::from_str_radix(&digits, 16).ok()?;
    let free = 4 * (32 - digits.len() as u32);
    let (from, open) = (bits.checked_shl(free).unwrap_or(0), u128::MAX.checked_shr(128 - free).unwrap_or(0));
    Some((SessionId::from_u128(from), SessionId::from_u128(from | open)))
}

/// Names that resemble `what`, of the newest sessions first.
fn near(store: &Store, what: &str) -> Result<Vec<String>, SessionError> {
    let what = what.to_lowercase();
    let resembles = |name: &str| {
        let name = name.to_lowercase();
        let shared = name.chars().zip(what.chars()).take_while(|(a, b)| a == b).count();
        !what.is_empty() && (name.contains(&what) || what.contains(&name) || shared >= 3)
    };
    let mut found = Vec::new();
    each_row(store, None, |summary| {
        found.extend(summary.info.name.filter(|name| resembles(name)));
        if found.len() < NEAR { Go::On } else { Go::Stop }
    })?;
    Ok(found)
}

enum Go {
    On,
    Stop,
}

/// Rows by id, newest first, of those before `before`.
fn each_row(store: &Store, before: Option<SessionId>, mut each: impl FnMut(Summary) -> Go) -> Result<(), SessionError> {
    let mut to = match before {
        Some(before) => previous(before),
        None => Some(SessionId::from_u128(u128::MAX)),
    };
    while let Some(last) = to {
        let rows = store.rows(SessionId::from_u128(0)..=last, Order::Descending, ROWS).map_err(failed)?;
        for row in &rows {
            if let Some(summary) = read(row)
                && let Go::Stop = each(summary)
            {
                return Ok(());
            }
        }
        to = rows.last().and_then(|row| previous(row.session));
    }
    Ok(())
}

fn previous(id: SessionId) -> Option<SessionId> {
    u128::from_be_bytes(*id.as_bytes()).checked_sub(1).map(SessionId::from_u128)
}

/// A slice of those that fit, newest first (ids are UUIDv7).
pub(super) fn list(store: &Store, filter: &ListFilter, slice: Slice, overlay: &Overlay) -> Result<Listed, SessionError> {
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    let fits = |info: &SessionInfo| {
        let archived = info.state == SessionState::Archived && !filter.all;
        let elsewhere = filter.cwd.as_ref().is_some_and(|cwd| *cwd != info.cwd);
        let other = text
            .as_ref()
            .is_some_and(|text| !info.name.iter().chain([&info.last_text]).any(|it| it.to_lowercase().contains(text.as_str())));
        !archived && !elsewhere && !other
    };
    let mut listed = Listed { rows: Vec::new(), more: false };
    each_row(store, slice.after, |summary| {
        let info = match overlay.get(&summary.info.id) {
            Some(better) if better.last_seq >= summary.info.last_seq => better.clone(),
            Some(_) | None => summary.info,
        };
        if !fits(&info) {
            return Go::On;
        }
        if listed.rows.len() == slice.size {
            listed.more = true;
            return Go::Stop;
        }
        listed.rows.push(info);
        Go::On
    })?;
    Ok(listed)
}

#[cfg(test)]
mod tests;
