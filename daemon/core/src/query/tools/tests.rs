//! Row tests: what a batch of calls comes to, and the end of a round. Each line is a row of the table.

use crate::query::tests::make::{able, act, collected, decide, failure, open, stop, tools};
use crate::query::{Act, Continue, FailureKind, Gathered, Limits, LoopState, Next, Step, Terminal, ToolEnd};

fn start() -> LoopState {
    LoopState::start()
}

#[test]
fn results_are_followed_by_attachments() {
    assert_eq!(decide(&start(), &able(), tools(ToolEnd::Done)), act(Act::Gather));
}

#[test]
fn a_hook_that_says_stop_is_obeyed() {
    let reason = "not on a Friday".to_owned();
    let seen = tools(ToolEnd::HookStopped { reason: reason.clone() });
    assert_eq!(decide(&start(), &able(), seen), stop(Terminal::HookStopped { reason }));
}

#[test]
fn a_tool_failure_that_must_end_the_submission_keeps_its_reason() {
    for kind in [FailureKind::ToolFatal, FailureKind::ExpectFailed] {
        let why = failure(kind);
        assert_eq!(decide(&start(), &able(), tools(ToolEnd::Fatal(why.clone()))), stop(Terminal::ModelError(why)));
    }
}

#[test]
fn calls_that_wait_for_an_answer_park() {
    assert_eq!(decide(&start(), &able(), tools(ToolEnd::Open(open(&["b"])))), Next::Go(Step::Park(open(&["b"]))));
}

#[test]
fn the_next_round_takes_what_was_gathered() {
    let why = Continue::NextTurn { gathered: Gathered { commands: 2, attachments: 0 } };
    assert_eq!(decide(&start(), &able(), collected(2)), Next::Go(Step::Continue(why)));
}

#[test]
fn rounds_are_limited_and_counted_from_one() {
    let limits = Limits { max_turns: Some(3), ..able() };
    let round = |round| LoopState { round, ..start() };
    let why = Continue::NextTurn { gathered: Gathered::default() };
    assert_eq!(decide(&round(2), &limits, collected(0)), Next::Go(Step::Continue(why)));
    assert_eq!(decide(&round(3), &limits, collected(0)), stop(Terminal::MaxTurns { limit: 3 }));
    assert_eq!(decide(&round(4), &limits, collected(1)), stop(Terminal::MaxTurns { limit: 3 }), "resumed with a smaller limit");
}
