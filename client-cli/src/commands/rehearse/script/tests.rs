//! Expectations that were never reached.

use super::*;

#[test]
fn what_was_not_reached_is_missed() {
    let text =
        "[[step]]\ntext = 'a'\n[[step]]\nexpect = { is_error = false }\n[[step]]\n[[step.tool]]\nname = 'Read'\n[[step]]\nexpect = {}\n";
    let expectations = Expectations::read(text).expect("toml");
    assert_eq!(expectations.missed(4), Vec::<usize>::new());
    assert_eq!(expectations.missed(2), [4]);
    assert_eq!(expectations.missed(0), [2, 4]);
}

#[test]
fn a_script_without_steps_expects_nothing_and_no_toml_is_told() {
    assert_eq!(Expectations::read("name = 'x'").expect("toml").missed(0), Vec::<usize>::new());
    assert!(Expectations::read("[[step").is_err());
}
