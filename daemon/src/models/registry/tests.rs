//! Names, keys and where they come from.

use std::collections::HashMap;

use agentd_types::config::ProviderSettings;

use super::super::http::install_tls_provider;
use super::*;

struct Env(HashMap<&'static str, &'static str>);

impl Vars for Env {
    fn var(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|value| (*value).to_owned()).filter(|value| !value.is_empty())
    }
}

fn models(pairs: &[(&'static str, &'static str)], provider: ProviderSettings) -> Models {
    install_tls_provider();
    Models::new(&Settings { provider, ..Settings::default() }, &Env(pairs.iter().copied().collect()))
}

#[test]
fn without_a_key_there_is_only_the_rehearsal() {
    let models = models(&[], ProviderSettings::default());
    assert_eq!(models.default_model(), "rehearsal");
    let error = models.resolve("claude-sonnet-5-5").err().expect("an error").to_string();
    assert!(error.contains("ANTHROPIC_API_KEY") && error.contains("claude-sonnet-5-5"), "{error}");
    assert_eq!(models.resolve("").expect("the default").key_source(), "rehearsal");
}

#[test]
fn the_environment_comes_before_the_settings() {
    let settings = || ProviderSettings { anthropic_api_key: Some("from settings".into()), ..ProviderSettings::default() };
    let source = |pairs| models(pairs, settings()).resolve("claude-sonnet-5-5").expect("a provider").key_source();
    assert_eq!(source(&[]), "settings");
    assert_eq!(source(&[("ANTHROPIC_API_KEY", "k")]), "ANTHROPIC_API_KEY");
    assert_eq!(source(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t")]), "ANTHROPIC_AUTH_TOKEN");
    assert_eq!(source(&[("ANTHROPIC_API_KEY", "")]), "settings");
}

#[test]
fn a_server_of_ones_own_needs_no_key_and_a_bad_url_is_reported() {
    let own = models(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")], ProviderSettings::default());
    assert_eq!(own.default_model(), DEFAULT_MODEL);
    assert_eq!(own.resolve("llama").expect("a provider").key_source(), "none");
    let bad = models(&[("ANTHROPIC_BASE_URL", "nonsense")], ProviderSettings::default());
    assert!(bad.resolve("llama").err().expect("an error").to_string().contains("nonsense"));
    assert!(bad.resolve("rehearsal").is_ok());
}

#[test]
fn scripts_are_found_in_the_sessions_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.toml"), "[[step]]\ntext = \"x\"\n").expect("written");
    fs::write(folder.path().join("b.toml"), "[[step]]\ntxet = \"x\"\n").expect("written");
    let models = models(&[], ProviderSettings::default());
    let error = |model: &str| models.resolve_in(model, folder.path()).err().map(|error| error.to_string());
    assert_eq!(error("rehearsal:a.toml"), None);
    assert_eq!(error(&format!("rehearsal:{}", folder.path().join("a.toml").display())), None);
    assert!(error("rehearsal:b.toml").is_some_and(|it| it.contains("b.toml (line 2, step 1): unknown field `txet`")));
    assert!(error("rehearsal:c.toml").is_some_and(|it| it.contains("c.toml cannot be read")));
    assert!(error("rehearsal:.").is_some_and(|it| it.contains("no regular file")));
    assert!(error("rehearsal:").is_some_and(|it| it.contains("rehearsal:FILE")));
    assert!(matches!(models.resolve("rehearsal:a.toml"), Err(ResolveError::RelativeScript(_))));
    assert!(models.resolve("rehearsal:tour").is_ok());
}
