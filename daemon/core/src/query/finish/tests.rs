//! Row tests: Stop hooks, the structured-output check and the token budget. Each line is a row of the table.

use agentd_types::Usage;

use crate::query::tests::make::{able, blocked, decide, hooks, stop};
use crate::query::{Blocker, Continue, HookMessage, Limits, LoopState, Next, Nudge, Spend, Step, StopVerdict, Terminal};

fn start() -> LoopState {
    LoopState::start()
}

fn go_on(by: Blocker) -> Next {
    let errors = vec![HookMessage("run the tests first".to_owned())];
    Next::Go(Step::Continue(Continue::StopHookBlocking { by, errors }))
}

fn nudged(spent: u64, left: u64) -> Next {
    Next::Go(Step::Continue(Continue::TokenBudgetContinuation { nudge: Nudge { spent, left } }))
}

fn budget(tokens: u64) -> Limits {
    Limits { token_budget: Some(tokens), ..able() }
}

/// `spent` output tokens so far, after `nudges` of which the last brought `before`, and the present answer `now`.
fn spending(spent: u64, nudges: u8, before: u64, now: u64) -> LoopState {
    let usage = Usage { output: spent, ..Usage::default() };
    let spend = Spend { usage, last_output: now, since_nudge: now, ..Spend::default() };
    LoopState { budget_nudges: nudges, last_yields: [9_999, before], spend, ..start() }
}

#[test]
fn hooks_that_pass_complete() {
    assert_eq!(decide(&start(), &able(), hooks(StopVerdict::Passed)), stop(Terminal::Completed));
}

#[test]
fn a_hook_may_prevent_going_on() {
    let reason = "the build is frozen".to_owned();
    let seen = hooks(StopVerdict::Prevented { reason: reason.clone() });
    assert_eq!(decide(&start(), &able(), seen), stop(Terminal::StopHookPrevented { reason }));
}

#[test]
fn a_hook_blocks_eight_times_then_is_overruled() {
    let blocks = |stop_hook_blocks| LoopState { stop_hook_blocks, ..start() };
    assert_eq!(decide(&start(), &able(), blocked(Blocker::Hook)), go_on(Blocker::Hook));
    assert_eq!(decide(&blocks(7), &able(), blocked(Blocker::Hook)), go_on(Blocker::Hook));
    assert_eq!(decide(&blocks(8), &able(), blocked(Blocker::Hook)), stop(Terminal::Completed));
    assert_eq!(decide(&blocks(8), &budget(1_000_000), blocked(Blocker::Hook)), stop(Terminal::Completed));
}

#[test]
fn structured_output_has_five_tries_of_its_own() {
    let tries = |structured_output_tries| LoopState { structured_output_tries, stop_hook_blocks: 8, ..start() };
    let by = Blocker::StructuredOutput;
    assert_eq!(decide(&tries(0), &able(), blocked(by)), go_on(by));
    assert_eq!(decide(&tries(4), &able(), blocked(by)), go_on(by));
    assert_eq!(decide(&tries(5), &able(), blocked(by)), stop(Terminal::StructuredOutputRetries { tries: 5 }));
    let hook = LoopState { structured_output_tries: 5, ..start() };
    assert_eq!(decide(&hook, &able(), blocked(Blocker::Hook)), go_on(Blocker::Hook));
}

#[test]
fn the_budget_nudges_below_ninety_percent() {
    let passed = || hooks(StopVerdict::Passed);
    assert_eq!(decide(&spending(899, 0, 0, 899), &budget(1_000), passed()), nudged(899, 101));
    assert_eq!(decide(&spending(900, 0, 0, 900), &budget(1_000), passed()), stop(Terminal::Completed));
    assert_eq!(decide(&spending(2_000, 0, 0, 900), &budget(1_000), passed()), stop(Terminal::Completed));
    assert_eq!(decide(&start(), &budget(0), passed()), stop(Terminal::Completed));
    assert_eq!(decide(&spending(1, 0, 0, 1), &budget(u64::MAX), passed()), nudged(1, u64::MAX - 1));
}

#[test]
fn nudging_stops_when_two_answers_in_a_row_yield_little() {
    let passed = || hooks(StopVerdict::Passed);
    let limits = budget(1_000_000);
    let left = |spent| nudged(spent, 1_000_000 - spent);
    assert_eq!(decide(&spending(2_000, 2, 10, 10), &limits, passed()), left(2_000), "two nudges are too few to tell");
    assert_eq!(decide(&spending(2_000, 3, 499, 499), &limits, passed()), stop(Terminal::Completed));
    assert_eq!(decide(&spending(2_000, 3, 500, 499), &limits, passed()), left(2_000), "the one before yielded enough");
    assert_eq!(decide(&spending(2_000, 3, 499, 500), &limits, passed()), left(2_000), "this one yielded enough");
}

#[test]
fn there_are_at_most_fifty_nudges() {
    let passed = || hooks(StopVerdict::Passed);
    let limits = budget(1_000_000);
    assert_eq!(decide(&spending(50_000, 49, 900, 900), &limits, passed()), nudged(50_000, 950_000));
    assert_eq!(decide(&spending(50_000, 50, 900, 900), &limits, passed()), stop(Terminal::Completed));
}
