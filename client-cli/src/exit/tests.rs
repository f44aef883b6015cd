//! Ends and failures have the codes that scripts rely on.

use agentd_client::{ClientError, Kind};

use super::*;

#[test]
fn every_end_has_its_code() {
    let codes: Vec<(&str, u8)> = TerminalName::ALL.iter().map(|it| (it.as_str(), Exit::of(*it).code())).collect();
    let expected = [
        ("completed", 0),
        ("max_turns", 3),
        ("max_budget", 3),
        ("prompt_too_long", 1),
        ("image_error", 1),
        ("model_error", 1),
        ("aborted_streaming", 130),
        ("aborted_tools", 130),
        ("hook_stopped", 1),
        ("stop_hook_prevented", 1),
        ("blocking_limit", 1),
        ("structured_output_retries", 3),
    ];
    assert_eq!(codes, expected);
    assert_eq!((Exit::Parked.code(), Exit::Usage.code()), (4, 2));
}

#[test]
fn every_failure_has_its_code() {
    let code = |kind| Failure::from(ClientError::new(kind, "why")).exit().code();
    assert_eq!([Kind::Unreachable, Kind::CannotStart].map(code), [5, 5]);
    assert_eq!(code(Kind::NoSuchSession), 6);
    assert_eq!([Kind::Invalid, Kind::Ambiguous].map(code), [2, 2]);
    let refused = [Kind::NameTaken, Kind::AlreadyAnswered, Kind::NoSuchRequest, Kind::Precondition, Kind::Exhausted, Kind::Denied];
    assert_eq!(refused.map(code), [1; 6]);
    assert_eq!([Kind::Draining, Kind::Store, Kind::Protocol, Kind::Internal].map(code), [1; 4]);
}

#[test]
fn a_reader_that_left_is_no_failure() {
    let closed = Failure::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    assert_eq!((closed.exit(), closed.message()), (Exit::Done, None));
    assert_eq!(Failure::from(std::io::Error::other("disk full")).exit(), Exit::Failed);
}
