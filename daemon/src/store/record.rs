//! The journal record's format: encoding and decoding, pure. It never reads a file and never panics on what it is given.
//!
//! A record is a header of 80 bytes, the payload, and zeros up to a multiple of 8. All numbers are little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 1 | format version |
//! | 5 | 1 | kind: 1 events, 2 deleted, 3 mark |
//! | 6 | 2 | zero |
//! | 8 | 4 | payload length |
//! | 12 | 4 | CRC-32C of the payload |
//! | 16 | 8 | record number, counted over all segments |
//! | 24 | 8 | offset in the segment up to which everything was synced before this was written |
//! | 32 | 16 | the session (zero for a mark) |
//! | 48 | 16 | the session of the record before (zero if it has none) |
//! | 64 | 8 | number of the first event |
//! | 72 | 4 | how many events |
//! | 76 | 4 | CRC-32C of segment number, offset and the 76 bytes before |
//!
//! The payload is, for each event, its length (4 bytes) and its bytes. The header's CRC includes where the record lies, so
//! that a copy of a journal inside an event is never taken for a record.

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

/// Bytes of a record's header.
pub const HEADER_LEN: usize = 80;

/// Records begin at multiples of this.
pub const ALIGN: u64 = 8;

/// First bytes of every record; no UTF-8 text contains them.
pub const MAGIC: [u8; 4] = [0xA6, b'r', b'e', 0xC5];

const VERSION: u8 = 1;
const NONE: [u8; 16] = [0; 16];

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    pub segment: u32,
    pub offset: u64,
}

/// What is to be recorded.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// One atomic batch.
    Events { session: SessionId, first: Seq, events: &'a [Bytes] },
    /// The session and all its events are gone.
    Deleted { session: SessionId },
    /// Nothing but the knowledge that everything before is synced.
    Mark,
}

/// What a header says the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Events { session: SessionId, first: Seq, count: u32 },
    Deleted { session: SessionId },
    Mark,
}

impl Kind {
    /// The session the record belongs to.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Kind::Events { session, .. } | Kind::Deleted { session } => Some(*session),
            Kind::Mark => None,
        }
    }
}

/// What stands before a record in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// This record's number.
    pub number: u64,
    /// The session of the record before.
    pub previous: Option<SessionId>,
    /// Everything below this offset of the segment was synced.
    pub synced: u64,
}

/// A header whose CRC is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub before: Before,
    pub payload_len: u32,
    payload_sum: u32,
}

impl Header {
    /// Bytes from the record's start to the next record.
    #[must_use]
    pub fn record_len(&self) -> u64 {
        aligned(HEADER_LEN as u64 + u64::from(self.payload_len))
    }
}

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    #[error("nothing was written here")]
    Blank,
    #[error("the file ends within the record")]
    Cut,
    #[error("no record begins here")]
    Magic,
    #[error("the record's header is damaged")]
    HeaderSum,
    #[error("the record's header says what cannot be")]
    Fields,
    #[error("the record's content is damaged")]
    PayloadSum,
    #[error("the record's content does not have the form its header says")]
    Form,
}

/// Bytes `body` takes in the journal.
#[must_use]
pub fn size(body: &Body<'_>) -> u64 {
    aligned(HEADER_LEN as u64 + payload_len(body))
}

fn payload_len(body: &Body<'_>) -> u64 {
    match body {
        Body::Events { events, .. } => events.iter().map(|event| 4 + event.len() as u64).sum(),
        Body::Deleted { .. } | Body::Mark => 0,
    }
}

/// Appends the record to `out`. The caller has checked that the payload is below 4 GiB (`Limits::batch` is far below).
pub fn encode(out: &mut Vec<u8>, spot: Spot, before: Before, body: &Body<'_>) {
    let start = out.len();
    out.resize(start + HEADER_LEN, 0);
    let (kind, session, first, count) = match body {
        Body::Events { session, first, events } => {
            for event in *events {
                out.extend_from_slice(&(event.len() as u32).to_le_bytes());
                out.extend_from_slice(event);
            }
            (1, *session.as_bytes(), first.0, events.len() as u32)
        }
        Body::Deleted { session } => (2, *session.as_bytes(), 0, 0),
        Body::Mark => (3, NONE, 0, 0),
    };
    let payload = &out[start + HEADER_LEN..];
    let (payload_len, payload_sum) = (payload.len() as u32, crc32c::crc32c(payload));

    let header = &mut out[start..start + HEADER_LEN];
    header[0..4].copy_from_slice(&MAGIC);
    header[4] = VERSION;
    header[5] = kind;
    header[8..12].copy_from_slice(&payload_len.to_le_bytes());
    header[12..16].copy_from_slice(&payload_sum.to_le_bytes());
    header[16..24].copy_from_slice(&before.number.to_le_bytes());
    header[24..32].copy_from_slice(&before.synced.to_le_bytes());
    header[32..48].copy_from_slice(&session);
    header[48..64].copy_from_slice(&before.previous.map_or(NONE, |session| *session.as_bytes()));
    header[64..72].copy_from_slice(&first.to_le_bytes());
    header[72..76].copy_from_slice(&count.to_le_bytes());
    let sum = header_sum(spot, &header[..76]);
    header[76..80].copy_from_slice(&sum.to_le_bytes());

    let end = start + aligned((out.len() - start) as u64) as usize;
    out.resize(end, 0);
}

/// Reads the header at the start of `bytes`, which lie at `spot`.
pub fn decode_header(bytes: &[u8], spot: Spot) -> Result<Header, BadRecord> {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(if bytes.iter().all(|byte| *byte == 0) { BadRecord::Blank } else { BadRecord::Cut });
    };
    if header[0..4] != MAGIC {
        return Err(if header.iter().all(|byte| *byte == 0) { BadRecord::Blank } else { BadRecord::Magic });
    }
    if header_sum(spot, &header[..76]) != u32_at(header, 76) {
        return Err(BadRecord::HeaderSum);
    }
    let session = SessionId::from_bytes(id_at(header, 32));
    let (first, count) = (u64_at(header, 64), u32_at(header, 72));
    let kind = match (header[4], header[5]) {
        (VERSION, 1) if first > 0 && count > 0 && first.checked_add(u64::from(count)).is_some() => {
            Kind::Events { session, first: Seq(first), count }
        }
        (VERSION, 2) => Kind::Deleted { session },
        (VERSION, 3) => Kind::Mark,
        _ => return Err(BadRecord::Fields),
    };
    let previous = id_at(header, 48);
    let before = Before {
        number: u64_at(header, 16),
        previous: (previous != NONE).then(|| SessionId::from_bytes(previous)),
        synced: u64_at(header, 24),
    };
    if before.synced > spot.offset || before.number == u64::MAX {
        return Err(BadRecord::Fields);
    }
    Ok(Header { kind, before, payload_len: u32_at(header, 8), payload_sum: u32_at(header, 12) })
}

/// The record at the start of `bytes`, which lie at `spot`: its header, and its events in order.
/// The events share `bytes`' memory.
pub fn decode(bytes: &Bytes, spot: Spot) -> Result<(Header, Vec<Bytes>), BadRecord> {
    let header = decode_header(bytes, spot)?;
    let events = decode_payload(&header, bytes)?.into_iter().map(|(from, to)| bytes.slice(from..to)).collect();
    Ok((header, events))
}

/// Checks the payload behind `header`; `record` starts with that header.
pub fn check_payload(header: &Header, record: &[u8]) -> Result<(), BadRecord> {
    decode_payload(header, record).map(|_| ())
}

/// The events' places within `record`.
fn decode_payload(header: &Header, record: &[u8]) -> Result<Vec<(usize, usize)>, BadRecord> {
    let end = HEADER_LEN + header.payload_len as usize;
    let payload = record.get(HEADER_LEN..end).ok_or(BadRecord::Cut)?;
    if crc32c::crc32c(payload) != header.payload_sum {
        return Err(BadRecord::PayloadSum);
    }
    let count = match header.kind {
        Kind::Events { count, .. } => count as usize,
        Kind::Deleted { .. } | Kind::Mark => 0,
    };
    // The CRC is right, so the count is ours; still, no more room is taken than the payload can fill.
    let mut events = Vec::with_capacity(count.min(payload.len() / 4));
    let mut at = 0;
    while at < payload.len() {
        let len = payload[at..].first_chunk::<4>().map(|len| u32::from_le_bytes(*len) as usize).ok_or(BadRecord::Form)?;
        let (from, to) = (at + 4, at + 4 + len);
        if to > payload.len() {
            return Err(BadRecord::Form);
        }
        events.push((HEADER_LEN + from, HEADER_LEN + to));
        at = to;
    }
    if events.len() == count { Ok(events) } else { Err(BadRecord::Form) }
}

fn header_sum(spot: Spot, header: &[u8]) -> u32 {
    let place = crc32c::crc32c_append(crc32c::crc32c(&spot.segment.to_le_bytes()), &spot.offset.to_le_bytes());
    crc32c::crc32c_append(place, header)
}

fn aligned(len: u64) -> u64 {
    len.next_multiple_of(ALIGN)
}

fn u32_at(header: &[u8; HEADER_LEN], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(header: &[u8; HEADER_LEN], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn id_at(header: &[u8; HEADER_LEN], at: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&header[at..at + 16]);
    bytes
}

#[cfg(test)]
mod tests;
