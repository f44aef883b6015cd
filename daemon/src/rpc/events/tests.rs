//! Pages end early from the right side.

use agentd_types::Seq;
use bytes::Bytes;

use super::cut;
use crate::sessions::request::{Page, ReadFrom};

fn page(sizes: &[usize]) -> Page {
    let events = sizes.iter().zip(1..).map(|(size, seq)| (Seq(seq), Bytes::from(vec![b'x'; *size]))).collect();
    Page { events, last_seq: Seq(99) }
}

fn sizes(sizes: &[usize], from: ReadFrom) -> Vec<usize> {
    cut(page(sizes), from, 10).events.iter().map(Bytes::len).collect()
}

#[test]
fn forwards_keeps_the_first() {
    assert_eq!(sizes(&[4, 5, 6], ReadFrom::After(Seq(0))), [4, 5]);
    assert_eq!(sizes(&[11, 1], ReadFrom::After(Seq(0))), [11]);
    assert!(sizes(&[], ReadFrom::After(Seq(0))).is_empty());
}

#[test]
fn backwards_keeps_the_last() {
    assert_eq!(sizes(&[6, 5, 4], ReadFrom::Before(None)), [5, 4]);
    assert_eq!(sizes(&[1, 11], ReadFrom::Before(None)), [11]);
    assert_eq!(sizes(&[1, 2], ReadFrom::Before(Some(Seq(3)))), [1, 2]);
}
