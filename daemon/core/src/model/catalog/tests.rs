//! The catalog's rows and fallbacks.

use super::*;

#[test]
fn every_listed_model_has_a_price_and_sane_limits() {
    for (name, facts) in TABLE {
        assert!(facts.max_output < facts.context_window, "{name}");
        assert!(facts.default_cap() <= facts.raised_cap(), "{name}");
        assert_eq!(crate::model::price::basis(name), agentd_types::outcome::CostBasis::Listed, "{name} has no price");
    }
}

#[test]
fn dates_are_no_part_of_a_name() {
    assert_eq!(look_up("claude-haiku-4-5-20251001"), look_up("claude-haiku-4-5"));
    assert_eq!(look_up("claude-haiku-4-5-20251001").1, Known::Listed);
    assert_eq!(canonical("claude-opus-5"), "claude-opus-5");
}

#[test]
fn the_unknown_are_flagged_and_never_asked_to_think() {
    let (newer, known) = look_up("claude-opus-7");
    assert_eq!((known, newer.thinking, newer.prefix), (Known::Flagged, Thinking::None, Prefix::Bound));
    let (other, known) = look_up("gemma3-270m");
    assert_eq!((known, other.thinking, other.prefix), (Known::Flagged, Thinking::None, Prefix::Free));
}

#[test]
fn a_rehearsal_can_escalate() {
    let (facts, known) = look_up("rehearsal:demo.toml");
    assert_eq!((facts.default_cap(), facts.raised_cap(), known), (8_000, 64_000, Known::Listed));
}

#[test]
fn thinking_is_read_by_its_own_model() {
    assert!(reads_thinking("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"));
    assert!(reads_thinking("claude-fable-5-1", "claude-opus-5-5"));
    assert!(!reads_thinking("claude-opus-5-5", "claude-fable-5-1"));
}
