use std::collections::BTreeMap;

use agentd_types::config::ProviderSettings;

use super::*;

struct Given(BTreeMap<&'static str, &'static str>);

impl Vars for Given {
    fn var(&self, name: &str) -> Option<String> {
        self.0.get(name).map(ToString::to_string)
    }
}

fn from(vars: &[(&'static str, &'static str)], provider: ProviderSettings) -> Outlook {
    of(&Settings { provider, ..Settings::default() }, &Given(vars.iter().copied().collect()))
}

#[test]
fn the_environment_comes_before_the_settings_and_no_key_is_shown() {
    let kept = || ProviderSettings { anthropic_api_key: Some("sk-secret".into()), ..ProviderSettings::default() };
    let found = from(&[("ANTHROPIC_API_KEY", "sk-secret"), ("ANTHROPIC_BASE_URL", "http://u:pass@127.0.0.1:8/v1?key=1")], kept());
    assert_eq!((found.provider.as_str(), found.key_source.as_str()), ("anthropic", "ANTHROPIC_API_KEY"));
    assert_eq!(found.base_url, "http://127.0.0.1:8/v1");
    let settings = from(&[], kept());
    assert_eq!((settings.key_source.as_str(), settings.base_url.as_str()), ("settings", "https://api.anthropic.com"));
    let token = from(&[("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_AUTH_TOKEN", "b")], kept());
    assert_eq!(token.key_source, "ANTHROPIC_AUTH_TOKEN");
    for outlook in [found, settings, token] {
        let shown = format!("{} {} {outlook:?}", outlook.text(), outlook.json());
        assert!(!shown.contains("secret") && !shown.contains("pass"), "{shown}");
    }
}

#[test]
fn without_anything_the_rehearsal_plays() {
    let found = from(&[("ANTHROPIC_API_KEY", "  ")], ProviderSettings::default());
    assert_eq!((found.provider.as_str(), found.key_source.as_str()), ("rehearsal", "none"));
    let own = from(&[("ANTHROPIC_BASE_URL", "http://localhost:1")], ProviderSettings::default());
    assert_eq!((own.provider.as_str(), own.key_source.as_str()), ("anthropic", "none"));
}
