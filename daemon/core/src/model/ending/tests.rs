//! One row an ending.

use agentd_types::{Json, ToolUseId, Usage};

use super::*;
use crate::model::FoldEnd;

const LIMITS: CallLimits = CallLimits::DEFAULT;

fn answer(stop: &str, blocks: Vec<Block>) -> Folded {
    Folded {
        api_id: "msg".into(),
        model: "m".into(),
        blocks,
        stop_reason: Some(stop.into()),
        refusal: None,
        usage: Usage::default(),
        end: FoldEnd::Whole,
        repairs: Vec::new(),
    }
}

fn judged(stop: &str, blocks: Vec<Block>, after: After) -> Ending {
    judge(&LIMITS, &answer(stop, blocks), after, Repeats::default())
}

fn call() -> Block {
    Block::ToolUse { id: ToolUseId::new("t"), name: "Read".into(), input: Json::empty_object() }
}

fn thought() -> Block {
    Block::Thinking { thinking: "hm".into(), signature: "s".into() }
}

#[test]
fn the_table() {
    let text = || Block::text("x");
    let rows = [
        ("end_turn", vec![text()], Ending::Stands),
        ("tool_use", vec![call()], Ending::Stands),
        // The stop reason is never asked whether there are calls.
        ("end_turn", vec![text(), call()], Ending::Stands),
        ("pause_turn", vec![text(), call()], Ending::Stands),
        ("something_new", vec![text()], Ending::Stands),
        ("stop_sequence", vec![text()], Ending::Stands),
        ("max_tokens", vec![text()], Ending::OutputLimit),
        ("max_tokens", vec![], Ending::OutputLimit),
        ("max_tokens", vec![call()], Ending::OutputLimit),
        ("model_context_window_exceeded", vec![text()], Ending::WindowFull),
        ("model_context_window_exceeded", vec![call()], Ending::OutputLimit),
        ("refusal", vec![text()], Ending::Refused),
        ("refusal", vec![call()], Ending::Refused),
        ("pause_turn", vec![text()], Ending::SendBack),
        ("pause_turn", vec![Block::Other { json: Json::empty_object() }], Ending::SendBack),
    ];
    for (stop, blocks, expected) in rows {
        for after in [After::Words, After::Results] {
            assert_eq!(judged(stop, blocks.clone(), after), expected, "{stop} {blocks:?}");
        }
    }
}

#[test]
fn an_answer_without_a_word_is_asked_for_again_once_and_only_after_tools() {
    for blocks in [vec![], vec![thought()]] {
        for stop in ["end_turn", "pause_turn"] {
            assert_eq!(judged(stop, blocks.clone(), After::Words), Ending::Silent);
            assert_eq!(judged(stop, blocks.clone(), After::Results), Ending::AskAgain);
        }
        let again = Repeats { empties: 1, pauses: 0 };
        assert_eq!(judge(&LIMITS, &answer("end_turn", blocks), After::Results, again), Ending::Silent);
    }
}

#[test]
fn pauses_are_bounded() {
    let so_far = Repeats { pauses: LIMITS.pauses, empties: 0 };
    assert_eq!(judge(&LIMITS, &answer("pause_turn", vec![Block::text("x")]), After::Words, so_far), Ending::PausedOut);
}
