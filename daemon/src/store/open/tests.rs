//! Torn tails, damaged records, other versions: what opening makes of them.

use proptest::prelude::*;

use super::*;
use crate::store::tests::{Opened, all, block, boot, dir, first_segment, forget, found, open, open_on, put, record_len, session, small};
use crate::store::{Commit, MemoryFiles, Store};

const FIRST: u64 = SEGMENT_HEADER;

/// What a killed process left: three records, the last one `last`. Returns where the last one lies, too.
fn three(last: &str) -> (MemoryFiles, u64, u64) {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a1"]);
    put(&store, session(2), 1, &["b1"]);
    put(&store, session(1), 2, &[last]);
    let from = FIRST + 2 * record_len(&["a1"]);
    // A copy: dropping the store ends it cleanly.
    (files.after_kill(), from, from + record_len(&[last]))
}

fn expect_torn(files: &MemoryFiles, from: u64, what: &str) {
    for boot in [boot(), BootId::new("another")] {
        let files = files.after_kill();
        let (store, opened) = open_on(&files, boot);
        assert_eq!(opened.sessions, [(session(1), Seq(1)), (session(2), Seq(1))], "{what}");
        assert_eq!((&opened.quarantined, &opened.damage), (&vec![], &vec![]), "{what}");
        let cut = opened.cut.unwrap_or_else(|| panic!("{what}: no cut"));
        assert_eq!((cut.segment, cut.offset), (first_segment(), from), "{what}");
        assert!(cut.bytes > 0, "{what}");
        assert!(files.content(&first_segment())[from as usize..].iter().all(|byte| *byte == 0), "{what}");
        assert_eq!(put(&store, session(1), 2, &["again"]), Commit::Synced, "{what}");
        let (again, opened) = open_on(&files.after_power_loss(&mut |_| 0), boot);
        assert_eq!((opened.cut, all(&again, session(1))), (None, vec!["a1".to_owned(), "again".to_owned()]), "{what}");
    }
}

#[test]
fn a_record_torn_at_any_byte_is_cut_and_the_rest_is_there() {
    let (files, from, to) = three("the last one, which is torn");
    let whole = files.content(&first_segment());
    let end = whole.iter().rposition(|byte| *byte != 0).expect("not empty") as u64 + 1;
    assert!(end > to - 8);
    for at in from as usize + 1..end as usize {
        let mut truncated = whole.clone();
        truncated.truncate(at);
        files.damage(&first_segment(), truncated);
        expect_torn(&files, from, &format!("truncated at {at}"));

        let mut zeroed = whole.clone();
        zeroed[at..].fill(0);
        files.damage(&first_segment(), zeroed);
        expect_torn(&files, from, &format!("zeroed from {at}"));

        let mut garbage = whole.clone();
        garbage[at..].iter_mut().zip(0u32..).for_each(|(byte, salt)| *byte ^= (salt.wrapping_mul(2_654_435_761) >> 24) as u8 | 1);
        files.damage(&first_segment(), garbage);
        expect_torn(&files, from, &format!("garbage from {at}"));

        let mut front = whole.clone();
        front[from as usize..at].fill(0);
        files.damage(&first_segment(), front);
        expect_torn(&files, from, &format!("zeroed up to {at}"));
    }
    // Gone as a whole, there is nothing to cut.
    let mut gone = whole;
    gone.truncate(from as usize);
    files.damage(&first_segment(), gone);
    assert_eq!(open(&files).1.cut, None);
}

/// Damages `bytes` bytes from `offset` of segment 1 and opens.
fn damaged(files: &MemoryFiles, offset: u64, bytes: usize) -> (Store, Opened) {
    let mut content = files.content(&first_segment());
    content[offset as usize..offset as usize + bytes].iter_mut().for_each(|byte| *byte ^= 0xFF);
    files.damage(&first_segment(), content);
    open(files)
}

#[test]
fn a_damaged_record_quarantines_its_session_alone() {
    let len = record_len(&["a1"]);
    // In the header (only the record behind knows whose it was), and in the content.
    for at in [FIRST + len + 20, FIRST + len + 85] {
        let (files, ..) = three("a2");
        let (store, opened) = damaged(&files, at, 1);
        assert_eq!((opened.sessions, opened.cut), (vec![(session(1), Seq(2))], None));
        assert_eq!(opened.quarantined[0].0, session(2));
        assert!(opened.quarantined[0].1.contains("0000000001.journal"), "{}", opened.quarantined[0].1);
        assert_eq!((opened.damage.len(), opened.damage[0].records, opened.damage[0].unnamed), (1, 1, 0));
        let refused = store.read_after(session(2), Seq::ZERO, 1, 1).expect_err("quarantined").to_string();
        assert!(refused.contains("quarantined"), "{refused}");
        assert!(matches!(put(&store, session(2), 2, &["b2"]), Commit::Failed(reason) if reason.contains("quarantined")));
        assert_eq!(put(&store, session(1), 3, &["a3"]), Commit::Synced);
        // It is found again, and deleting the session ends it.
        let files = files.after_kill();
        let (store, opened) = open(&files);
        assert_eq!((opened.sessions, opened.quarantined.len()), (vec![(session(1), Seq(3))], 1));
        assert_eq!(forget(&store, session(2)), Commit::Synced);
        let (store, opened) = open(&files.after_kill());
        assert_eq!(opened.quarantined, []);
        assert_eq!(all(&store, session(1)), ["a1", "a2", "a3"]);
    }
}

#[test]
fn a_gap_in_a_sessions_numbers_quarantines_it() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    for (id, seq) in [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3)] {
        put(&store, session(id), seq, &["event"]);
    }
    let (files, len) = (files.after_kill(), record_len(&["event"]));
    // The records of sessions 2 and 1 lose their headers: 1 is named by the record behind, 2 by nothing.
    let (_, opened) = damaged(&files, FIRST + len, 2 * len as usize);
    assert_eq!(opened.sessions, [(session(3), Seq(1))]);
    assert_eq!(opened.quarantined.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [session(1)]);
    assert_eq!((opened.damage[0].records, opened.damage[0].unnamed), (2, 1));
}

#[test]
fn damage_at_the_end_of_a_full_segment_is_seen_by_the_next_ones_header() {
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &["a1"]);
    put(&store, session(2), 1, &[&"b".repeat(2000)]);
    put(&store, session(1), 2, &[&"a".repeat(3000)]);
    let content = files.content(&first_segment());
    let last = (FIRST + record_len(&["a1"])) as usize;
    for bad in [content[..last].to_vec(), [&content[..last], &[7; 999]].concat()] {
        files.damage(&first_segment(), bad);
        let (store, opened) = open(&files.after_kill());
        assert_eq!((opened.sessions, opened.cut), (vec![(session(1), Seq(2))], None), "only the last segment can be torn");
        assert_eq!((opened.quarantined.len(), opened.quarantined[0].0, opened.damage.len()), (1, session(2), 1));
        assert_eq!(all(&store, session(1)).len(), 2);
    }
    let files = files.after_kill();
    files.remove(&first_segment()).expect("removed");
    let (_, opened) = open(&files);
    assert_eq!((opened.sessions, opened.quarantined.len()), (vec![], 1), "the rest of session 1 has no beginning");
}

#[test]
fn a_damaged_segment_header_costs_no_record() {
    let (files, ..) = three("a2");
    let (store, opened) = damaged(&files, 40, 1);
    assert_eq!((opened.sessions, opened.quarantined), (vec![(session(1), Seq(2)), (session(2), Seq(1))], vec![]));
    assert_eq!((opened.damage.len(), opened.damage[0].records), (1, 0));
    assert_eq!(put(&store, session(1), 3, &["a3"]), Commit::Synced);
    assert_eq!(all(&open(&files.after_kill()).0, session(1)).len(), 3);
}

#[test]
fn unreadable_blocks_are_damage() {
    use crate::store::memory::Operation;
    let files = MemoryFiles::new();
    let (store, _) = open(&files);
    put(&store, session(1), 1, &[&"a".repeat(5000)]);
    put(&store, session(2), 1, &["b"]);
    let files = files.after_kill();
    // The whole cannot be read, nor can the second block.
    files.fail(Operation::Read, io::ErrorKind::Other);
    let mut content = files.content(&first_segment());
    content[4096..5000].fill(0);
    files.damage(&first_segment(), content);
    let (store, opened) = open(&files);
    assert_eq!((opened.sessions, opened.cut), (vec![(session(2), Seq(1))], None));
    assert_eq!(opened.quarantined[0].0, session(1));
    assert_eq!(all(&store, session(2)), ["b"]);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let (files, ..) = three("a2");
    let mut content = files.content(&first_segment());
    let header = SegmentHeader::decode(&content).expect("a header");
    content[..128].copy_from_slice(&SegmentHeader { format: FORMAT + 1, ..header }.encode());
    files.damage(&first_segment(), content.clone());
    let failed = Store::open(files.setup(boot(), small())).err().expect("refused").to_string();
    assert!(failed.contains("format 2") && failed.contains("newer agentd"), "{failed}");
    assert_eq!(files.content(&first_segment()), content);
}

#[test]
fn what_is_not_ours_is_left_and_cut_creations_are_removed() {
    let (files, ..) = three("a2");
    for name in ["0000000002.journal.new", "notes.txt"] {
        files.create(&dir().join(name)).expect("made");
    }
    let (_, opened) = open(&files);
    assert_eq!(opened.sessions.len(), 2);
    let mut names = files.list(dir()).expect("a list");
    names.sort();
    assert_eq!(names, ["0000000001.journal", "notes.txt"]);
}

#[test]
fn opening_again_and_again_changes_nothing() {
    let (files, ..) = three("a2");
    let first = files.content(&first_segment());
    for round in 0..3 {
        let files = files.after_kill();
        let _running = open_on(&files, BootId::new(&round.to_string()));
        assert_eq!(files.content(&first_segment()), first);
    }
    // Clean ends add a mark each and no event.
    for _ in 0..60 {
        let (store, opened) = open(&files);
        assert_eq!(opened.sessions, [(session(1), Seq(2)), (session(2), Seq(1))]);
        assert_eq!((opened.cut, opened.damage.len()), (None, 0));
        block(store.shutdown()).expect("a clean end");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_never_panic_and_never_change_an_event(
        flips in prop::collection::vec((0..2u32, any::<prop::sample::Index>(), 1..=255u8), 1..12),
        other_boot in any::<bool>(),
    ) {
        let files = MemoryFiles::new();
        let (store, _) = open(&files);
        let event = |id: u128, seq: u64| format!("{id}/{seq}/{}", "x".repeat(200));
        for seq in 1..=8 {
            for id in 1..=3 {
                put(&store, session(id), seq, &[&event(id, seq)]);
            }
        }
        for (segment, at, flip) in flips {
            let path = path_of(dir(), segment + 1);
            let mut content = files.content(&path);
            let at = at.index(content.len());
            content[at] ^= flip;
            files.damage(&path, content);
        }
        let boot = if other_boot { BootId::new("another") } else { boot() };
        if let Ok((store, opened)) = Store::open(files.setup(boot, small())).map(found) {
            for (id, _) in opened.sessions {
                let number = (1..=3).find(|number| session(*number) == id).expect("one of ours");
                for (seq, found) in (1..).zip(all(&store, id)) {
                    prop_assert_eq!(found, event(number, seq));
                }
            }
        }
    }
}
