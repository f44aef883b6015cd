//! Row tests: the model's answer and the ladder of recoveries. Each line is a row of the table.

use agentd_types::Money;

use crate::query::tests::make::{
    BOUNDARY, able, act, asks, bare, batch, compacted, cut_at_limit, decide, drained, failure, reply, stop, text, withheld,
};
use crate::query::{
    Abilities, Act, CompactPlan, CompactionEnd, Continue, ContinueName, FailureKind, Limits, LoopState, Next, OutputCap, ReplyEnd, Step,
    Terminal, Withheld,
};

const PROMPT: Withheld = Withheld::PromptTooLong;
const MEDIA: Withheld = Withheld::MediaTooLarge;
const OUTPUT: Withheld = Withheld::OutputLimit;

fn start() -> LoopState {
    LoopState::start()
}

fn compacted_before() -> LoopState {
    LoopState { attempted_reactive_compact: true, ..start() }
}

fn drained_before() -> LoopState {
    LoopState { transition: Some(ContinueName::CollapseDrainRetry), ..start() }
}

fn raised() -> LoopState {
    LoopState { output_cap: OutputCap::Raised, ..start() }
}

fn without(change: impl FnOnce(&mut Abilities)) -> Limits {
    let mut limits = able();
    change(&mut limits.abilities);
    limits
}

fn go(why: Continue) -> Next {
    Next::Go(Step::Continue(why))
}

fn compact(withheld: Withheld) -> Next {
    act(Act::Compact(CompactPlan { withheld }))
}

fn drain() -> Next {
    act(Act::DrainCollapses(PROMPT))
}

#[test]
fn an_answer_without_calls_goes_to_stop_hooks_or_is_complete() {
    assert_eq!(decide(&start(), &able(), text(10)), act(Act::RunStopHooks));
    assert_eq!(decide(&start(), &bare(), text(10)), stop(Terminal::Completed));
}

#[test]
fn a_token_budget_takes_the_way_of_stop_hooks_without_any() {
    let limits = Limits { token_budget: Some(1_000), ..bare() };
    assert_eq!(decide(&start(), &limits, text(10)), act(Act::RunStopHooks));
}

#[test]
fn calls_are_run() {
    assert_eq!(decide(&start(), &able(), asks(&["a", "b"])), act(Act::RunTools(batch(&["a", "b"]))));
}

#[test]
fn complete_calls_of_an_answer_cut_at_the_limit_come_before_any_recovery() {
    assert_eq!(decide(&start(), &able(), cut_at_limit(&["a"])), act(Act::RunTools(batch(&["a"]))));
    assert_eq!(decide(&raised(), &able(), cut_at_limit(&["a"])), act(Act::RunTools(batch(&["a"]))));
}

#[test]
fn a_failed_call_ends_without_stop_hooks() {
    let why = failure(FailureKind::Api("authentication_error".to_owned()));
    assert_eq!(decide(&start(), &able(), reply(0, ReplyEnd::Failed(why.clone()))), stop(Terminal::ModelError(why)));
    let over = ReplyEnd::OverBudget { spent: Money(2), limit: Money(1) };
    assert_eq!(decide(&start(), &able(), reply(0, over)), stop(Terminal::MaxBudget { spent: Money(2), limit: Money(1) }));
    let refused = failure(FailureKind::Refusal(None));
    assert_eq!(decide(&start(), &able(), reply(0, ReplyEnd::Failed(refused.clone()))), stop(Terminal::ModelError(refused)));
}

#[test]
fn a_prompt_too_long_drains_first_then_compacts_then_is_shown() {
    let compacted_and_drained = LoopState { attempted_reactive_compact: true, ..drained_before() };
    assert_eq!(decide(&start(), &able(), withheld(PROMPT)), drain());
    assert_eq!(decide(&compacted_before(), &able(), withheld(PROMPT)), drain());
    assert_eq!(decide(&drained_before(), &able(), withheld(PROMPT)), compact(PROMPT));
    assert_eq!(decide(&compacted_and_drained, &able(), withheld(PROMPT)), stop(Terminal::PromptTooLong));
}

#[test]
fn what_is_not_built_is_passed_over() {
    let no_collapse = without(|it| it.collapse = false);
    let no_compact = without(|it| it.compact = false);
    assert_eq!(decide(&start(), &no_collapse, withheld(PROMPT)), compact(PROMPT));
    assert_eq!(decide(&start(), &no_compact, withheld(PROMPT)), drain());
    assert_eq!(decide(&drained_before(), &no_compact, withheld(PROMPT)), stop(Terminal::PromptTooLong));
    assert_eq!(decide(&start(), &bare(), withheld(PROMPT)), stop(Terminal::PromptTooLong));
    assert_eq!(decide(&start(), &bare(), withheld(MEDIA)), stop(Terminal::ImageError));
    let recovery = Continue::MaxOutputTokensRecovery { attempt: 1 };
    assert_eq!(decide(&start(), &without(|it| it.escalate = false), withheld(OUTPUT)), go(recovery));
}

#[test]
fn media_too_large_compacts_once_then_is_shown() {
    assert_eq!(decide(&start(), &able(), withheld(MEDIA)), compact(MEDIA));
    assert_eq!(decide(&compacted_before(), &able(), withheld(MEDIA)), stop(Terminal::ImageError));
}

#[test]
fn an_answer_cut_at_the_default_cap_gets_the_raised_one() {
    let escalate = || go(Continue::MaxOutputTokensEscalate { cap: OutputCap::Raised });
    assert_eq!(decide(&start(), &able(), cut_at_limit(&[])), escalate());
    assert_eq!(decide(&start(), &able(), withheld(OUTPUT)), escalate());
}

#[test]
fn an_answer_cut_at_the_raised_cap_carries_on_three_times_then_fails() {
    for (made, attempt) in [(0, 1), (1, 2), (2, 3)] {
        let state = LoopState { output_recoveries: made, ..raised() };
        assert_eq!(decide(&state, &able(), cut_at_limit(&[])), go(Continue::MaxOutputTokensRecovery { attempt }));
    }
    let used_up = LoopState { output_recoveries: 3, ..raised() };
    let Next::Go(Step::Stop(Terminal::ModelError(why))) = decide(&used_up, &able(), cut_at_limit(&[])) else {
        panic!("recoveries are used up");
    };
    assert_eq!(why.kind.name(), "output_limit");
    insta::assert_snapshot!(
        why.message,
        @"the answer was cut at the output limit, and 3 continuations did not finish it; what it wrote is kept. Ask for smaller pieces."
    );
}

#[test]
fn a_drain_that_committed_something_is_retried() {
    assert_eq!(decide(&start(), &able(), drained(4)), go(Continue::CollapseDrainRetry { committed: 4 }));
}

#[test]
fn a_drain_of_nothing_compacts_or_the_error_is_shown() {
    assert_eq!(decide(&start(), &able(), drained(0)), compact(PROMPT));
    assert_eq!(decide(&compacted_before(), &able(), drained(0)), stop(Terminal::PromptTooLong));
    assert_eq!(decide(&start(), &without(|it| it.compact = false), drained(0)), stop(Terminal::PromptTooLong));
}

#[test]
fn a_compaction_that_shrank_is_retried() {
    for why in [PROMPT, MEDIA] {
        let seen = compacted(CompactionEnd::Shrunk(BOUNDARY), why);
        assert_eq!(decide(&start(), &able(), seen), go(Continue::ReactiveCompactRetry { boundary: BOUNDARY }));
    }
}

#[test]
fn a_failed_compaction_shows_what_was_withheld() {
    assert_eq!(decide(&start(), &able(), compacted(CompactionEnd::Failed, PROMPT)), stop(Terminal::PromptTooLong));
    assert_eq!(decide(&start(), &able(), compacted(CompactionEnd::Failed, MEDIA)), stop(Terminal::ImageError));
}
