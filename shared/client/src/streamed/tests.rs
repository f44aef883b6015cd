//! Each byte once, whatever was lost or came twice.

use agentd_types::Usage;
use agentd_types::live::BlockSoFar;

use super::*;

const M: MessageId = MessageId::from_u128(1);

fn delta(message: MessageId, block: u32, offset: u64, text: &str) -> Delta {
    Delta { message, block, offset, kind: DeltaKind::Text, text: text.to_owned() }
}

fn whole(texts: &[&str]) -> AssistantMessage {
    AssistantMessage {
        message: M,
        api_id: "msg".to_owned(),
        model: "m".to_owned(),
        content: texts.iter().map(|text| Block::text(*text)).collect(),
        stop_reason: None,
        usage: Usage::default(),
    }
}

fn so_far(text: &str) -> MessageSoFar {
    MessageSoFar { message: M, blocks: vec![BlockSoFar { block: 0, kind: DeltaKind::Text, text: text.to_owned() }] }
}

fn tail<'a>(pieces: &[(u32, &'a str)]) -> Rest<'a> {
    Rest::Tail(pieces.iter().map(|(block, text)| Piece { block: *block, text }).collect())
}

#[test]
fn deltas_then_the_rest() {
    let mut streamed = Streamed::default();
    assert_eq!(streamed.delta(&delta(M, 0, 0, "Hel")).map(|it| it.text), Some("Hel"));
    assert_eq!(streamed.delta(&delta(M, 0, 3, "lo")).map(|it| it.text), Some("lo"));
    assert_eq!(streamed.finish(&whole(&["Hello", "more"])), tail(&[(1, "more")]));
    assert_eq!(streamed.delta(&delta(M, 1, 0, "more")), None, "late");
}

#[test]
fn nothing_was_shown_before() {
    assert_eq!(Streamed::default().finish(&whole(&["Hello"])), tail(&[(0, "Hello")]));
}

#[test]
fn a_snapshot_joins_exactly() {
    let mut streamed = Streamed::default();
    let first = so_far("Hel");
    assert_eq!(streamed.snapshot(&first), [Piece { block: 0, text: "Hel" }]);
    assert_eq!(streamed.delta(&delta(M, 0, 1, "ello")).map(|it| it.text), Some("lo"), "overlap is cut");
    let again = so_far("Hello, w");
    assert_eq!(streamed.snapshot(&again), [Piece { block: 0, text: ", w" }], "after a lost link only what is new");
    assert_eq!(streamed.finish(&whole(&["Hello, world"])), tail(&[(0, "orld")]));
}

#[test]
fn after_a_hole_it_comes_again() {
    let mut streamed = Streamed::default();
    streamed.delta(&delta(M, 0, 0, "He"));
    assert_eq!(streamed.delta(&delta(M, 0, 4, "o")), None);
    assert_eq!(streamed.delta(&delta(M, 0, 2, "ll")), None, "nothing is pieced together later");
    assert_eq!(streamed.finish(&whole(&["Hello"])), Rest::Again(vec![Piece { block: 0, text: "Hello" }]));
    let next = MessageId::from_u128(2);
    assert_eq!(streamed.delta(&delta(next, 0, 0, "Next")).map(|it| it.text), Some("Next"));
}

#[test]
fn a_dropped_message_is_told() {
    let mut streamed = Streamed::default();
    streamed.delta(&delta(M, 0, 0, "half"));
    assert!(streamed.drop_message(M));
    assert!(!streamed.drop_message(MessageId::from_u128(3)));
}
