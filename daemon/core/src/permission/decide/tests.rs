use agentd_types::AbsPath;
use agentd_types::permission::PermissionMode;
use agentd_types::rule::Rule;
use proptest::prelude::*;

use super::{Policy, Scope, Verdict, decide};
use crate::permission::Subject;
use crate::tools::Effects;

fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn policy(mode: PermissionMode, allow: &[&str], deny: &[&str]) -> Policy {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse::<Rule>().unwrap()).collect();
    Policy {
        mode,
        allow: rules(allow),
        deny: rules(deny),
        ask: Vec::new(),
        scope: Scope { cwd: abs("/work"), allowed: vec![abs("/work")], home: Some(abs("/home/me")), protected: vec![abs("/var/agentd")] },
    }
}

fn edit(path: &str) -> Subject {
    Subject::Edit { path: abs(path), real: abs(path) }
}

fn command(line: &str) -> Subject {
    Subject::Command { line: line.to_owned() }
}

fn word(policy: &Policy, tool: &str, subject: &Subject) -> &'static str {
    match decide(policy, tool, Effects::SideEffects, subject) {
        Verdict::Allow { .. } => "allow",
        Verdict::Deny { .. } => "deny",
        Verdict::Ask { .. } => "ask",
    }
}

#[test]
fn the_mode_table() {
    use PermissionMode::{AutoEdit, BypassPermissions, Default, DontAsk, FullAuto, Plan};
    let rows = [
        (Default, "allow", "ask", "ask", "ask"),
        (Plan, "allow", "ask", "ask", "ask"),
        (AutoEdit, "allow", "allow", "ask", "ask"),
        (FullAuto, "allow", "allow", "ask", "ask"),
        (BypassPermissions, "allow", "allow", "allow", "allow"),
        (DontAsk, "allow", "deny", "deny", "deny"),
    ];
    for (mode, read, write, bash, dangerous) in rows {
        let policy = policy(mode, &[], &[]);
        let reading = Subject::Read { path: abs("/etc/hosts"), real: abs("/etc/hosts") };
        assert_eq!(word(&policy, "Read", &reading), read, "{mode:?}");
        assert_eq!(word(&policy, "Edit", &edit("/work/a")), write, "{mode:?}");
        assert_eq!(word(&policy, "Bash", &command("make test")), bash, "{mode:?}");
        assert_eq!(word(&policy, "Bash", &command("sudo make")), dangerous, "{mode:?}");
        assert_eq!(word(&policy, "Edit", &edit("/etc/hosts")), dangerous, "{mode:?}");
    }
}

#[test]
fn deny_beats_everything() {
    let policy = policy(PermissionMode::BypassPermissions, &["Bash", "Edit"], &["Bash(rm:*)", "Edit(secret/**)", "Read(.env)"]);
    for line in ["rm x", "ls; rm x", "true && rm x", "env A=1 rm x", "bash -c 'rm x'", "echo $(rm x)", "xargs -n 1 rm x", "A=1 rm x"] {
        assert_eq!(word(&policy, "Bash", &command(line)), "deny", "{line}");
    }
    assert_eq!(word(&policy, "Write", &edit("/work/secret/key")), "deny");
    assert_eq!(word(&policy, "Write", &edit("/work/deep/.env")), "deny");
    assert_eq!(word(&policy, "Bash", &command("ls")), "allow");
}

#[test]
fn the_critical_few_are_never_lifted() {
    let policy = policy(PermissionMode::BypassPermissions, &["Bash", "Bash(rm -rf /)", "Edit"], &[]);
    for line in [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf ~",
        "rm -rf /home/me",
        "rm -rf /usr",
        "cd / && rm -rf /work",
        "rm -rf ..",
        "echo x > /var/agentd/journal/1",
    ] {
        assert_eq!(word(&policy, "Bash", &command(line)), "ask", "{line}");
    }
    assert_eq!(word(&policy, "Edit", &edit("/var/agentd/x")), "ask");
}

#[test]
fn an_allow_prefix_covers_one_plain_command() {
    let policy = policy(PermissionMode::Default, &["Bash(npm run test:*)", "Bash(make && make install)"], &[]);
    for (line, verdict) in [
        ("npm run test", "allow"),
        ("npm run test unit", "allow"),
        ("npm run testing", "ask"),
        ("npm run test; rm x", "ask"),
        ("npm run test $(id)", "ask"),
        ("npm run test > x", "ask"),
        ("npm run test\nid", "ask"),
        ("make && make install", "allow"),
    ] {
        assert_eq!(word(&policy, "Bash", &command(line)), verdict, "{line}");
    }
}

#[test]
fn a_link_out_of_the_folder_is_judged_by_its_target() {
    let policy = policy(PermissionMode::AutoEdit, &[], &[]);
    let link = Subject::Edit { path: abs("/work/link"), real: abs("/etc/passwd") };
    assert_eq!(word(&policy, "Edit", &link), "ask");
}

#[test]
fn plan_mode_is_not_lifted_by_allow_rules() {
    let policy = policy(PermissionMode::Plan, &["Edit", "Bash(make:*)"], &[]);
    assert_eq!(word(&policy, "Edit", &edit("/work/a")), "ask");
    assert_eq!(word(&policy, "Bash", &command("make x")), "ask");
    assert_eq!(word(&policy, "Bash", &command("git status")), "allow");
}

/// What "always" would write for the call.
fn suggested(policy: &Policy, tool: &str, subject: &Subject) -> Vec<String> {
    match decide(policy, tool, Effects::SideEffects, subject) {
        Verdict::Ask { suggestions, .. } => suggestions,
        other => panic!("{other:?}"),
    }
}

#[test]
fn always_is_for_this_very_call_and_nothing_wider() {
    let asks = policy(PermissionMode::Default, &[], &[]);
    assert_eq!(suggested(&asks, "Bash", &command(" touch a && (ls) ")), ["Bash(touch a && (ls))"]);
    assert!(suggested(&asks, "Bash", &command("rm *.o")).is_empty(), "a star would make it a pattern");
    assert_eq!(suggested(&asks, "Edit", &edit("/work/a.rs")), ["Edit(/a.rs)"]);
    let mut moved = asks.clone();
    moved.scope.cwd = abs("/work/sub");
    assert_eq!(
        suggested(&moved, "Edit", &edit("/work/sub/a.rs")),
        ["Edit(//work/sub/a.rs)"],
        "a rule counts from the session's own folder"
    );
}

proptest! {
    #[test]
    fn a_suggested_rule_allows_its_command_and_no_other(line in "[a-c &|;()*\"\n.-]{1,12}", other in "[a-c &|;()*\"\n.-]{1,12}") {
        let asks = policy(PermissionMode::Default, &[], &[]);
        if let Verdict::Ask { suggestions, .. } = decide(&asks, "Bash", Effects::SideEffects, &command(&line))
            && let [rule] = suggestions.as_slice()
        {
            let kept = policy(PermissionMode::Default, &[rule.as_str()], &[]);
            prop_assert_eq!(word(&kept, "Bash", &command(&line)), "allow");
            if other.trim() != line.trim() {
                prop_assert_eq!(word(&kept, "Bash", &command(&other)), word(&asks, "Bash", &command(&other)));
            }
        }
    }

    #[test]
    fn a_prefix_never_lets_a_compound_through(head in "[a-z ]{0,8}", trick in "[;&|<>`$(){}\n\\\\\"']", tail in "[ -~]{0,12}") {
        let policy = policy(PermissionMode::Default, &["Bash(go:*)"], &[]);
        let line = format!("go {head}{trick}{tail}");
        prop_assert_eq!(word(&policy, "Bash", &command(&line)), "ask");
    }

    #[test]
    fn nothing_panics(line in "\\PC{0,60}", rule in "\\PC{0,20}", path in "/[ -~]{0,30}") {
        let mut policy = policy(PermissionMode::Default, &[], &[]);
        for tool in ["Bash", "Edit", "Read"] {
            policy.deny.push(Rule { tool: tool.to_owned(), specifier: Some(rule.clone()) });
            policy.allow.push(Rule { tool: tool.to_owned(), specifier: Some(rule.clone()) });
        }
        word(&policy, "Bash", &command(&line));
        word(&policy, "Edit", &edit(&path));
    }
}
