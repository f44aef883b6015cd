//! Whether and when a failed model request is repeated. It never waits and never draws a random number.

use super::stream::ErrorClass;

/// Repeats of one request at most.
pub const MAX_RETRIES: u32 = 10;
/// The first wait, in milliseconds; it doubles with each attempt.
pub const BASE_MS: u64 = 500;
/// The longest wait that we choose ourselves, in milliseconds.
pub const CAP_MS: u64 = 32_000;
/// The longest wait a server may ask for, in milliseconds: beyond it we give up rather than come too early or wait for hours.
pub const MAX_RETRY_AFTER_MS: u64 = 15 * 60 * 1000;
/// Repeats of an answer that was no answer (a proxy's page, say): it seldom gets better.
const MAX_PROTOCOL_RETRIES: u32 = 2;
/// `jitter` is uniform in `0..=JITTER`: thousandths of the quarter by which our own waits are shortened.
pub const JITTER: u64 = 1000;

/// What to do about a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    Retry { delay_ms: u64 },
    GiveUp,
}

/// Decides about the `attempt`-th failure in a row (from 1) of one request. `jitter` is drawn by the caller from
/// `0..=JITTER`. A server's wish to wait is obeyed to the millisecond, never shortened.
#[must_use]
pub fn decide(class: ErrorClass, attempt: u32, retry_after_ms: Option<u64>, jitter: u64) -> Verdict {
    if attempt > retries_of(class) {
        return Verdict::GiveUp;
    }
    match retry_after_ms {
        Some(wish) if wish > MAX_RETRY_AFTER_MS => Verdict::GiveUp,
        Some(wish) => Verdict::Retry { delay_ms: wish },
        None => Verdict::Retry { delay_ms: backoff(attempt, jitter) },
    }
}

/// How often a request that failed this way is repeated; 0 = not at all.
#[must_use]
pub const fn retries_of(class: ErrorClass) -> u32 {
    match class {
        ErrorClass::RateLimit
        | ErrorClass::Server
        | ErrorClass::Overloaded
        | ErrorClass::Timeout
        | ErrorClass::Connect
        | ErrorClass::StreamCut
        | ErrorClass::Silence => MAX_RETRIES,
        ErrorClass::Protocol => MAX_PROTOCOL_RETRIES,
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
fn backoff(attempt: u32, jitter: u64) -> u64 {
    let doublings = attempt.saturating_sub(1).min(16);
    let full = (BASE_MS << doublings).min(CAP_MS);
    full - full / 4 * jitter.min(JITTER) / JITTER
}

#[cfg(test)]
mod tests;
