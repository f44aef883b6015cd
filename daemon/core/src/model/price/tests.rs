//! Prices against the published list.

use super::*;

fn usage(input: u64, output: u64, cache_read: u64, cache_write_5m: u64, cache_write_1h: u64) -> Usage {
    Usage { input, output, cache_read, cache_write_5m, cache_write_1h }
}

#[test]
fn a_million_of_each_costs_what_the_list_says() {
    let million = usage(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000);
    assert_eq!(cost("claude-opus-5-5", &million), (Money::from_usd(4.0 + 20.0 + 0.2 + 5.0 + 8.0), Known::Listed));
    assert_eq!(cost("claude-sonnet-4-5-20250929", &million), (Money::from_usd(3.0 + 15.0 + 0.3 + 3.75 + 6.0), Known::Listed));
}

#[test]
fn a_long_prompt_has_its_own_rates_for_the_whole_request() {
    let short = usage(100_000, 1_000, 0, 0, 0);
    let long = usage(1, 1_000, 100_000, 0, 0);
    assert_eq!(cost("claude-haiku-5-5", &short).0, Money(100_000 * 100 + 1_000 * 500));
    assert_eq!(cost("claude-haiku-5-5", &long).0, Money(500 + 100_000 * 50 + 1_000 * 2_500));
}

#[test]
fn the_unknown_are_flagged() {
    let some = usage(10, 10, 0, 0, 0);
    assert_eq!(cost("claude-sonnet-9", &some), (Money(10 * 2_000 + 10 * 10_000), Known::Flagged));
    assert_eq!(cost("qwen3", &some), (Money::ZERO, Known::Flagged));
    assert_eq!(cost("rehearsal:tour", &some), (Money::ZERO, Known::Listed));
}
