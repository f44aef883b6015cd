//! Segments taken apart after every kind of damage.

use agentd_types::{Seq, SessionId};
use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::store::record::{Before, Body, encode};

const SEGMENT: u32 = 4;

/// A segment of records of one event each, numbered from 1. Each says what was synced before it.
struct Built {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
}

fn build(records: &[(&str, usize)]) -> Built {
    let (mut bytes, mut offsets) = (vec![0xEE; 128], Vec::<u64>::new());
    for (number, (event, synced_before)) in (1..).zip(records) {
        let offset = bytes.len() as u64;
        // `synced_before`: how many of the records were.
        let synced = offsets.get(*synced_before).copied().unwrap_or(offset);
        let events = [Bytes::copy_from_slice(event.as_bytes())];
        let body = Body::Events { session: SessionId::from_u128(9), first: Seq(number), events: &events };
        encode(&mut bytes, Spot { segment: SEGMENT, offset }, Before { number, previous: None, synced }, &body);
        offsets.push(offset);
    }
    bytes.resize(bytes.len() + 500, 0);
    Built { bytes, offsets }
}

fn kinds(scanned: &Scanned) -> String {
    let letter = |piece: &Piece| match piece {
        Piece::Good { .. } => 'g',
        Piece::BadPayload { .. } => 'p',
        Piece::Unreadable { .. } => 'u',
    };
    scanned.pieces.iter().map(letter).collect()
}

#[test]
fn a_whole_segment_is_all_good() {
    let built = build(&[("a", 0), ("b", 1), ("c", 2)]);
    let scanned = scan(SEGMENT, &built.bytes, 1);
    assert_eq!((kinds(&scanned).as_str(), scanned.synced), ("ggg", built.offsets[2]));
    assert_eq!((scanned.end, scanned.extent), (built.bytes.len() as u64 - 500, scanned.end));
    assert_eq!(tear(&scanned, Rules::Kill), None);
    assert_eq!(tear(&scanned, Rules::PowerLoss), None);
    assert_eq!(kinds(&scan(SEGMENT, &built.bytes[..128], 1)), "");
    assert_eq!(kinds(&scan(SEGMENT, &[], 1)), "");
}

#[test]
fn a_bad_record_before_the_synced_offset_is_damage_under_both_rules() {
    let built = build(&[("a", 0), ("b", 1), ("c", 2)]);
    let at = built.offsets[1] as usize;
    let mut header = built.bytes.clone();
    header[at + 20] ^= 1;
    let mut payload = built.bytes.clone();
    payload[at + 84] ^= 1;
    let mut zeroed = built.bytes;
    zeroed[at..at + 88].fill(0);
    for (bytes, expected) in [(header, "gug"), (payload, "gpg"), (zeroed, "gug")] {
        let scanned = scan(SEGMENT, &bytes, 1);
        assert_eq!(kinds(&scanned), expected);
        assert_eq!((tear(&scanned, Rules::Kill), tear(&scanned, Rules::PowerLoss)), (None, None));
    }
}

#[test]
fn a_hole_behind_the_synced_offset_is_a_tear_after_lost_power_only() {
    let built = build(&[("a", 0), ("b", 1), ("c", 1), ("d", 1)]);
    let mut bytes = built.bytes;
    bytes[built.offsets[2] as usize..built.offsets[3] as usize].fill(0);
    let scanned = scan(SEGMENT, &bytes, 1);
    assert_eq!(kinds(&scanned), "ggug");
    assert_eq!(tear(&scanned, Rules::PowerLoss), Some(2));
    // A process writes in order: what lies before a whole record had been written.
    assert_eq!(tear(&scanned, Rules::Kill), None);
}

#[test]
fn a_bad_last_record_is_a_tear_under_both_rules() {
    let built = build(&[("a", 0), ("bcdefghijklm", 1)]);
    let last = built.offsets[1] as usize;
    for at in last..last + 96 {
        let mut bytes = built.bytes.clone();
        bytes[at] ^= 0x55;
        let scanned = scan(SEGMENT, &bytes, 1);
        assert_eq!((tear(&scanned, Rules::Kill), tear(&scanned, Rules::PowerLoss)), (Some(1), Some(1)), "byte {at}");
        assert!(scanned.extent >= last as u64 + 96);
    }
}

#[test]
fn what_is_numbered_too_low_is_not_believed() {
    let built = build(&[("a", 0), ("b", 1)]);
    assert_eq!(kinds(&scan(SEGMENT, &built.bytes, 2)), "ug");
    assert_eq!(kinds(&scan(SEGMENT, &built.bytes, 3)), "u");
}

#[test]
fn a_journal_inside_an_event_is_no_journal() {
    let inner = build(&[("inner", 0), ("inner", 1)]);
    let events = [Bytes::from(inner.bytes)];
    let body = Body::Events { session: SessionId::from_u128(9), first: Seq(1), events: &events };
    let mut bytes = vec![0xEE; 128];
    encode(&mut bytes, Spot { segment: SEGMENT, offset: 128 }, Before { number: 1, previous: None, synced: 128 }, &body);
    // Its header is gone: what it held is looked through, and nothing in it is taken for a record.
    bytes[130] ^= 1;
    assert_eq!(kinds(&scan(SEGMENT, &bytes, 1)), "u");
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic_or_believe_anything_new(
        events in prop::collection::vec("[a-z]{0,60}", 1..12),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 0..20),
        len in any::<prop::sample::Index>(),
        least in 0..4u64,
    ) {
        let records: Vec<(&str, usize)> = events.iter().enumerate().map(|(at, event)| (event.as_str(), at / 2)).collect();
        let built = build(&records);
        let mut bytes = built.bytes.clone();
        for (at, flip) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        bytes.truncate(len.index(bytes.len() + 1));
        let scanned = scan(SEGMENT, &bytes, least);
        prop_assert!(scanned.extent >= scanned.end);
        prop_assert!(scanned.pieces.windows(2).all(|pair| pair[0].offset() < pair[1].offset()));
        for piece in &scanned.pieces {
            if let Piece::Good { offset, header } = piece {
                let at = built.offsets.iter().position(|found| found == offset).expect("one of ours");
                prop_assert_eq!(header.before.number, at as u64 + 1);
            }
        }
        for rules in [Rules::Kill, Rules::PowerLoss] {
            if let Some(torn) = tear(&scanned, rules) {
                prop_assert!(scanned.pieces[torn].offset() >= scanned.synced);
            }
        }
    }
}
