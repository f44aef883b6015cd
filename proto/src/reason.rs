//! The stable codes of errors (`ErrorInfo.reason`); it never holds a message for people.

/// `ErrorInfo.domain` of every error of the daemon.
pub const DOMAIN: &str = "agentd";

pub const INVALID_ARGUMENT: &str = "INVALID_ARGUMENT";
pub const SESSION_NOT_FOUND: &str = "SESSION_NOT_FOUND";
pub const SESSION_AMBIGUOUS: &str = "SESSION_AMBIGUOUS";
pub const SESSION_STATE: &str = "SESSION_STATE";
pub const SESSION_GONE: &str = "SESSION_GONE";
pub const NAME_TAKEN: &str = "NAME_TAKEN";
pub const IDEMPOTENCY_KEY_REUSED: &str = "IDEMPOTENCY_KEY_REUSED";
pub const REQUEST_NOT_FOUND: &str = "REQUEST_NOT_FOUND";
pub const ALREADY_ANSWERED: &str = "ALREADY_ANSWERED";
pub const RULE_NOT_WRITTEN: &str = "RULE_NOT_WRITTEN";
pub const QUEUE_FULL: &str = "QUEUE_FULL";
pub const CONTENT_TOO_LARGE: &str = "CONTENT_TOO_LARGE";
pub const TOO_MANY_SUBSCRIBERS: &str = "TOO_MANY_SUBSCRIBERS";
pub const PAGE_EXPIRED: &str = "PAGE_EXPIRED";
pub const TASK_NOT_FOUND: &str = "TASK_NOT_FOUND";
pub const NOT_RUNNING: &str = "NOT_RUNNING";
pub const DRAINING: &str = "DRAINING";
pub const STORE_FAILED: &str = "STORE_FAILED";
