//! Errors: class, words, waiting; never a key.

use std::time::Duration;

use reqwest::header::HeaderValue;
use secrecy::SecretString;

use super::super::{Credential, KeyKind};
use super::*;

fn config(key: Option<&str>) -> Config {
    let credential = key.map(|key| Credential {
        kind: KeyKind::ApiKey,
        secret: SecretString::from(key),
        source: "ANTHROPIC_API_KEY",
        place: "the variable ANTHROPIC_API_KEY",
    });
    Config { base: BaseUrl::parse("https://api.example.com").expect("a URL"), credential, silence: Duration::from_secs(1) }
}

fn said(kind: &str, message: &str, code: &str) -> Said {
    Said { kind: kind.into(), message: message.into(), code: code.into(), request_id: None }
}

#[test]
fn bodies_of_every_shape_are_read() {
    let own = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down","details":{"error_code":"ramp"}},"request_id":"req_1"}"#;
    assert_eq!(parse(own), Said { request_id: Some("req_1".into()), ..said("rate_limit_error", "slow down", "ramp") });
    assert_eq!(parse(r#"{"error":{"code":503,"message":"loading"}}"#), said("", "loading", "503"));
    assert_eq!(parse(r#"{"error":"no such model"}"#), said("", "no such model", ""));
    assert_eq!(parse("<html><h1>502 Bad  Gateway</h1></html>"), said("", "502 Bad Gateway", ""));
    assert_eq!(parse(""), Said::default());
}

#[test]
fn classes() {
    let rows = [
        (400, said("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ""), ErrorClass::PromptTooLong),
        (400, said("exceed_context_size_error", "request (9) exceeds", "400"), ErrorClass::PromptTooLong),
        (400, said("invalid_request_error", "messages.3: image exceeds 10 MB maximum", ""), ErrorClass::MediaTooLarge),
        (400, said("invalid_request_error", "You have reached your specified API usage limits.", ""), ErrorClass::SpendLimit),
        (400, said("invalid_request_error", "tools: name", ""), ErrorClass::InvalidRequest),
        (401, said("authentication_error", "invalid x-api-key", ""), ErrorClass::Authentication),
        (402, said("", "", ""), ErrorClass::Billing),
        (404, said("not_found_error", "model", ""), ErrorClass::NotFound),
        (413, said("", "", ""), ErrorClass::RequestTooLarge),
        (429, said("rate_limit_error", "x", "enforced_spend_limit_reached"), ErrorClass::SpendLimit),
        (429, said("rate_limit_error", "x", ""), ErrorClass::RateLimit),
        (500, said("api_error", "x", ""), ErrorClass::Server),
        (504, said("api_error", "x", ""), ErrorClass::Timeout),
        (529, said("overloaded_error", "Overloaded", ""), ErrorClass::Overloaded),
        (502, said("", "Bad Gateway", ""), ErrorClass::Server),
    ];
    for (status, said, class) in rows {
        assert_eq!(classify(Some(status), &said, None), class, "{status} {said:?}");
    }
    let limited = said("rate_limit_error", "x", "enforced_spend_limit_reached");
    assert_eq!(classify(Some(429), &limited, Some(1000)), ErrorClass::RateLimit, "with a time to wait");
    assert_eq!(
        in_stream(r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, &config(None)).class,
        ErrorClass::Overloaded
    );
}

#[test]
fn a_refused_key_is_named_by_its_place_and_never_shown() {
    let config = config(Some("sk-secret-1"));
    let said = said("authentication_error", "invalid x-api-key: sk-secret-1", "");
    let text = describe(Some(401), ErrorClass::Authentication, &said, &config);
    assert_eq!(
        text,
        "the model at https://api.example.com: HTTP 401, authentication_error: invalid x-api-key: [key]; \
         the key came from the variable ANTHROPIC_API_KEY: check it there"
    );
    assert!(!format!("{config:?}").contains("sk-secret"));
}

#[test]
fn waiting_in_seconds_milliseconds_and_until_a_date() {
    let headers = |pairs: &[(&'static str, &'static str)]| {
        pairs.iter().map(|(name, value)| (reqwest::header::HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    };
    assert_eq!(retry_after(&headers(&[("retry-after", "7")])), Some(7000));
    assert_eq!(retry_after(&headers(&[("retry-after", "0.5")])), Some(500));
    assert_eq!(retry_after(&headers(&[("retry-after-ms", "30"), ("retry-after", "9")])), Some(30));
    let dates = [("date", "Tue, 01 Dec 2026 10:00:00 GMT"), ("retry-after", "Tue, 01 Dec 2026 10:00:30 GMT")];
    assert_eq!(retry_after(&headers(&dates)), Some(30_000));
    assert_eq!(retry_after(&headers(&[("retry-after", "soon")])), None);
    assert_eq!(retry_after(&headers(&[])), None);
}
