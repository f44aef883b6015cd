//! Each error has its code and its reason, and tells what to do.

use agentd_core::query::StoreFailure;
use agentd_proto::{WireError, reason};
use agentd_types::permission::{AllowScope, Decision, PermissionResolved};
use agentd_types::session::SessionState;
use agentd_types::{Origin, RequestId, SessionId, Timestamp, ToolUseId};
use jiff::tz::TimeZone;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{bad_field, with_time};
use crate::sessions::SessionError;

fn answered() -> SessionError {
    let resolved = PermissionResolved {
        id: RequestId::from_u128(1),
        tool_use: ToolUseId::new("toolu_1"),
        decision: Decision::Allow { scope: AllowScope::Once, updated_input: None },
        by: Origin::Person { client: "tui on pts/3".into() },
        rule: None,
    };
    SessionError::AlreadyAnswered { resolved: Box::new(resolved), at: Timestamp(43_440_000) }
}

fn reason_of(status: &Status) -> String {
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(info.domain, "agentd");
    info.reason.clone()
}

#[test]
fn every_error_has_its_code_and_reason() {
    use SessionError as E;
    let id = SessionId::from_u128(1);
    let table = [
        (E::NotFound { what: "fo".into(), near: vec!["foo".into()] }, Code::NotFound, reason::SESSION_NOT_FOUND),
        (E::Ambiguous { what: "0".into(), matches: vec![] }, Code::FailedPrecondition, reason::SESSION_AMBIGUOUS),
        (E::NameTaken { name: "foo".into(), id }, Code::AlreadyExists, reason::NAME_TAKEN),
        (E::KeyReused { key: "k".into() }, Code::AlreadyExists, reason::IDEMPOTENCY_KEY_REUSED),
        (E::NoSuchRequest { id: "r".into() }, Code::NotFound, reason::REQUEST_NOT_FOUND),
        (answered(), Code::AlreadyExists, reason::ALREADY_ANSWERED),
        (E::QueueFull { bound: "1,000 commands".into() }, Code::ResourceExhausted, reason::QUEUE_FULL),
        (E::TooLarge { size: 2, bound: 1 }, Code::ResourceExhausted, reason::CONTENT_TOO_LARGE),
        (E::TooManySubscribers { bound: 1024 }, Code::ResourceExhausted, reason::TOO_MANY_SUBSCRIBERS),
        (E::Invalid { field: "meta.name", why: "too long".into() }, Code::InvalidArgument, reason::INVALID_ARGUMENT),
        (E::Precondition { state: SessionState::Failed, why: "x".into() }, Code::FailedPrecondition, reason::SESSION_STATE),
        (E::Draining, Code::Unavailable, reason::DRAINING),
        (E::Store(StoreFailure { reason: "the disk is full".into() }), Code::Internal, reason::STORE_FAILED),
        (E::Gone, Code::Internal, reason::SESSION_GONE),
    ];
    for (error, code, reason) in table {
        let status = Status::from(error.clone());
        assert_eq!((status.code(), reason_of(&status).as_str()), (code, reason), "{error:?}");
    }
}

#[test]
fn a_name_that_is_not_there_names_near_ones() {
    let status = Status::from(SessionError::NotFound { what: "fo".into(), near: vec!["foo".into(), "fob".into()] });
    assert_eq!(status.message(), "no session `fo`; did you mean foo, fob?");
    assert_eq!(status.get_error_details().error_info().unwrap().metadata["near"], "foo, fob");
}

#[test]
fn a_second_answer_is_told_who_what_and_when() {
    let message = with_time(answered().to_string(), Timestamp(43_440_000), TimeZone::UTC);
    assert_eq!(message, "already answered: allow, by tui on pts/3, 12:04");

    let status = Status::from(answered());
    assert!(status.message().starts_with("already answered: allow, by tui on pts/3, "), "{}", status.message());
    let metadata = status.get_error_details().error_info().unwrap().metadata.clone();
    assert_eq!((metadata["by"].as_str(), metadata["at_ms"].as_str()), ("tui on pts/3", "43440000"));
}

#[test]
fn a_time_that_no_calendar_has_is_left_out() {
    assert_eq!(with_time("answered".into(), Timestamp(i64::MAX), TimeZone::UTC), "answered");
}

#[test]
fn a_bad_field_is_named() {
    let status = bad_field(WireError::Missing { field: "meta" });
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    assert_eq!(details.bad_request().unwrap().field_violations[0].field, "meta");
    assert_eq!(reason_of(&status), reason::INVALID_ARGUMENT);
}
