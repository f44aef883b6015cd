//! A session's row in the index, and the seam to those who know what an event means. It never looks into one itself.

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::keys::{BadValue, Label};

/// Knows what events mean; implemented above the store. Called on the store's own threads, never on a runtime's.
pub trait Projector: Send + Sync + 'static {
    /// The row after `events`, which follow those that made `row` (none: they are the session's first).
    ///
    /// # Errors
    /// When an event is none, or does not fit; the session keeps its old row.
    fn fold(&self, row: Option<&[u8]>, events: &[Bytes]) -> Result<Folded, String>;

    /// The event as one JSON object, for the cold copy: no line break in it, at least one field, and `seq` in it.
    fn write_line(&self, seq: Seq, event: &Bytes) -> Vec<u8>;

    /// What [`Projector::write_line`] made it of.
    ///
    /// # Errors
    /// When the line is none of those.
    fn read_line(&self, line: &[u8]) -> Result<(Seq, Bytes), String>;
}

/// Whether a session has something to do when the daemon starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    Settled,
    Unsettled,
}

/// What a projector makes of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// For whoever lists sessions; the projector reads it back when it folds on.
    pub row: Vec<u8>,
    pub standing: Standing,
    /// What the session can be found by.
    pub labels: Vec<Label>,
}

/// A session as the index shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub session: SessionId,
    /// Its last event.
    pub last: Seq,
    /// The projector's; empty when it could make nothing of the session's first events.
    pub row: Vec<u8>,
}

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub last: Seq,
    pub folded: Folded,
}

impl Stored {
    /// Before the first event.
    #[must_use]
    pub fn empty() -> Stored {
        Stored { last: Seq::ZERO, folded: Folded { row: Vec::new(), standing: Standing::Settled, labels: Vec::new() } }
    }

    /// Last event 8, standing 1, number of labels 1, labels 16 each, the row.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Folded { row, standing, labels } = &self.folded;
        let labels = &labels[..labels.len().min(usize::from(u8::MAX))];
        let mut out = Vec::with_capacity(10 + 16 * labels.len() + row.len());
        out.extend_from_slice(&self.last.0.to_le_bytes());
        out.push(match standing {
            Standing::Settled => 0,
            Standing::Unsettled => 1,
        });
        out.push(labels.len() as u8);
        labels.iter().for_each(|label| out.extend_from_slice(label.as_bytes()));
        out.extend_from_slice(row);
        out
    }

    /// What `encode` made.
    ///
    /// # Errors
    /// `Form`, when it is none.
    pub fn decode(bytes: &[u8]) -> Result<Stored, BadValue> {
        let (last, rest) = bytes.split_first_chunk::<8>().ok_or(BadValue::Form)?;
        let ([standing, count], rest) = rest.split_first_chunk::<2>().ok_or(BadValue::Form)?;
        let standing = match standing {
            0 => Standing::Settled,
            1 => Standing::Unsettled,
            _ => return Err(BadValue::Form),
        };
        let (labels, row) = rest.split_at_checked(16 * usize::from(*count)).ok_or(BadValue::Form)?;
        let (labels, _) = labels.as_chunks::<16>();
        let labels = labels.iter().map(|label| Label::from_bytes(*label)).collect();
        Ok(Stored { last: Seq(u64::from_le_bytes(*last)), folded: Folded { row: row.to_vec(), standing, labels } })
    }
}

/// How far the database has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meta {
    /// The last journal record that is in it.
    pub applied: u64,
    /// How many sessions it holds.
    pub sessions: u64,
}

impl Meta {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.applied.to_le_bytes(), self.sessions.to_le_bytes()].concat()
    }

    /// What `encode` made.
    ///
    /// # Errors
    /// `Form`, when it is none.
    pub fn decode(bytes: &[u8]) -> Result<Meta, BadValue> {
        let (applied, rest) = bytes.split_first_chunk::<8>().ok_or(BadValue::Form)?;
        let sessions = rest.first_chunk::<8>().ok_or(BadValue::Form)?;
        Ok(Meta { applied: u64::from_le_bytes(*applied), sessions: u64::from_le_bytes(*sessions) })
    }
}

#[cfg(test)]
mod tests;
