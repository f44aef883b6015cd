//! Each name of a Continue or a Terminal is given in one function of the loop, and each has a row test. It reads sources, not behaviour.

use crate::query::tests::make::{able, bare};

const DECIDES: [&str; 4] =
    [include_str!("../next.rs"), include_str!("../reply.rs"), include_str!("../finish.rs"), include_str!("../tools.rs")];

const ROWS: [&str; 4] = [
    include_str!("../next/tests.rs"),
    include_str!("../reply/tests.rs"),
    include_str!("../finish/tests.rs"),
    include_str!("../tools/tests.rs"),
];

/// Each name with the number of functions that may give it.
const NAMES: [(&str, usize); 19] = [
    ("Continue::NextTurn", 1),
    ("Continue::CollapseDrainRetry", 1),
    ("Continue::ReactiveCompactRetry", 1),
    ("Continue::MaxOutputTokensEscalate", 1),
    ("Continue::MaxOutputTokensRecovery", 1),
    ("Continue::StopHookBlocking", 1),
    ("Continue::TokenBudgetContinuation", 1),
    ("Terminal::Completed", 2),
    ("Terminal::MaxTurns", 1),
    ("Terminal::MaxBudget", 1),
    ("Terminal::PromptTooLong", 3),
    ("Terminal::ImageError", 2),
    ("Terminal::ModelError", 3),
    ("Terminal::AbortedStreaming", 1),
    ("Terminal::AbortedTools", 1),
    ("Terminal::HookStopped", 1),
    ("Terminal::StopHookPrevented", 1),
    ("Terminal::BlockingLimit", 1),
    ("Terminal::StructuredOutputRetries", 1),
];

#[test]
fn each_name_is_given_in_one_place() {
    for (name, places) in NAMES {
        let functions = DECIDES.iter().flat_map(|source| source.split("fn ").skip(1));
        let found: Vec<&str> = functions.filter(|body| body.contains(name)).map(|body| body.split(['(', '<']).next().unwrap()).collect();
        assert_eq!(found.len(), places, "{name} is given in {found:?}");
    }
    let fails = DECIDES.iter().flat_map(|source| source.split("fn ").skip(1)).filter(|body| body.contains("Step::Fail")).count();
    assert_eq!(fails, 1, "only a cut fails");
}

#[test]
fn each_name_has_a_row_test() {
    for (name, _) in NAMES {
        assert!(ROWS.iter().any(|source| source.contains(name)), "{name} has no row test");
    }
}

#[test]
fn limits_are_those_of_the_design() {
    let limits = bare();
    assert_eq!(limits, crate::query::Limits { abilities: limits.abilities, ..able() });
    let counts = [limits.output_recoveries, limits.stop_hook_blocks, limits.structured_output_tries, limits.budget_nudges];
    assert_eq!(counts, [3, 8, 5, 50]);
    assert_eq!((limits.nudges_before_yield, limits.auto_compact_failures), (3, 3));
    assert_eq!((limits.low_yield, limits.token_budget_percent), (500, 90));
    assert_eq!((limits.max_turns, limits.max_budget, limits.token_budget), (None, None, None));
}
