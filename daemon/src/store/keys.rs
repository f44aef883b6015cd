//! The database's key layout, and the frame around each value: version and CRC. Pure; it never reads a database.
//!
//! A key is a session's id (16 bytes), a kind, and what tells apart: the events of one session are one clustered range in
//! order, and under the reserved zero id so are the rows of all sessions. A value is the layout's version (1 byte), the
//! CRC-32C (4 bytes, little-endian) of key and content, and the content: a value under a wrong key is found out, too.

use agentd_types::{Seq, SessionId};

/// The layout these functions write and read.
pub const VERSION: u8 = 1;

const ZERO: [u8; 16] = [0; 16];
const FRAME: usize = 5;

const META: u8 = 0;
const ROW: u8 = 1;
const UNSETTLED: u8 = 2;
const LABEL: u8 = 3;
const QUARANTINE: u8 = 4;
const EVENT: u8 = 1;

/// A half-open range of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
}

/// What a session can be found by, beside its id: a digest, so that any text makes a short key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label([u8; 16]);

impl Label {
    /// Of a text in one of the caller's name spaces.
    #[must_use]
    pub fn new(space: u8, text: &str) -> Label {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[space]);
        hasher.update(text.as_bytes());
        let mut label = [0; 16];
        label.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Label(label)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Label {
        Label(bytes)
    }
}

/// How far the database has come.
#[must_use]
pub fn meta() -> Vec<u8> {
    key(&ZERO, META, &[])
}

#[must_use]
pub fn event(session: SessionId, seq: Seq) -> Vec<u8> {
    key(session.as_bytes(), EVENT, &seq.0.to_be_bytes())
}

/// The events of a session from `from` (included) to `to` (not included).
#[must_use]
pub fn events(session: SessionId, from: Seq, to: Seq) -> Range {
    Range { from: event(session, from), to: event(session, to) }
}

/// Everything below a session's own id.
#[must_use]
pub fn all_of(session: SessionId) -> Range {
    Range { from: key(session.as_bytes(), 0, &[]), to: key(session.as_bytes(), u8::MAX, &[]) }
}

#[must_use]
pub fn row(session: SessionId) -> Vec<u8> {
    key(&ZERO, ROW, session.as_bytes())
}

/// The rows of the sessions from `from` to `to`, both included.
#[must_use]
pub fn rows(from: SessionId, to: SessionId) -> Range {
    let mut end = row(to);
    end.push(0);
    Range { from: row(from), to: end }
}

#[must_use]
pub fn unsettled(session: SessionId) -> Vec<u8> {
    key(&ZERO, UNSETTLED, session.as_bytes())
}

#[must_use]
pub fn all_unsettled() -> Range {
    Range { from: key(&ZERO, UNSETTLED, &[]), to: key(&ZERO, UNSETTLED + 1, &[]) }
}

#[must_use]
pub fn label(label: Label, session: SessionId) -> Vec<u8> {
    let mut rest = [0; 32];
    rest[..16].copy_from_slice(&label.0);
    rest[16..].copy_from_slice(session.as_bytes());
    key(&ZERO, LABEL, &rest)
}

/// All that bear the label.
#[must_use]
pub fn labelled(of: Label) -> Range {
    let mut to = label(of, SessionId::from_bytes([u8::MAX; 16]));
    to.push(0);
    Range { from: label(of, SessionId::from_bytes(ZERO)), to }
}

#[must_use]
pub fn quarantine(session: SessionId) -> Vec<u8> {
    key(&ZERO, QUARANTINE, session.as_bytes())
}

#[must_use]
pub fn all_quarantined() -> Range {
    Range { from: key(&ZERO, QUARANTINE, &[]), to: key(&ZERO, QUARANTINE + 1, &[]) }
}

/// The number an event's key ends with.
#[must_use]
pub fn seq_of(key: &[u8]) -> Option<Seq> {
    key.get(17..).and_then(|rest| rest.try_into().ok()).map(|bytes| Seq(u64::from_be_bytes(bytes)))
}

/// The session a key under the zero id ends with.
#[must_use]
pub fn session_of(key: &[u8]) -> Option<SessionId> {
    key.last_chunk::<16>().filter(|_| key.len() > 32).map(|bytes| SessionId::from_bytes(*bytes))
}

fn key(owner: &[u8; 16], kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(17 + rest.len());
    key.extend_from_slice(owner);
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

/// Why a value is not what was put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    #[error("the value is too short")]
    Short,
    #[error("the value has layout {found}, this agentd knows {VERSION}")]
    Version { found: u8 },
    #[error("the value is damaged")]
    Sum,
    #[error("the value does not have the form it should")]
    Form,
}

/// `content`, framed for `key`.
#[must_use]
pub fn frame(key: &[u8], content: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(FRAME + content.len());
    value.push(VERSION);
    value.extend_from_slice(&sum(key, content).to_le_bytes());
    value.extend_from_slice(content);
    value
}

/// The content of the value found under `key`.
///
/// # Errors
/// It is of another layout, or not what was put there.
pub fn unframe<'a>(key: &[u8], value: &'a [u8]) -> Result<&'a [u8], BadValue> {
    let (head, content) = value.split_at_checked(FRAME).ok_or(BadValue::Short)?;
    let found = head[0];
    let stored = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    if stored != sum_of(found, key, content) {
        return Err(BadValue::Sum);
    }
    if found != VERSION {
        return Err(BadValue::Version { found });
    }
    Ok(content)
}

fn sum(key: &[u8], content: &[u8]) -> u32 {
    sum_of(VERSION, key, content)
}

fn sum_of(version: u8, key: &[u8], content: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&[version]), key), content)
}

#[cfg(test)]
mod tests;
