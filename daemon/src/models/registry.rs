//! Which model is asked where: names to providers, keys from the environment over the settings. It never shows a key.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentd_core::model::catalog::is_rehearsal;
use agentd_core::query::CallLimits;
use agentd_types::config::Settings;
use agentd_types::layout::Vars;

use super::anthropic::{AnthropicProvider, Config, Credential, DEFAULT_BASE_URL, KeyKind};
use super::http::{BaseUrl, HttpError};
use super::provider::Provider;
use super::rehearsal::script::MAX_BYTES;
use super::rehearsal::{RehearsalProvider, Script, ScriptError, tour};

/// The model of new sessions where a provider is set up and nothing else is said.
pub const DEFAULT_MODEL: &str = "claude-sonnet-5-5";
/// The one where none is.
pub const REHEARSAL: &str = "rehearsal";

/// Why a model cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error(
        "model `{model}` needs a key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN (or ANTHROPIC_BASE_URL for a server of your own) \
         in the daemon's environment, or provider.anthropicApiKey in settings.json; without one, use --model rehearsal"
    )]
    NoKey { model: String },
    #[error("no model can be asked: {0}")]
    Provider(String),
    #[error("`rehearsal:` names no script: write rehearsal:FILE or rehearsal:tour")]
    NoScript,
    #[error("the script `{}` must be given with its whole path", .0.display())]
    RelativeScript(PathBuf),
    #[error("the script {} cannot be read: {why}", .path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Who can be asked. Made once from settings and environment; a changed setting makes a new one.
pub struct Models {
    default: String,
    anthropic: Anthropic,
}

/// Who would be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// Empty = nobody can be.
    pub provider: &'static str,
    /// Empty for one without a server.
    pub base_url: String,
    /// Where its key comes from; `none` = it has none.
    pub key_source: String,
    /// Why nobody can be asked; empty when somebody can.
    pub problem: String,
}

enum Anthropic {
    Ready(Box<AnthropicProvider>),
    /// Handed in whole.
    Given(Arc<dyn Provider>),
    NotSetUp,
    Broken(String),
}

impl Models {
    /// From settings and environment, the environment first. A provider that is set up wrongly is reported when it is asked.
    #[must_use]
    pub fn new(settings: &Settings, vars: &impl Vars) -> Models {
        let anthropic = match anthropic(settings, vars) {
            Ok(Some(provider)) => Anthropic::Ready(Box::new(provider)),
            Ok(None) => Anthropic::NotSetUp,
            Err(error) => Anthropic::Broken(error.to_string()),
        };
        let fallback = match &anthropic {
            Anthropic::Ready(_) | Anthropic::Given(_) | Anthropic::Broken(_) => DEFAULT_MODEL,
            Anthropic::NotSetUp => REHEARSAL,
        };
        let wished = settings.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
        Models { default: wished.unwrap_or(fallback).to_owned(), anthropic }
    }

    /// One provider for every model but the rehearsal.
    #[must_use]
    pub fn of(provider: Arc<dyn Provider>, default_model: &str) -> Models {
        Models { default: default_model.to_owned(), anthropic: Anthropic::Given(provider) }
    }

    /// The model of new sessions.
    #[must_use]
    pub fn default_model(&self) -> &str {
        &self.default
    }

    /// The provider of `model`, one for each session; an empty name is the default. Reads a rehearsal's file, so it blocks.
    ///
    /// # Errors
    /// Why it cannot be asked, and what to do about it.
    pub fn resolve(&self, model: &str) -> Result<Arc<dyn Provider>, ResolveError> {
        self.find(model, None)
    }

    /// The same for a session in `folder`: a script's relative path starts there, and plain `rehearsal` is the tour only
    /// where the tour's project is.
    ///
    /// # Errors
    /// As [`resolve`](Models::resolve).
    pub fn resolve_in(&self, model: &str, folder: &Path) -> Result<Arc<dyn Provider>, ResolveError> {
        self.find(model, Some(folder))
    }

    /// Who would be asked for new sessions, and where; never with a key.
    #[must_use]
    pub fn outlook(&self) -> Outlook {
        let (provider, base_url) = match (&self.anthropic, is_rehearsal(&self.default)) {
            (_, true) => ("rehearsal", String::new()),
            (Anthropic::Ready(provider), false) => ("anthropic", provider.base_url()),
            (Anthropic::Given(_), false) => ("given", String::new()),
            (Anthropic::NotSetUp | Anthropic::Broken(_), false) => ("", String::new()),
        };
        match self.resolve("") {
            Ok(found) => Outlook { provider, base_url, key_source: found.key_source().to_owned(), problem: String::new() },
            Err(error) => Outlook { provider: "", base_url, key_source: "none".to_owned(), problem: error.to_string() },
        }
    }

    fn find(&self, model: &str, folder: Option<&Path>) -> Result<Arc<dyn Provider>, ResolveError> {
        let model = if model.trim().is_empty() { &self.default } else { model.trim() };
        if is_rehearsal(model) {
            return Ok(Arc::new(RehearsalProvider::new(script(model, folder)?)));
        }
        match &self.anthropic {
            Anthropic::Ready(provider) => Ok(Arc::new(provider.for_another())),
            Anthropic::Given(provider) => Ok(Arc::clone(provider)),
            Anthropic::NotSetUp => Err(ResolveError::NoKey { model: model.to_owned() }),
            Anthropic::Broken(why) => Err(ResolveError::Provider(why.clone())),
        }
    }
}

fn anthropic(settings: &Settings, vars: &impl Vars) -> Result<Option<AnthropicProvider>, HttpError> {
    let credential = credential(settings, vars);
    let set = |text: &Option<String>| text.as_deref().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned);
    let base = vars.var("ANTHROPIC_BASE_URL").or_else(|| set(&settings.provider.anthropic_base_url));
    if credential.is_none() && base.is_none() {
        return Ok(None);
    }
    let base = BaseUrl::parse(base.as_deref().unwrap_or(DEFAULT_BASE_URL))?;
    let silence = CallLimits::with(None, settings.provider.silence_ms).silence_ms;
    AnthropicProvider::new(Config { base, credential, silence: Duration::from_millis(silence) }).map(Some)
}

/// The first of: token and key of the environment, token and key of the settings.
fn credential(settings: &Settings, vars: &impl Vars) -> Option<Credential> {
    let provider = &settings.provider;
    let candidates = [
        (KeyKind::Bearer, vars.var("ANTHROPIC_AUTH_TOKEN"), "ANTHROPIC_AUTH_TOKEN", "the variable ANTHROPIC_AUTH_TOKEN"),
        (KeyKind::ApiKey, vars.var("ANTHROPIC_API_KEY"), "ANTHROPIC_API_KEY", "the variable ANTHROPIC_API_KEY"),
        (KeyKind::Bearer, provider.anthropic_auth_token.clone(), "settings", "provider.anthropicAuthToken in settings.json"),
        (KeyKind::ApiKey, provider.anthropic_api_key.clone(), "settings", "provider.anthropicApiKey in settings.json"),
    ];
    candidates.into_iter().find_map(|(kind, secret, source, place)| {
        let secret = secret.filter(|it| !it.trim().is_empty())?;
        Some(Credential::new(kind, secret, source, place))
    })
}

fn script(model: &str, folder: Option<&Path>) -> Result<Script, ResolveError> {
    let wanted = model.strip_prefix("rehearsal").unwrap_or_default();
    match (wanted, folder) {
        ("", Some(folder)) if !tour::is_laid_down(folder) => Ok(tour::no_model()?),
        ("" | ":tour", _) => Ok(tour::script()?),
        (":", _) => Err(ResolveError::NoScript),
        (file, folder) => {
            let file = Path::new(file.strip_prefix(':').unwrap_or(file));
            match folder {
                Some(folder) => read(&folder.join(file)),
                None if file.is_absolute() => read(file),
                None => Err(ResolveError::RelativeScript(file.to_owned())),
            }
        }
    }
}

fn read(path: &Path) -> Result<Script, ResolveError> {
    let unreadable = |why: String| ResolveError::Unreadable { path: path.to_owned(), why };
    let metadata = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() {
        // Opening a FIFO would wait for its writer.
        return Err(unreadable("it is no regular file".to_owned()));
    }
    let file = fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut text = String::new();
    // One byte more than allowed, so that the parser sees that it is too long.
    file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
    Ok(Script::parse(&path.display().to_string(), &text)?)
}

#[cfg(test)]
mod tests;
