//! Trace tests: what is seen goes in, the names of the transitions come out. Acts are answered, never performed.

use std::collections::VecDeque;
use std::mem::discriminant;

use agentd_types::Money;
use insta::assert_snapshot;

use crate::query::tests::make::{
    BOUNDARY, able, asks, bare, blocked, collected, compacted, cut_at_limit, disk_full, drained, failure, hooks, open, prepared, reply,
    text, tools, withheld,
};
use crate::query::tests::script::cut;
use crate::query::{
    Act, Blocker, Budget, CompactionEnd, Cut, FailureKind, Limits, LoopState, Next, ReplyEnd, Resume, Room, Seen, Step, StopVerdict,
    ToolEnd, Withheld, next, trace,
};

/// Plays from `state`: an act takes the script's next observation if it is its own, else it goes well and says nothing.
fn play_from(mut state: LoopState, limits: &Limits, mut seen: Seen, script: impl IntoIterator<Item = Seen>) -> (String, LoopState) {
    let (mut script, mut names) = (VecDeque::from_iter(script), Vec::new());
    loop {
        state = state.note(&seen);
        match next(&state, limits, seen) {
            Next::Do(act) => {
                let own = script.front().is_some_and(|it| discriminant(it) == discriminant(&cut(&act, Cut::Interrupted)));
                seen = if own { script.pop_front().unwrap() } else { goes_well(&act) };
            }
            Next::Go(step) => {
                names.push(step.name());
                let Step::Continue(why) = step else { break };
                state = state.advance(&why);
                seen = Seen::Opened;
            }
        }
    }
    assert!(script.is_empty(), "never asked for: {script:?}");
    (shorten(&names), state)
}

fn play(limits: &Limits, script: impl IntoIterator<Item = Seen>) -> String {
    play_from(LoopState::start(), limits, Seen::Opened, script).0
}

fn goes_well(act: &Act) -> Seen {
    match act {
        Act::Prepare(_) => prepared(Room::Fits, Budget::Reserved),
        Act::RunStopHooks => hooks(StopVerdict::Passed),
        Act::RunTools(_) => tools(ToolEnd::Done),
        Act::Gather => collected(0),
        Act::CallModel(_) | Act::DrainCollapses(_) | Act::Compact(_) => panic!("the script has no answer for {act:?}"),
    }
}

/// Runs of one name are written once, with their number.
fn shorten(names: &[&'static str]) -> String {
    let runs: Vec<String> = names
        .chunk_by(|a, b| a == b)
        .map(|run| if run.len() > 3 { format!("{} x{}", run[0], run.len()) } else { trace(run.iter().copied()) })
        .collect();
    runs.join(" > ")
}

#[test]
fn an_answer_and_nothing_else() {
    assert_snapshot!(play(&able(), [text(20)]), @"completed");
    assert_snapshot!(play(&bare(), [text(20)]), @"completed");
}

/// Find every TODO under src and fix the first: Glob, Grep, Read, Edit, Bash, and the answer.
#[test]
fn the_end_to_end_example() {
    let script = || ["glob", "grep", "read", "edit", "bash"].map(|call| asks(&[call])).into_iter().chain([text(20)]);
    assert_snapshot!(play(&able(), script()), @"next_turn x5 > completed");
    let unfinished = script().chain([blocked(Blocker::Hook), asks(&["test"]), text(30)]);
    assert_snapshot!(play(&able(), unfinished), @"next_turn x5 > stop_hook_blocking > next_turn > completed");
    let budget = Limits { token_budget: Some(1_000), ..able() };
    assert_snapshot!(play(&budget, script().chain([text(400)])), @"next_turn x5 > token_budget_continuation > completed");
    let rounds = Limits { max_turns: Some(3), ..able() };
    assert_snapshot!(play(&rounds, script().take(3)), @"next_turn > next_turn > max_turns");
}

#[test]
fn a_cut_answer_is_repeated_with_room_then_carried_on_then_given_up() {
    assert_snapshot!(play(&able(), [asks(&["a"]), cut_at_limit(&[]), text(9_000)]), @"next_turn > max_output_tokens_escalate > completed");
    let script = |cuts| (0..cuts).map(|_| cut_at_limit(&[]));
    assert_snapshot!(
        play(&able(), script(4).chain([text(10)])),
        @"max_output_tokens_escalate > max_output_tokens_recovery > max_output_tokens_recovery > max_output_tokens_recovery > completed"
    );
    assert_snapshot!(
        play(&able(), script(5)),
        @"max_output_tokens_escalate > max_output_tokens_recovery > max_output_tokens_recovery > max_output_tokens_recovery > model_error"
    );
    assert_snapshot!(
        play(&bare(), script(4)),
        @"max_output_tokens_recovery > max_output_tokens_recovery > max_output_tokens_recovery > model_error"
    );
}

#[test]
fn a_new_round_has_the_whole_ladder_again() {
    let script = [cut_at_limit(&[]), cut_at_limit(&[]), cut_at_limit(&["a"]), cut_at_limit(&[]), cut_at_limit(&[]), text(10)];
    assert_snapshot!(
        play(&able(), script),
        @"max_output_tokens_escalate > max_output_tokens_recovery > next_turn > max_output_tokens_escalate > max_output_tokens_recovery > completed"
    );
}

#[test]
fn a_prompt_too_long_is_drained_then_compacted_then_shown() {
    let too_long = || withheld(Withheld::PromptTooLong);
    let shrunk = || compacted(CompactionEnd::Shrunk(BOUNDARY), Withheld::PromptTooLong);
    assert_snapshot!(play(&able(), [too_long(), drained(2), text(10)]), @"collapse_drain_retry > completed");
    assert_snapshot!(play(&able(), [too_long(), drained(0), shrunk(), text(10)]), @"reactive_compact_retry > completed");
    assert_snapshot!(
        play(&able(), [too_long(), drained(2), too_long(), shrunk(), text(10)]),
        @"collapse_drain_retry > reactive_compact_retry > completed"
    );
    assert_snapshot!(
        play(&able(), [too_long(), drained(2), too_long(), shrunk(), too_long(), drained(0)]),
        @"collapse_drain_retry > reactive_compact_retry > prompt_too_long"
    );
    let failed = compacted(CompactionEnd::Failed, Withheld::PromptTooLong);
    assert_snapshot!(play(&able(), [too_long(), drained(0), failed]), @"prompt_too_long");
    assert_snapshot!(play(&bare(), [too_long()]), @"prompt_too_long");
}

#[test]
fn media_too_large_is_compacted_then_shown() {
    let too_large = || withheld(Withheld::MediaTooLarge);
    let shrunk = || compacted(CompactionEnd::Shrunk(BOUNDARY), Withheld::MediaTooLarge);
    assert_snapshot!(play(&able(), [too_large(), shrunk(), text(10)]), @"reactive_compact_retry > completed");
    assert_snapshot!(play(&able(), [too_large(), shrunk(), too_large()]), @"reactive_compact_retry > image_error");
    assert_snapshot!(play(&able(), [too_large(), compacted(CompactionEnd::Failed, Withheld::MediaTooLarge)]), @"image_error");
}

/// A blocking hook does not give back the compaction: the two cannot take turns.
#[test]
fn compaction_and_stop_hooks_cannot_spiral() {
    let too_long = || withheld(Withheld::PromptTooLong);
    let shrunk = compacted(CompactionEnd::Shrunk(BOUNDARY), Withheld::PromptTooLong);
    let script = [too_long(), drained(0), shrunk, text(10), blocked(Blocker::Hook), too_long(), drained(0)];
    assert_snapshot!(play(&able(), script), @"reactive_compact_retry > stop_hook_blocking > prompt_too_long");
}

#[test]
fn hooks_have_a_ceiling_and_so_has_structured_output() {
    let rounds = |by, times| (0..times).flat_map(move |_| [text(10), blocked(by)]);
    assert_snapshot!(play(&able(), rounds(Blocker::Hook, 9)), @"stop_hook_blocking x8 > completed");
    assert_snapshot!(play(&able(), rounds(Blocker::StructuredOutput, 6)), @"stop_hook_blocking x5 > structured_output_retries");
    let both = rounds(Blocker::Hook, 8).chain(rounds(Blocker::StructuredOutput, 5)).chain([text(10)]);
    assert_snapshot!(play(&able(), both), @"stop_hook_blocking x13 > completed");
    let prevented = hooks(StopVerdict::Prevented { reason: "frozen".to_owned() });
    assert_snapshot!(play(&able(), [text(10), prevented]), @"stop_hook_prevented");
}

#[test]
fn the_token_budget_nudges_until_it_is_spent_or_yields_little() {
    let budget = |tokens| Limits { token_budget: Some(tokens), ..bare() };
    let answers = |times, tokens| (0..times).map(move |_| text(tokens));
    assert_snapshot!(play(&budget(10_000), answers(3, 3_000)), @"token_budget_continuation > token_budget_continuation > completed");
    assert_snapshot!(play(&budget(500_000), answers(4, 100)), @"token_budget_continuation > token_budget_continuation > token_budget_continuation > completed");
    assert_snapshot!(play(&budget(500_000), answers(51, 600)), @"token_budget_continuation x50 > completed");
    let busy = (0..5).flat_map(|_| [cut_at_limit(&["a"]), text(10)]);
    assert_snapshot!(
        play(&budget(30_000), busy.take(8)),
        @"next_turn > token_budget_continuation > next_turn > token_budget_continuation > next_turn > token_budget_continuation > next_turn > completed"
    );
}

#[test]
fn ways_out_before_and_without_an_answer() {
    assert_snapshot!(play(&able(), [prepared(Room::Full, Budget::Reserved)]), @"blocking_limit");
    let reached = Budget::Reached { spent: Money(2), limit: Money(1) };
    assert_snapshot!(play(&able(), [asks(&["a"]), prepared(Room::Fits, reached)]), @"next_turn > max_budget");
    let own = Limits { max_budget: Some(Money(150)), ..able() };
    assert_snapshot!(play(&own, [asks(&["a"]), asks(&["b"])]), @"next_turn > next_turn > max_budget");
    let failed = reply(0, ReplyEnd::Failed(failure(FailureKind::Api("overloaded_error".to_owned()))));
    assert_snapshot!(play(&able(), [failed]), @"model_error");
    let stopped = tools(ToolEnd::HookStopped { reason: "no".to_owned() });
    assert_snapshot!(play(&able(), [asks(&["a"]), stopped]), @"hook_stopped");
    let fatal = tools(ToolEnd::Fatal(failure(FailureKind::ToolFatal)));
    assert_snapshot!(play(&able(), [asks(&["a"]), fatal]), @"model_error");
}

/// Parked with a call open; the state written then goes on when the answer has come.
#[test]
fn parked_and_reopened() {
    let rounds = Limits { max_turns: Some(2), ..able() };
    let script = [cut_at_limit(&[]), asks(&["a", "b"]), tools(ToolEnd::Open(open(&["b"])))];
    let (names, parked) = play_from(LoopState::start(), &rounds, Seen::Opened, script);
    assert_snapshot!(names, @"max_output_tokens_escalate > parked");

    let rest = Resume::Calls(crate::query::tests::make::batch(&["b"]));
    let (names, parked) = play_from(parked, &rounds, Seen::Reopened(rest.clone()), [tools(ToolEnd::Open(open(&["b"])))]);
    assert_snapshot!(names, @"parked");

    let (names, ended) = play_from(parked, &rounds, Seen::Reopened(rest), [asks(&["c"])]);
    assert_snapshot!(names, @"next_turn > max_turns");
    assert_eq!((ended.round, ended.auto_compact.rounds_since, ended.spend.usage.output), (2, 2, 8_200));
}

#[test]
fn reopened_after_a_restart() {
    let play = |resume, script: Vec<Seen>| play_from(LoopState::start(), &able(), Seen::Reopened(resume), script).0;
    assert_snapshot!(play(Resume::Answered, vec![]), @"completed");
    assert_snapshot!(play(Resume::Answered, vec![blocked(Blocker::Hook), text(10)]), @"stop_hook_blocking > completed");
    assert_snapshot!(play(Resume::Nothing, vec![text(10)]), @"completed");
    assert_snapshot!(play(Resume::Calls(crate::query::tests::make::batch(&[])), vec![text(10)]), @"next_turn > completed");
}

/// One way that passes every act; it is interrupted, and the store fails, at each of them in turn.
#[test]
fn interrupted_everywhere() {
    let way = || {
        let shrunk = compacted(CompactionEnd::Shrunk(BOUNDARY), Withheld::PromptTooLong);
        let (fits, too_long) = (|| prepared(Room::Fits, Budget::Reserved), || withheld(Withheld::PromptTooLong));
        let round = [fits(), asks(&["a"]), tools(ToolEnd::Done), collected(1)];
        round.into_iter().chain([fits(), too_long(), drained(0), shrunk, fits(), text(10), hooks(StopVerdict::Passed)])
    };
    let cut_at = |at: usize, why: &Cut| {
        let script = way().take(at).chain(way().nth(at).map(|it| cut_like(&it, why)));
        play(&able(), script)
    };
    let all = |why: &Cut| (0..way().count()).map(|at| cut_at(at, why)).collect::<Vec<_>>().join("\n");
    assert_snapshot!(all(&Cut::Interrupted), @"
    aborted_streaming
    aborted_streaming
    aborted_tools
    aborted_tools
    next_turn > aborted_streaming
    next_turn > aborted_streaming
    next_turn > aborted_streaming
    next_turn > aborted_streaming
    next_turn > reactive_compact_retry > aborted_streaming
    next_turn > reactive_compact_retry > aborted_streaming
    next_turn > reactive_compact_retry > aborted_streaming
    ");
    assert_snapshot!(all(&Cut::StoreFailed(disk_full())), @"
    failed
    failed
    failed
    failed
    next_turn > failed
    next_turn > failed
    next_turn > failed
    next_turn > failed
    next_turn > reactive_compact_retry > failed
    next_turn > reactive_compact_retry > failed
    next_turn > reactive_compact_retry > failed
    ");
}

fn cut_like(seen: &Seen, why: &Cut) -> Seen {
    match seen {
        Seen::Opened | Seen::Reopened(_) => panic!("nothing was performed"),
        Seen::Prepared(_) => Seen::Prepared(Err(why.clone())),
        Seen::Replied(_) => Seen::Replied(Err(why.clone())),
        Seen::Drained(_) => Seen::Drained(Err(why.clone())),
        Seen::Compacted(_) => Seen::Compacted(Err(why.clone())),
        Seen::HooksRan(_) => Seen::HooksRan(Err(why.clone())),
        Seen::ToolsRan(_) => Seen::ToolsRan(Err(why.clone())),
        Seen::Collected(_) => Seen::Collected(Err(why.clone())),
    }
}
