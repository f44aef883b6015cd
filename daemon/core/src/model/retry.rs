//! Whether and when a failed model request is repeated. It never waits and never draws a random number.

use super::stream::ErrorClass;
use crate::query::CallLimits;

/// `jitter` is uniform in `0..=JITTER`: thousandths of the quarter by which our own waits are shortened.
pub const JITTER: u64 = 1000;

/// What to do about a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    Retry { delay_ms: u64 },
    GiveUp,
}

/// A request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    pub class: ErrorClass,
    /// In a row, of this request; from 1.
    pub attempt: u32,
    /// What the server asked us to wait.
    pub retry_after_ms: Option<u64>,
}

/// Decides about a failed request. `jitter` is drawn by the caller from `0..=JITTER`. A server's wish to wait is obeyed to
/// the millisecond, never shortened.
#[must_use]
pub fn decide(limits: &CallLimits, failure: Failure, jitter: u64) -> Verdict {
    if failure.attempt > retries_of(limits, failure.class) {
        return Verdict::GiveUp;
    }
    match failure.retry_after_ms {
        Some(wish) if wish > limits.max_retry_after_ms => Verdict::GiveUp,
        Some(wish) => Verdict::Retry { delay_ms: wish },
        None => Verdict::Retry { delay_ms: backoff(limits, failure.attempt, jitter) },
    }
}

/// How often a request that failed this way is repeated; 0 = not at all.
#[must_use]
pub const fn retries_of(limits: &CallLimits, class: ErrorClass) -> u32 {
    match class {
        ErrorClass::RateLimit
        | ErrorClass::Server
        | ErrorClass::Overloaded
        | ErrorClass::Timeout
        | ErrorClass::Connect
        | ErrorClass::StreamCut
        | ErrorClass::Silence => limits.retries,
        ErrorClass::Protocol => limits.protocol_retries,
        ErrorClass::InvalidRequest
        | ErrorClass::PromptTooLong
        | ErrorClass::MediaTooLarge
        | ErrorClass::Authentication
        | ErrorClass::Billing
        | ErrorClass::Permission
        | ErrorClass::NotFound
        | ErrorClass::RequestTooLarge
        | ErrorClass::SpendLimit
        | ErrorClass::ExpectFailed => 0,
    }
}

/// Exponential, capped, shortened by up to a quarter so that many clients do not come back together.
fn backoff(limits: &CallLimits, attempt: u32, jitter: u64) -> u64 {
    let doublings = attempt.saturating_sub(1).min(16);
    let full = limits.retry_base_ms.saturating_mul((1 << doublings).min(limits.retry_cap_times));
    full - full / 4 * jitter.min(JITTER) / JITTER
}

#[cfg(test)]
mod tests;
