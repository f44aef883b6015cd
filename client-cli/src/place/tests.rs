//! Rules and environment of a new session.

use super::*;

#[test]
fn rules_are_split_outside_of_parentheses() {
    let given = ["Read,Bash(git log:*)".to_owned(), "Bash(echo a, b) Edit(src/**),  Write".to_owned(), String::new()];
    assert_eq!(rules(&given), ["Read", "Bash(git log:*)", "Bash(echo a, b)", "Edit(src/**)", "Write"]);
}

#[test]
fn an_open_parenthesis_keeps_the_rest_for_the_daemon_to_refuse() {
    assert_eq!(rules(&["Bash(a, b".to_owned()]), ["Bash(a, b"]);
}

#[test]
fn keys_stay_here_and_what_is_too_large_is_named() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let secret = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "MISTRAL_API_KEY", "X_AUTH_TOKEN", "AGENT_SOCKET"];
    let given = secret.iter().map(|name| pair(name, "v")).chain([pair("PATH", "/bin"), pair("BIG", &"x".repeat(MAX_VALUE + 1))]);
    assert_eq!(bounded(given), (vec![pair("PATH", "/bin")], vec!["BIG".to_owned()]));
    let many = (0..=MAX_VARIABLES).map(|n| pair(&format!("V{n}"), ""));
    let (kept, left_out) = bounded(many);
    assert_eq!((kept.len(), left_out), (MAX_VARIABLES, vec![format!("V{MAX_VARIABLES}")]));
}

#[test]
fn budgets_are_above_zero() {
    assert_eq!(budget(Some(0.5)).ok().flatten(), Some(Money(500_000_000)));
    assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|usd| budget(Some(*usd)).is_err()));
}
