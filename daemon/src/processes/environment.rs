//! What tools see of the environment: the session's own, without keys of model providers and the daemon's variables.

/// Beginnings of names that no tool sees.
const HIDDEN: &[&str] = &["ANTHROPIC_", "OPENAI_", "AGENT_", "LISTEN_", "WATCHDOG_"];

/// What is left of what the client captured.
#[must_use]
pub fn session_environment(captured: &[(String, String)]) -> Vec<(String, String)> {
    let hidden = |name: &str| name == "NOTIFY_SOCKET" || name.ends_with("_API_KEY") || HIDDEN.iter().any(|start| name.starts_with(start));
    let mut kept: Vec<(String, String)> = captured.iter().filter(|(name, _)| !hidden(name)).cloned().collect();
    // A session made by a program that captured nothing still finds the usual commands.
    if !kept.iter().any(|(name, _)| name == "PATH") {
        kept.push(("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin".to_owned()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::session_environment;

    #[test]
    fn keys_and_the_daemons_own_are_hidden() {
        let captured = ["PATH", "LANG", "ANTHROPIC_API_KEY", "FOO_API_KEY", "AGENT_SOCKET", "NOTIFY_SOCKET", "LISTEN_FDS"];
        let captured: Vec<(String, String)> = captured.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        let names: Vec<String> = session_environment(&captured).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "LANG"]);
    }
}
