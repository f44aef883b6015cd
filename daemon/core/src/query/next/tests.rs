//! Row tests: how an iteration begins, the gate, and cuts. Each line is a row of the table.

use agentd_types::Money;

use crate::query::state::AutoCompactState;
use crate::query::tests::make::{able, act, asks, bare, batch, cut_everywhere, decide, disk_full, prepared, stop};
use crate::query::{
    Act, AutoCompactPlan, Budget, CallPlan, Cut, Limits, LoopState, Next, OutputCap, PreparePlan, Resume, Room, Seen, Spend, Step, Terminal,
};

fn start() -> LoopState {
    LoopState::start()
}

fn prepare(auto_compact: AutoCompactPlan) -> Next {
    act(Act::Prepare(PreparePlan { round: 1, cap: OutputCap::Default, auto_compact }))
}

#[test]
fn an_iteration_begins_with_prepare() {
    assert_eq!(decide(&start(), &able(), Seen::Opened), prepare(AutoCompactPlan::Allowed));
    let later = LoopState { round: 7, output_cap: OutputCap::Raised, ..start() };
    let plan = PreparePlan { round: 7, cap: OutputCap::Raised, auto_compact: AutoCompactPlan::Off };
    assert_eq!(decide(&later, &bare(), Seen::Opened), act(Act::Prepare(plan)));
}

#[test]
fn autocompact_is_left_alone_after_three_failures_in_a_row_and_where_it_is_not_built() {
    let failed = |failures| LoopState { auto_compact: AutoCompactState { failures, rounds_since: 0 }, ..start() };
    assert_eq!(decide(&failed(2), &able(), Seen::Opened), prepare(AutoCompactPlan::Allowed));
    assert_eq!(decide(&failed(3), &able(), Seen::Opened), prepare(AutoCompactPlan::Off));
    assert_eq!(decide(&failed(0), &bare(), Seen::Opened), prepare(AutoCompactPlan::Off));
}

#[test]
fn reopened_with_open_calls_runs_the_rest() {
    let resume = Resume::Calls(batch(&["b", "c"]));
    assert_eq!(decide(&start(), &able(), Seen::Reopened(resume)), act(Act::RunTools(batch(&["b", "c"]))));
}

#[test]
fn reopened_with_all_results_but_no_next_round_takes_the_way_of_tools() {
    let resume = Resume::Calls(batch(&[]));
    assert_eq!(decide(&start(), &able(), Seen::Reopened(resume)), act(Act::RunTools(batch(&[]))));
}

#[test]
fn reopened_with_a_final_answer_goes_to_stop_hooks_or_ends() {
    assert_eq!(decide(&start(), &able(), Seen::Reopened(Resume::Answered)), act(Act::RunStopHooks));
    assert_eq!(decide(&start(), &bare(), Seen::Reopened(Resume::Answered)), stop(Terminal::Completed));
}

#[test]
fn reopened_with_nothing_prepares() {
    assert_eq!(decide(&start(), &able(), Seen::Reopened(Resume::Nothing)), prepare(AutoCompactPlan::Allowed));
}

#[test]
fn the_gate_lets_through_what_fits_and_is_paid_for() {
    let raised = LoopState { output_cap: OutputCap::Raised, ..start() };
    let seen = || prepared(Room::Fits, Budget::Reserved);
    assert_eq!(decide(&start(), &able(), seen()), act(Act::CallModel(CallPlan { cap: OutputCap::Default })));
    assert_eq!(decide(&raised, &able(), seen()), act(Act::CallModel(CallPlan { cap: OutputCap::Raised })));
}

#[test]
fn the_gate_stops_at_the_blocking_limit_before_it_asks_for_money() {
    let reached = Budget::Reached { spent: Money(9), limit: Money(8) };
    assert_eq!(decide(&start(), &able(), prepared(Room::Full, Budget::Reserved)), stop(Terminal::BlockingLimit));
    assert_eq!(decide(&start(), &able(), prepared(Room::Full, reached)), stop(Terminal::BlockingLimit));
}

#[test]
fn the_gate_stops_at_the_sessions_budget() {
    let (spent, limit) = (Money(9), Money(8));
    let seen = prepared(Room::Fits, Budget::Reached { spent, limit });
    assert_eq!(decide(&start(), &able(), seen), stop(Terminal::MaxBudget { spent, limit }));
}

#[test]
fn the_gate_stops_at_the_submissions_own_budget() {
    let limits = Limits { max_budget: Some(Money(100)), ..able() };
    let spent = |cost| LoopState { spend: Spend { cost: Money(cost), ..Spend::default() }, ..start() };
    let seen = || prepared(Room::Fits, Budget::Reserved);
    assert_eq!(decide(&spent(99), &limits, seen()), act(Act::CallModel(CallPlan { cap: OutputCap::Default })));
    assert_eq!(decide(&spent(100), &limits, seen()), stop(Terminal::MaxBudget { spent: Money(100), limit: Money(100) }));
}

#[test]
fn an_interrupt_is_named_after_the_part_it_fell_into() {
    let (streaming, tools) = cut_everywhere(&Cut::Interrupted);
    for seen in streaming {
        assert_eq!(decide(&start(), &able(), seen), stop(Terminal::AbortedStreaming));
    }
    for seen in tools {
        assert_eq!(decide(&start(), &able(), seen), stop(Terminal::AbortedTools));
    }
}

#[test]
fn a_store_that_cannot_append_fails_the_submission_everywhere() {
    let (streaming, tools) = cut_everywhere(&Cut::StoreFailed(disk_full()));
    for seen in streaming.into_iter().chain(tools) {
        assert_eq!(decide(&start(), &able(), seen), Next::Go(Step::Fail(disk_full())));
    }
}

#[test]
fn an_answer_with_calls_is_followed_up_whatever_is_built() {
    for limits in [able(), bare()] {
        assert_eq!(decide(&start(), &limits, asks(&["a"])), act(Act::RunTools(batch(&["a"]))));
    }
}
