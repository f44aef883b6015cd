//! What a segment's bytes say, record by record, and where a tear begins: pure. It never reads a file and never decides what
//! a damaged session is worth.

use super::record::{self, ALIGN, BadRecord, Header, MAGIC, Spot};
use super::segment::SEGMENT_HEADER;

/// A record, or bytes that are none where one should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Good {
        offset: u64,
        header: Header,
    },
    /// The header is whole, what follows is not.
    BadPayload {
        offset: u64,
        header: Header,
        why: BadRecord,
    },
    /// Up to the next piece, or to the last byte that is not zero.
    Unreadable {
        offset: u64,
        why: BadRecord,
    },
}

impl Piece {
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self {
            Piece::Good { offset, .. } | Piece::BadPayload { offset, .. } | Piece::Unreadable { offset, .. } => *offset,
        }
    }

    fn is_good(&self) -> bool {
        match self {
            Piece::Good { .. } => true,
            Piece::BadPayload { .. } | Piece::Unreadable { .. } => false,
        }
    }
}

/// A segment, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    pub pieces: Vec<Piece>,
    /// Behind the last record whose header is whole.
    pub end: u64,
    /// Behind the last byte that is not zero, but not before `end`.
    pub extent: u64,
    /// The highest offset any header says was synced.
    pub synced: u64,
}

/// What may have happened since the segment was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// The process ended; the machine did not. Writes are there in order, the last one perhaps in part.
    Kill,
    /// The machine stopped. Of what was not synced, anything may be there or not.
    PowerLoss,
}

/// Takes segment `number` apart; `bytes` is the whole file. Records are numbered from `least` upwards, other ones are not
/// believed.
#[must_use]
pub fn scan(number: u32, bytes: &[u8], least: u64) -> Scanned {
    let (mut pieces, mut least) = (Vec::new(), least);
    let (mut at, mut end, mut synced) = (SEGMENT_HEADER, SEGMENT_HEADER, SEGMENT_HEADER);
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
    loop {
        match header_at(number, bytes, at, least) {
            Ok(header) => {
                let record = bytes.get(usize_of(at)..).unwrap_or_default();
                pieces.push(match record::check_payload(&header, record) {
                    Ok(()) => Piece::Good { offset: at, header },
                    Err(why) => Piece::BadPayload { offset: at, header, why },
                });
                synced = synced.max(header.before.synced);
                least = header.before.number + 1;
                at += header.record_len();
                end = at;
            }
            Err(why) => {
                let next = find(number, bytes, at + ALIGN, written, least);
                if next.is_some() || written > at {
                    pieces.push(Piece::Unreadable { offset: at, why });
                }
                match next {
                    Some(next) => at = next,
                    None => return Scanned { pieces, end, extent: written.max(end), synced },
                }
            }
        }
    }
}

/// The first piece of the last segment that is torn rather than damaged: it and everything behind it goes.
#[must_use]
pub fn tear(scanned: &Scanned, rules: Rules) -> Option<usize> {
    let from = match rules {
        // Something whole behind a bad piece shows that the bad one had been written.
        Rules::Kill => scanned.pieces.iter().rposition(Piece::is_good).map_or(0, |last| last + 1),
        Rules::PowerLoss => 0,
    };
    let torn = |piece: &Piece| !piece.is_good() && piece.offset() >= scanned.synced;
    scanned.pieces[from..].iter().position(torn).map(|at| from + at)
}

fn header_at(number: u32, bytes: &[u8], offset: u64, least: u64) -> Result<Header, BadRecord> {
    let header = record::decode_header(bytes.get(usize_of(offset)..).unwrap_or_default(), Spot { segment: number, offset })?;
    if header.before.number < least { Err(BadRecord::Fields) } else { Ok(header) }
}

/// The next offset from `from` on at which a whole header lies.
fn find(number: u32, bytes: &[u8], from: u64, to: u64, least: u64) -> Option<u64> {
    let mut at = from;
    while at < to {
        let begins = bytes.get(usize_of(at)..).is_some_and(|rest| rest.starts_with(&MAGIC));
        if begins && header_at(number, bytes, at, least).is_ok() {
            return Some(at);
        }
        at += ALIGN;
    }
    None
}

fn usize_of(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
