//! Which provider would be used, and why: as the daemon says, or as a daemon started from this shell would find it. It never
//! holds a key.

use agentd_client::DaemonInfo;
use agentd_types::config::Settings;
use agentd_types::layout::{Layout, Vars};
use serde_json::{Value, json};

use crate::place::Environment;

/// Who would be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// Empty = nobody can be.
    pub provider: String,
    pub base_url: String,
    /// The default model; empty = the daemon decides.
    pub model: String,
    /// Where the key comes from; `none` = there is none.
    pub key_source: String,
    pub why: &'static str,
    pub problem: String,
}

impl Outlook {
    pub fn of_daemon(info: &DaemonInfo) -> Outlook {
        Outlook {
            provider: info.provider.clone(),
            base_url: without_login(&info.provider_base_url),
            model: info.default_model.clone(),
            key_source: info.provider_key_source.clone(),
            why: "as the daemon was started: its environment, then its settings file",
            problem: info.provider_problem.clone(),
        }
    }

    pub fn text(&self) -> String {
        let Outlook { provider, base_url, model, key_source, why, .. } = self;
        let provider = if provider.is_empty() { "none" } else { provider };
        let place = if base_url.is_empty() { String::new() } else { format!(" at {base_url}") };
        let model = if model.is_empty() { String::new() } else { format!(", model {model}") };
        format!("{provider}{place}{model}, key from: {key_source} ({why})")
    }

    pub fn json(&self) -> Value {
        json!({
            "name": self.provider, "base_url": self.base_url, "model": self.model, "key_source": self.key_source, "why": self.why,
            "problem": self.problem,
        })
    }
}

/// What a daemon started from this shell would use.
pub fn of_shell(layout: &Layout) -> Outlook {
    match std::fs::read_to_string(layout.settings.as_path()) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(settings) => of(&settings, &Environment),
            Err(error) => Outlook {
                problem: format!("the settings file {} cannot be read: {error}", layout.settings),
                ..of(&Settings::default(), &Environment)
            },
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => of(&Settings::default(), &Environment),
        Err(error) => {
            let problem = format!("the settings file {} cannot be read: {error}", layout.settings);
            Outlook { problem, ..of(&Settings::default(), &Environment) }
        }
    }
}

/// The daemon's own order: token and key of the environment, token and key of the settings.
fn of(settings: &Settings, vars: &impl Vars) -> Outlook {
    let provider = &settings.provider;
    let set = |text: &Option<String>| text.as_deref().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned);
    let sources = [
        ("ANTHROPIC_AUTH_TOKEN", vars.var("ANTHROPIC_AUTH_TOKEN")),
        ("ANTHROPIC_API_KEY", vars.var("ANTHROPIC_API_KEY")),
        ("settings", set(&provider.anthropic_auth_token)),
        ("settings", set(&provider.anthropic_api_key)),
    ];
    let source = sources.into_iter().find(|(_, key)| key.as_deref().is_some_and(|key| !key.trim().is_empty())).map(|(name, _)| name);
    let base = vars.var("ANTHROPIC_BASE_URL").or_else(|| set(&provider.anthropic_base_url));
    let model = set(&settings.model).unwrap_or_default();
    let problem = String::new();
    match (source, base) {
        (None, None) => Outlook {
            provider: "rehearsal".to_owned(),
            base_url: String::new(),
            model,
            key_source: "none".to_owned(),
            why: "no key and no base URL in this environment or the settings file: the built-in rehearsal plays",
            problem,
        },
        (source, base) => Outlook {
            provider: "anthropic".to_owned(),
            base_url: base.map_or("https://api.anthropic.com".to_owned(), |base| without_login(&base)),
            model,
            key_source: source.unwrap_or("none").to_owned(),
            why: "as this shell would start the daemon: its environment, then the settings file",
            problem,
        },
    }
}

/// A URL may carry a login, which is a secret.
fn without_login(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, url),
    };
    let (host, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    // What follows a question mark may be a key, too.
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    match scheme {
        Some(scheme) => format!("{scheme}://{host}{path}"),
        None => format!("{host}{path}"),
    }
}

#[cfg(test)]
mod tests;
