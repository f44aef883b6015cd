//! Errors as status codes with a stable reason. It never turns an error into a success.

use std::collections::HashMap;

use agentd_proto::{WireError, reason};
use agentd_types::Timestamp;
use jiff::tz::TimeZone;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::sessions::SessionError;

/// What a client may read beside the message.
type Metadata = Vec<(&'static str, String)>;

/// A status with its reason.
#[must_use]
pub fn refusal(code: Code, reason: &'static str, message: impl Into<String>, metadata: Metadata) -> Status {
    let metadata: HashMap<String, String> = metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Status::with_error_details(code, message, ErrorDetails::with_error_info(reason, reason::DOMAIN, metadata))
}

/// A request's field that cannot be read.
#[must_use]
pub fn bad_field(error: WireError) -> Status {
    invalid(error.field(), error.to_string())
}

/// INVALID_ARGUMENT that names the field.
#[must_use]
pub fn invalid(field: &str, why: impl Into<String>) -> Status {
    let why = why.into();
    let mut details = ErrorDetails::with_bad_request_violation(field, why.clone());
    details.set_error_info(reason::INVALID_ARGUMENT, reason::DOMAIN, HashMap::from([("field".to_owned(), field.to_owned())]));
    Status::with_error_details(Code::InvalidArgument, why, details)
}

/// UNAVAILABLE: the daemon goes down.
#[must_use]
pub fn draining() -> Status {
    SessionError::Draining.into()
}

impl From<SessionError> for Status {
    fn from(error: SessionError) -> Status {
        let mut message = error.to_string();
        if let SessionError::AlreadyAnswered { at, .. } | SessionError::AlreadyReplied { at, .. } = &error {
            message = with_time(message, *at, TimeZone::system());
        }
        if let SessionError::Invalid { field, .. } = error {
            return invalid(field, message);
        }
        let (code, reason, metadata) = parts(error);
        refusal(code, reason, message, metadata)
    }
}

/// The code, the stable reason, and what is worth reading by a program.
fn parts(error: SessionError) -> (Code, &'static str, Metadata) {
    use SessionError as E;
    match error {
        E::NotFound { what, near } => (Code::NotFound, reason::SESSION_NOT_FOUND, vec![("session", what), ("near", near.join(", "))]),
        E::Ambiguous { what, matches } => {
            (Code::FailedPrecondition, reason::SESSION_AMBIGUOUS, vec![("session", what), ("matches", matches.join(", "))])
        }
        E::NameTaken { name, id } => (Code::AlreadyExists, reason::NAME_TAKEN, vec![("name", name), ("session_id", id.to_string())]),
        E::KeyReused { key } => (Code::AlreadyExists, reason::IDEMPOTENCY_KEY_REUSED, vec![("idempotency_key", key)]),
        E::NoSuchRequest { id } => (Code::NotFound, reason::REQUEST_NOT_FOUND, vec![("request_id", id)]),
        E::AlreadyAnswered { resolved, at } => {
            let decision = resolved.decision.word().to_owned();
            let metadata = vec![("decision", decision), ("by", resolved.by.to_string()), ("at_ms", at.0.to_string())];
            (Code::AlreadyExists, reason::ALREADY_ANSWERED, metadata)
        }
        E::AlreadyReplied { answered, at } => {
            let metadata = vec![("decision", answered.reply.words()), ("by", answered.by.to_string()), ("at_ms", at.0.to_string())];
            (Code::AlreadyExists, reason::ALREADY_ANSWERED, metadata)
        }
        E::RuleNotWritten { rule, .. } => (Code::Internal, reason::RULE_NOT_WRITTEN, vec![("rule", rule)]),
        E::QueueFull { bound } => (Code::ResourceExhausted, reason::QUEUE_FULL, vec![("bound", bound)]),
        E::TooLarge { size, bound } => {
            (Code::ResourceExhausted, reason::CONTENT_TOO_LARGE, vec![("size", size.to_string()), ("bound", bound.to_string())])
        }
        E::TooManySubscribers { bound } => (Code::ResourceExhausted, reason::TOO_MANY_SUBSCRIBERS, vec![("bound", bound.to_string())]),
        E::Invalid { field, .. } => (Code::InvalidArgument, reason::INVALID_ARGUMENT, vec![("field", field.to_owned())]),
        E::Precondition { state, .. } => (Code::FailedPrecondition, reason::SESSION_STATE, vec![("state", state.name().to_owned())]),
        E::NoSuchTask { id } => (Code::NotFound, reason::TASK_NOT_FOUND, vec![("task_id", id)]),
        E::NotRunning { call } => (Code::FailedPrecondition, reason::NOT_RUNNING, vec![("tool_use_id", call)]),
        E::Draining => (Code::Unavailable, reason::DRAINING, vec![]),
        E::Store(_) => (Code::Internal, reason::STORE_FAILED, vec![]),
        E::Gone => (Code::Internal, reason::SESSION_GONE, vec![]),
    }
}

/// `message, HH:MM` in `zone`; a time that no calendar has is left out.
fn with_time(message: String, at: Timestamp, zone: TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(at) => {
            let at = at.to_zoned_datetime(zone);
            format!("{message}, {:02}:{:02}", at.hour(), at.minute())
        }
        Err(_) => message,
    }
}

#[cfg(test)]
mod tests;
