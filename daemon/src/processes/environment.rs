//! What tools see of the environment: the session's own, without keys of model providers and the daemon's variables.
//! Nothing is added for the session: a tool that needs the daemon asks its socket.

/// Beginnings of names that no tool sees: model providers', the daemon's, its service manager's.
const HIDDEN: &[&str] = &["ANTHROPIC_", "OPENAI_", "AZURE_OPENAI_", "AGENT_", "LISTEN_", "WATCHDOG_"];
/// Ends of names that no tool sees: how keys of any provider are called.
const KEYS: &[&str] = &["_API_KEY", "_API_KEYS"];
/// Single names that no tool sees.
const NAMES: &[&str] = &["NOTIFY_SOCKET", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"];
/// A session made by a program that captured nothing still finds the usual commands.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// What is left of what the client captured; the last of several values counts.
#[must_use]
pub fn session_environment(captured: &[(String, String)]) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::with_capacity(captured.len() + 1);
    for (name, value) in captured.iter().filter(|(name, value)| is_possible(name, value) && !is_hidden(name)) {
        match kept.iter_mut().find(|(earlier, _)| earlier == name) {
            Some((_, earlier)) => earlier.clone_from(value),
            None => kept.push((name.clone(), value.clone())),
        }
    }
    if !kept.iter().any(|(name, _)| name == "PATH") {
        kept.push(("PATH".to_owned(), PATH.to_owned()));
    }
    kept
}

/// One that the system could not hand over would keep every command from starting.
fn is_possible(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

fn is_hidden(name: &str) -> bool {
    // Tools take either case for some of them.
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) || HIDDEN.iter().any(|start| name.starts_with(start)) || KEYS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::session_environment;

    fn of(captured: &[(&str, &str)]) -> Vec<(String, String)> {
        let captured: Vec<(String, String)> = captured.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        session_environment(&captured)
    }

    #[test]
    fn keys_and_the_daemons_own_are_hidden() {
        let names = [
            "PATH",
            "LANG",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "OPENAI_BASE_URL",
            "FOO_API_KEY",
            "foo_api_key",
            "AGENT_SOCKET",
            "NOTIFY_SOCKET",
            "LISTEN_FDS",
            "LISTEN_PID",
            "WATCHDOG_USEC",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "SSH_AUTH_SOCK",
            "SSH_AGENT_PID",
        ];
        let captured: Vec<(&str, &str)> = names.iter().map(|name| (*name, "x")).collect();
        let kept: Vec<String> = of(&captured).into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["PATH", "LANG", "SSH_AUTH_SOCK", "SSH_AGENT_PID"]);
    }

    #[test]
    fn there_is_always_a_path() {
        assert_eq!(of(&[]).len(), 1);
        assert_eq!(of(&[("PATH", "/x")]), [("PATH".to_owned(), "/x".to_owned())]);
    }

    #[test]
    fn what_the_system_would_refuse_is_left_out_and_the_last_value_counts() {
        let kept = of(&[("PATH", "/x"), ("", "a"), ("A=B", "a"), ("C", "a\0b"), ("D", "1"), ("D", "2")]);
        assert_eq!(kept, [("PATH".to_owned(), "/x".to_owned()), ("D".to_owned(), "2".to_owned())]);
    }
}
