//! What a status becomes.

use std::collections::HashMap;

use agentd_proto::reason;
use tonic_types::{ErrorDetails, StatusExt};

use super::*;

pub(crate) fn status(code: tonic::Code, reason: &str) -> tonic::Status {
    tonic::Status::with_error_details(code, "said", ErrorDetails::with_error_info(reason, reason::DOMAIN, HashMap::new()))
}

#[test]
fn the_stable_code_wins_over_the_status() {
    let answered = ClientError::from(status(tonic::Code::AlreadyExists, reason::ALREADY_ANSWERED));
    assert_eq!(answered, ClientError::new(Kind::AlreadyAnswered, "said"));
    assert_eq!(ClientError::from(status(tonic::Code::Internal, reason::STORE_FAILED)).kind, Kind::Store);
    assert_eq!(ClientError::from(tonic::Status::resource_exhausted("full")).kind, Kind::Exhausted);
}

#[test]
fn a_code_we_do_not_know_yet_goes_by_its_status() {
    assert_eq!(ClientError::from(status(tonic::Code::InvalidArgument, "NEWER_THAN_US")).kind, Kind::Invalid);
}

#[test]
fn what_shares_a_status_is_told_apart() {
    let reused = ClientError::from(status(tonic::Code::AlreadyExists, reason::IDEMPOTENCY_KEY_REUSED));
    assert_eq!(reused.kind, Kind::Precondition, "no name is taken");
}

#[test]
fn what_broke_on_the_way_is_a_lost_link() {
    let broken = tonic::Status::from_error(Box::new(std::io::Error::from(std::io::ErrorKind::BrokenPipe)));
    assert!(ClientError::from(broken).is_lost_link());
    assert!(!ClientError::from(tonic::Status::internal("the daemon's own")).is_lost_link());
}

#[test]
fn it_says_what_to_do() {
    let error = ClientError::from(status(tonic::Code::NotFound, reason::SESSION_NOT_FOUND));
    assert_eq!((error.kind, error.hints), (Kind::NoSuchSession, vec!["`agent ls --all` lists the sessions".to_owned()]));
}
