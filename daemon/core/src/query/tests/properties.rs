//! What holds for every script: it ends, within its ceilings, and proposes only what is built. It never checks one particular way.

use std::panic::catch_unwind;

use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use crate::query::tests::script::{Choose, Seeded, Written, answer, cut, first, limits};
use crate::query::{
    Act, AutoCompactPlan, Continue, ContinueName, Cut, Limits, LoopState, Next, OutputCap, Seen, Step, StoreFailure, Terminal, next,
};

/// Above what four rounds with every ceiling spent can take; more is a loop without a brake.
const MOST_ACTS: u32 = 20_000;

const SCRIPTS: u64 = 1_000_000;

/// What was counted since the transitions that start the counting anew.
#[derive(Default)]
struct Counts {
    last: Option<ContinueName>,
    escalations: u8,
    recoveries: u8,
    compactions: u8,
}

impl Counts {
    fn count(&mut self, name: ContinueName, limits: &Limits) {
        match name {
            ContinueName::NextTurn | ContinueName::TokenBudgetContinuation => *self = Counts::default(),
            ContinueName::StopHookBlocking => *self = Counts { compactions: self.compactions, ..Counts::default() },
            ContinueName::CollapseDrainRetry => assert_ne!(self.last, Some(name), "two drains in a row"),
            ContinueName::ReactiveCompactRetry => self.compactions += 1,
            ContinueName::MaxOutputTokensEscalate => self.escalations += 1,
            ContinueName::MaxOutputTokensRecovery => self.recoveries += 1,
        }
        self.last = Some(name);
        assert!(self.escalations <= 1, "the cap was raised twice");
        assert!(self.recoveries <= limits.output_recoveries, "{} continuations of one answer", self.recoveries);
        assert!(self.compactions <= 1, "compacted twice for one prompt");
    }
}

/// How many acts it took, and how it ended.
struct Walk {
    acts: u32,
    end: Step,
}

/// Plays a script to its end and looks at every point of it.
fn walk<C: Choose>(limits: &Limits, first: Seen, choose: &mut C) -> Walk {
    let (mut state, mut seen) = (LoopState::start(), first);
    let (mut counts, mut acts) = (Counts::default(), 0);
    loop {
        state = state.note(&seen);
        match next(&state, limits, seen) {
            Next::Do(act) => {
                acts += 1;
                assert!(acts < MOST_ACTS, "no end in sight");
                check_proposed(&state, limits, &act);
                check_interrupted(&state, limits, &act);
                seen = answer(choose, &act);
            }
            Next::Go(Step::Continue(why)) => {
                counts.count(why.name(), limits);
                check_built(limits, &why);
                state = state.advance(&why);
                check_ceilings(&state, limits);
                seen = Seen::Opened;
            }
            Next::Go(end @ (Step::Park(_) | Step::Stop(_) | Step::Fail(_))) => return Walk { acts, end },
        }
    }
}

fn check_proposed(state: &LoopState, limits: &Limits, act: &Act) {
    let built = match act {
        Act::Prepare(plan) => plan.auto_compact == AutoCompactPlan::Off || limits.abilities.compact,
        Act::CallModel(plan) => plan.cap == OutputCap::Default || limits.abilities.escalate,
        Act::DrainCollapses(_) => limits.abilities.collapse,
        Act::Compact(_) => limits.abilities.compact && !state.attempted_reactive_compact,
        Act::RunStopHooks => limits.abilities.stop_hooks || limits.token_budget.is_some(),
        Act::RunTools(_) | Act::Gather => true,
    };
    assert!(built, "{act:?} is proposed with {limits:?}");
}

/// From here, an interrupt or a store failure ends it at once and by its name.
fn check_interrupted(state: &LoopState, limits: &Limits, act: &Act) {
    let name = match act {
        Act::Prepare(_) | Act::CallModel(_) | Act::DrainCollapses(_) | Act::Compact(_) | Act::RunStopHooks => Terminal::AbortedStreaming,
        Act::RunTools(_) | Act::Gather => Terminal::AbortedTools,
    };
    assert_eq!(next(state, limits, cut(act, Cut::Interrupted)), Next::Go(Step::Stop(name)));
    let failure = || StoreFailure { reason: String::new() };
    assert_eq!(next(state, limits, cut(act, Cut::StoreFailed(failure()))), Next::Go(Step::Fail(failure())));
}

fn check_built(limits: &Limits, why: &Continue) {
    let built = match why {
        Continue::CollapseDrainRetry { committed } => limits.abilities.collapse && *committed > 0,
        Continue::ReactiveCompactRetry { .. } => limits.abilities.compact,
        Continue::MaxOutputTokensEscalate { .. } => limits.abilities.escalate,
        Continue::TokenBudgetContinuation { .. } => limits.token_budget.is_some(),
        Continue::NextTurn { .. } | Continue::MaxOutputTokensRecovery { .. } | Continue::StopHookBlocking { .. } => true,
    };
    assert!(built, "{why:?} with {limits:?}");
}

fn check_ceilings(state: &LoopState, limits: &Limits) {
    assert!(limits.max_turns.is_none_or(|most| state.round <= most), "round {} of {:?}", state.round, limits.max_turns);
    assert!(state.output_recoveries <= limits.output_recoveries);
    assert!(state.stop_hook_blocks <= limits.stop_hook_blocks);
    assert!(state.structured_output_tries <= limits.structured_output_tries);
    assert!(state.budget_nudges <= limits.budget_nudges);
}

fn play<C: Choose>(choose: &mut C) -> Walk {
    let limits = limits(choose);
    let first = first(choose);
    walk(&limits, first, choose)
}

/// Which ends were reached: one bit each.
fn bit(end: &Step) -> u32 {
    match end {
        Step::Continue(_) => unreachable!("a walk goes on after it"),
        Step::Park(_) => 1 << 12,
        Step::Fail(_) => 1 << 13,
        Step::Stop(terminal) => 1 << terminal.name() as u32,
    }
}

#[test]
fn a_million_scripts_end_within_their_ceilings() {
    let (mut acts, mut ends) = (0_u64, 0);
    for seed in 0..SCRIPTS {
        let walk = catch_unwind(|| play(&mut Seeded(seed))).unwrap_or_else(|_| panic!("script {seed}: see above"));
        acts += u64::from(walk.acts);
        ends |= bit(&walk.end);
    }
    assert_eq!(ends, (1 << 14) - 1, "twelve terminals, parked and failed all occur");
    assert!(acts > 5 * SCRIPTS, "scripts are too short to mean anything: {acts} acts");
}

proptest! {
    /// The same by choices that shrink: a failure is shown as the shortest list that leads to it.
    #[test]
    fn every_script_ends_within_its_ceilings(choices in vec(any::<u32>(), 0..600)) {
        play(&mut Written(choices.into_iter()));
    }
}
