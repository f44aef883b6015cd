//! The retry table.

use proptest::prelude::*;

use super::*;

#[test]
fn waits_double_up_to_the_cap() {
    let waits: Vec<u64> = (1..=10)
        .map(|attempt| match decide(ErrorClass::Overloaded, attempt, None, 0) {
            Verdict::Retry { delay_ms } => delay_ms,
            Verdict::GiveUp => panic!("gave up at {attempt}"),
        })
        .collect();
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000]);
    assert_eq!(decide(ErrorClass::Overloaded, 11, None, 0), Verdict::GiveUp);
}

#[test]
fn the_servers_wish_is_obeyed() {
    assert_eq!(decide(ErrorClass::RateLimit, 1, Some(7000), 1000), Verdict::Retry { delay_ms: 7000 });
    assert_eq!(decide(ErrorClass::RateLimit, 1, Some(MAX_RETRY_AFTER_MS + 1), 0), Verdict::GiveUp);
    assert_eq!(decide(ErrorClass::RateLimit, 11, Some(1), 0), Verdict::GiveUp);
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
        assert_eq!(decide(class, 1, Some(1), 0), Verdict::GiveUp, "{class:?}");
    }
    assert_eq!(decide(ErrorClass::Protocol, 3, None, 0), Verdict::GiveUp);
}

proptest! {
    #[test]
    fn a_wait_is_at_least_three_quarters_and_at_most_the_cap(attempt in 0..u32::MAX, jitter: u64) {
        if let Verdict::Retry { delay_ms } = decide(ErrorClass::StreamCut, attempt, None, jitter) {
            prop_assert!(attempt <= MAX_RETRIES);
            prop_assert!((BASE_MS * 3 / 4..=CAP_MS).contains(&delay_ms));
        }
    }
}
