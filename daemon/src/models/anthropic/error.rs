//! The API's errors by class, in words a person can act on. It never shows a key.

use agentd_core::model::{ErrorClass, ModelError};
use agentd_types::Timestamp;
use reqwest::header::{HeaderMap, LOCATION};
use secrecy::ExposeSecret;
use serde::Deserialize;

use super::Config;
use crate::clock::{Clock, SystemClock};
use crate::models::http::{self, BaseUrl};

/// Bytes of an error's body that are read.
const MAX_BODY: usize = 64 << 10;
/// Characters of a server's own words that are shown.
const MAX_WORDS: usize = 600;

/// What a server says about an error, in any of the shapes that servers use.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub kind: String,
    pub message: String,
    pub code: String,
    pub request_id: Option<String>,
}

/// An error that is no answer of the API's.
pub fn failure(base: &BaseUrl, class: ErrorClass, what: &str) -> ModelError {
    ModelError { class, status: None, message: format!("the model at {base}: {what}"), retry_after_ms: None }
}

/// Reads an answer that is no success.
pub async fn read(mut response: reqwest::Response, config: &Config) -> ModelError {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let mut bytes = Vec::new();
    // A body that breaks or never ends does not hide the status.
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            bytes.extend_from_slice(&chunk);
            if bytes.len() >= MAX_BODY {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(10), reading).await;
    bytes.truncate(MAX_BODY);
    let mut said = parse(&String::from_utf8_lossy(&bytes));
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    said.request_id = said.request_id.or_else(|| header("request-id")).or_else(|| header("x-request-id"));
    if said.message.is_empty()
        && let Some(to) = headers.get(LOCATION).and_then(|value| value.to_str().ok())
    {
        said.message = format!("the server redirects to {to}; set the base URL to where it really is");
    }
    let retry_after_ms = retry_after(&headers);
    let class = classify(Some(status), &said, retry_after_ms);
    ModelError { class, status: Some(status), message: describe(Some(status), class, &said, config), retry_after_ms }
}

/// The error of an `error` event in the middle of a stream.
pub fn in_stream(data: &str, config: &Config) -> ModelError {
    let said = parse(data);
    let class = classify(None, &said, None);
    ModelError { class, status: None, message: describe(None, class, &said, config), retry_after_ms: None }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Wire {
    error: serde_json::Value,
    message: Option<String>,
    request_id: Option<String>,
}

/// Reads an error's body: the API's shape, the ones of other servers, or plain text.
#[must_use]
pub fn parse(body: &str) -> Said {
    let Ok(wire) = serde_json::from_str::<Wire>(body) else {
        return Said { message: plain(body), ..Said::default() };
    };
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.to_string(),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Array(_) | serde_json::Value::Object(_) => String::new(),
    };
    let error = &wire.error;
    let code = [&error["details"]["error_code"], &error["code"]].into_iter().map(&text).find(|it| !it.is_empty());
    let message = [text(&error["message"]), text(error), wire.message.unwrap_or_default()].into_iter().find(|it| !it.is_empty());
    Said {
        kind: text(&error["type"]),
        message: message.unwrap_or_else(|| plain(body)),
        code: code.unwrap_or_default(),
        request_id: wire.request_id,
    }
}

/// The visible words of a body that is no JSON: a proxy's page, say.
fn plain(body: &str) -> String {
    let mut words = String::new();
    let mut in_tag = false;
    for c in body.chars().take(8 * MAX_WORDS) {
        match c {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                words.push(' ');
            }
            c if !in_tag => words.push(c),
            _ => {}
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The class: by what the server names, else by its status. `status` is absent inside a stream.
#[must_use]
pub fn classify(status: Option<u16>, said: &Said, retry_after_ms: Option<u64>) -> ErrorClass {
    let message = said.message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|it| message.contains(it));
    let is_overflow = matches!(said.kind.as_str(), "exceed_context_size_error") || said.code == "context_length_exceeded";
    if is_overflow || has(&["prompt is too long", "exceed context limit", "exceeds the available context size", "maximum context length"]) {
        return ErrorClass::PromptTooLong;
    }
    if said.code == "image_dimensions_too_large" || has(&["image exceeds", "image dimensions exceed", "maximum of 100 pdf pages"]) {
        return ErrorClass::MediaTooLarge;
    }
    let is_spend_code = matches!(said.code.as_str(), "enforced_spend_limit_reached" | "contract_spend_limit_reached");
    if (is_spend_code && retry_after_ms.is_none()) || message.starts_with("you have reached your specified") {
        return ErrorClass::SpendLimit;
    }
    match said.kind.as_str() {
        "invalid_request_error" => ErrorClass::InvalidRequest,
        "authentication_error" => ErrorClass::Authentication,
        "billing_error" => ErrorClass::Billing,
        "permission_error" => ErrorClass::Permission,
        "not_found_error" => ErrorClass::NotFound,
        "request_too_large" => ErrorClass::RequestTooLarge,
        "rate_limit_error" => ErrorClass::RateLimit,
        "overloaded_error" => ErrorClass::Overloaded,
        "timeout_error" => ErrorClass::Timeout,
        // `api_error` is every server's word for anything: the status says more, where there is one.
        _ => status.map_or(ErrorClass::Server, http::class_of),
    }
}

fn describe(status: Option<u16>, class: ErrorClass, said: &Said, config: &Config) -> String {
    let mut text = format!("the model at {}: ", config.base);
    if let Some(status) = status {
        text.push_str(&format!("HTTP {status}, "));
    }
    text.push_str(if said.kind.is_empty() { class.name() } else { &said.kind });
    let words: String = redacted(&said.message, config).chars().take(MAX_WORDS).collect();
    if !words.is_empty() {
        text.push_str(": ");
        text.push_str(&words);
    }
    if let Some(id) = &said.request_id {
        text.push_str(&format!(" (request {id})"));
    }
    if let Some(hint) = hint(class, config) {
        text.push_str("; ");
        text.push_str(&hint);
    }
    text
}

fn hint(class: ErrorClass, config: &Config) -> Option<String> {
    match (class, &config.credential) {
        (ErrorClass::Authentication | ErrorClass::Permission, Some(credential)) => {
            Some(format!("the key came from {}: check it there", credential.place))
        }
        (ErrorClass::Authentication | ErrorClass::Permission, None) => {
            Some("no key was sent: set ANTHROPIC_API_KEY or provider.anthropicApiKey in settings.json".to_owned())
        }
        (ErrorClass::NotFound, _) => Some("check the model's name and the base URL".to_owned()),
        _ => None,
    }
}

/// A server may quote the key it was given.
fn redacted(text: &str, config: &Config) -> String {
    match &config.credential {
        Some(credential) if !credential.secret.expose_secret().trim().is_empty() => {
            text.replace(credential.secret.expose_secret().trim(), "[key]")
        }
        Some(_) | None => text.to_owned(),
    }
}

/// What the server asks us to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a date.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.parse::<u64>().ok()) {
        return Some(millis);
    }
    let text = header("retry-after")?;
    if let Some(seconds) = text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float's cast saturates")]
        return Some((seconds * 1000.0).ceil() as u64);
    }
    // The server's own date, where it gives one: its clock and ours may differ.
    let now = header("date").and_then(date).unwrap_or_else(|| SystemClock.now());
    date(text).map(|until| until.since(now))
}

fn date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|zoned| Timestamp(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests;
