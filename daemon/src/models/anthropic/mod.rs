//! The Messages API, streaming: Anthropic's own and the servers that speak it. It never repeats a request.

pub mod error;
pub mod request;
pub mod stream;

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentd_core::model::{ErrorClass, ModelError, ModelRequest};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use self::request::Written;
use super::http::{self, BaseUrl, HttpError};
use super::provider::{ModelStream, Provider};

/// Where requests go when nothing else is set.
pub const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

const VERSION: &str = "2023-06-01";
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `x-api-key`.
    ApiKey,
    /// `Authorization: Bearer`.
    Bearer,
}

/// A key and where it came from. Its `Debug` shows no key.
#[derive(Debug, Clone)]
pub struct Credential {
    pub kind: KeyKind,
    pub secret: SecretString,
    /// For `system: init`: `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN` or `settings`.
    pub source: &'static str,
    /// The same for a person: `provider.anthropicApiKey in settings.json`.
    pub place: &'static str,
}

impl Credential {
    #[must_use]
    pub fn new(kind: KeyKind, secret: String, source: &'static str, place: &'static str) -> Credential {
        Credential { kind, secret: SecretString::from(secret), source, place }
    }
}

/// What a provider needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    pub base: BaseUrl,
    /// Absent for a server that wants none.
    pub credential: Option<Credential>,
    /// How long nothing but pings may come before the answer counts as broken.
    pub silence: Duration,
}

/// The provider of one conversation. Connections are shared by all that come of one.
pub struct AnthropicProvider {
    config: Config,
    client: reqwest::Client,
    /// What this conversation's last request said; held while a body is made, never over an await.
    written: Mutex<Written>,
}

impl AnthropicProvider {
    /// A provider with a connection pool of its own.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(config: Config) -> Result<AnthropicProvider, HttpError> {
        // The silence timer is the rule; the socket's own is a little later, for when nobody polls.
        let client = http::client(&config.base, config.silence + Duration::from_secs(5))?;
        Ok(AnthropicProvider { config, client, written: Mutex::default() })
    }

    /// One for another conversation, over the same connections.
    #[must_use]
    pub fn for_another(&self) -> AnthropicProvider {
        AnthropicProvider { config: self.config.clone(), client: self.client.clone(), written: Mutex::default() }
    }

    async fn begin(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let body = self.written.lock().unwrap_or_else(PoisonError::into_inner).body(request);
        let body = body.map_err(|error| self.failure(ErrorClass::InvalidRequest, &error.to_string()))?;
        let mut post = self
            .client
            .post(self.config.base.with_path("/v1/messages"))
            .header(HeaderName::from_static("anthropic-version"), VERSION)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        if request::binds_thinking(&request.model) {
            post = post.header(HeaderName::from_static("anthropic-beta"), BINDING_BETA);
        }
        if let Some(credential) = &self.config.credential {
            let (name, value) = self.key_header(credential)?;
            post = post.header(name, value);
        }
        let response = match tokio::time::timeout(self.config.silence, post.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.not_sent(error)),
            Err(_) => {
                let what = format!("no answer began within {} s", self.config.silence.as_secs_f64());
                return Err(self.failure(ErrorClass::Silence, &what));
            }
        };
        if !response.status().is_success() {
            return Err(error::read(response, &self.config).await);
        }
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !content_type.is_empty() && !content_type.starts_with("text/event-stream") {
            return Err(self.failure(ErrorClass::Protocol, &format!("the answer is no event stream but `{content_type}`")));
        }
        Ok(stream::open(response, self.config.clone()))
    }

    fn key_header(&self, credential: &Credential) -> Result<(HeaderName, HeaderValue), ModelError> {
        let (name, text) = match credential.kind {
            KeyKind::ApiKey => (HeaderName::from_static("x-api-key"), credential.secret.expose_secret().trim().to_owned()),
            KeyKind::Bearer => (AUTHORIZATION, format!("Bearer {}", credential.secret.expose_secret().trim())),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| ModelError {
            class: ErrorClass::Authentication,
            status: None,
            message: format!("the key from {} holds characters that no key has: set it again", credential.place),
            retry_after_ms: None,
        })?;
        value.set_sensitive(true);
        Ok((name, value))
    }

    /// No answer began: nobody there, TLS trouble, a connection that broke, or the socket's own silence.
    fn not_sent(&self, error: reqwest::Error) -> ModelError {
        let class = match (error.is_connect(), error.is_timeout()) {
            (true, _) => ErrorClass::Connect,
            (false, true) => ErrorClass::Silence,
            (false, false) => ErrorClass::StreamCut,
        };
        let text = http::chain(&error.without_url());
        let hint = match class {
            ErrorClass::Connect => ": check the network and the base URL",
            _ => "",
        };
        self.failure(class, &format!("{text}{hint}"))
    }

    /// Where it asks.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.config.base.to_string()
    }

    fn failure(&self, class: ErrorClass, what: &str) -> ModelError {
        error::failure(&self.config.base, class, what)
    }
}

impl Provider for AnthropicProvider {
    fn key_source(&self) -> &'static str {
        self.config.credential.as_ref().map_or("none", |credential| credential.source)
    }

    fn send<'a>(&'a self, request: &'a ModelRequest) -> Pin<Box<dyn Future<Output = Result<ModelStream, ModelError>> + Send + 'a>> {
        Box::pin(self.begin(request))
    }
}
