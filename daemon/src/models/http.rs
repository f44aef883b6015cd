//! The HTTP client that providers share, and its errors in words. It never puts a header or a key into a message.

use std::error::Error;
use std::time::Duration;

use agentd_core::model::ErrorClass;
use reqwest::Url;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A base URL that cannot be used, or a client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("`{url}` is no base URL: {why} (write it like https://api.anthropic.com)")]
    BadUrl { url: String, why: String },
    #[error("the HTTP client could not be made: {0}")]
    Client(String),
}

/// Where a provider's server is: scheme, host, port and path, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Reads a base URL; a trailing slash or `/v1` is as good as none.
    ///
    /// # Errors
    /// When it is no `http://` or `https://` URL, or holds a user name, query or fragment.
    pub fn parse(text: &str) -> Result<BaseUrl, HttpError> {
        let shown = || text.split_once('@').map_or(text, |(_, host)| host).to_owned();
        let bad = |why: &str| HttpError::BadUrl { url: shown(), why: why.to_owned() };
        let mut url = Url::parse(text.trim()).map_err(|error| bad(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad("it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("it must hold no user name and no password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it must have no ? and no #"));
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(BaseUrl(url))
    }

    /// The URL of `path`, which begins with a slash.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let whole = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
        url
    }

    /// Whether the server is on this machine: no proxy stands in between.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl std::fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// Makes the process's TLS provider the small one. Once, in a `main` or a test; a second call changes nothing.
pub fn install_tls_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for one base URL. It has no total timeout: an answer may take an hour, as long as something comes every `idle`.
/// It follows no redirect, because a key must not go to another server.
///
/// # Errors
/// When the platform's certificates cannot be read.
pub fn client(base: &BaseUrl, idle: Duration) -> Result<reqwest::Client, HttpError> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("agentd/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(idle)
        .redirect(reqwest::redirect::Policy::none())
        // A proxy that compresses also buffers; an event stream is small.
        .no_gzip();
    let builder = if base.is_loopback() { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| HttpError::Client(chain(&error)))
}

/// The error and its causes, each once.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// The class of an HTTP status that says nothing else.
#[must_use]
pub const fn class_of(status: u16) -> ErrorClass {
    match status {
        401 => ErrorClass::Authentication,
        402 => ErrorClass::Billing,
        403 => ErrorClass::Permission,
        404 => ErrorClass::NotFound,
        408 | 504 => ErrorClass::Timeout,
        413 => ErrorClass::RequestTooLarge,
        429 => ErrorClass::RateLimit,
        529 => ErrorClass::Overloaded,
        501 => ErrorClass::InvalidRequest,
        500..=599 => ErrorClass::Server,
        // We follow no redirect: the base URL is wrong.
        300..=499 => ErrorClass::InvalidRequest,
        _ => ErrorClass::Protocol,
    }
}

#[cfg(test)]
mod tests;
