//! The retry table.

use proptest::prelude::*;

use super::*;

const LIMITS: CallLimits = CallLimits::DEFAULT;

fn verdict(class: ErrorClass, attempt: u32, retry_after_ms: Option<u64>, jitter: u64) -> Verdict {
    decide(&LIMITS, Failure { class, attempt, retry_after_ms }, jitter)
}

#[test]
fn waits_double_up_to_the_cap() {
    let waits: Vec<u64> = (1..=10)
        .map(|attempt| match verdict(ErrorClass::Overloaded, attempt, None, 0) {
            Verdict::Retry { delay_ms } => delay_ms,
            Verdict::GiveUp => panic!("gave up at {attempt}"),
        })
        .collect();
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000]);
    assert_eq!(verdict(ErrorClass::Overloaded, 11, None, 0), Verdict::GiveUp);
}

#[test]
fn the_base_is_a_setting_and_the_rest_follows_it() {
    let limits = CallLimits::with(Some(2), None);
    let wait = |attempt| decide(&limits, Failure { class: ErrorClass::Server, attempt, retry_after_ms: None }, 0);
    assert_eq!([1, 2, 3, 10].map(wait), [2, 4, 8, 128].map(|delay_ms| Verdict::Retry { delay_ms }));
    assert_eq!(CallLimits::with(Some(0), Some(0)).retry_base_ms, 1);
    assert_eq!(CallLimits::with(None, None), CallLimits::DEFAULT);
}

#[test]
fn the_servers_wish_is_obeyed() {
    assert_eq!(verdict(ErrorClass::RateLimit, 1, Some(7000), 1000), Verdict::Retry { delay_ms: 7000 });
    assert_eq!(verdict(ErrorClass::RateLimit, 1, Some(LIMITS.max_retry_after_ms + 1), 0), Verdict::GiveUp);
    assert_eq!(verdict(ErrorClass::RateLimit, 11, Some(1), 0), Verdict::GiveUp);
}

#[test]
fn what_waiting_does_not_help_is_not_repeated() {
    for class in [
        ErrorClass::InvalidRequest,
        ErrorClass::PromptTooLong,
        ErrorClass::MediaTooLarge,
        ErrorClass::Authentication,
        ErrorClass::Billing,
        ErrorClass::Permission,
        ErrorClass::NotFound,
        ErrorClass::RequestTooLarge,
        ErrorClass::SpendLimit,
        ErrorClass::ExpectFailed,
    ] {
        assert_eq!(verdict(class, 1, Some(1), 0), Verdict::GiveUp, "{class:?}");
    }
    assert_eq!(verdict(ErrorClass::Protocol, 3, None, 0), Verdict::GiveUp);
}

proptest! {
    #[test]
    fn a_wait_is_at_least_three_quarters_and_at_most_the_cap(attempt in 0..u32::MAX, jitter: u64) {
        if let Verdict::Retry { delay_ms } = verdict(ErrorClass::StreamCut, attempt, None, jitter) {
            prop_assert!(attempt <= LIMITS.retries);
            prop_assert!((375..=32_000).contains(&delay_ms));
        }
    }
}
