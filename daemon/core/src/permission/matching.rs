//! Whether a rule speaks of a call. Allow rules are read narrowly, deny and ask rules widely.

use agentd_types::AbsPath;
use agentd_types::rule::Rule;

use super::decide::Scope;
use super::shell;
use super::subject::Subject;

/// Whether an allow rule covers the whole call.
#[must_use]
pub fn allows(rule: &Rule, tool: &str, subject: &Subject, scope: &Scope) -> bool {
    let Some(specifier) = &rule.specifier else { return names(rule, tool, subject) };
    match subject {
        Subject::Command { line } => rule.tool == tool && command_fits_narrowly(specifier, line),
        Subject::Edit { path, real } => {
            is_edit_rule(rule) && path_fits(specifier, path, scope, Depth::Anchor) && path_fits(specifier, real, scope, Depth::Anchor)
        }
        Subject::Read { path, real } => {
            (rule.tool == "Read" || is_edit_rule(rule))
                && path_fits(specifier, path, scope, Depth::Anchor)
                && path_fits(specifier, real, scope, Depth::Anchor)
        }
        Subject::Agent { kind } => rule.tool == tool && glob(specifier, kind, Slash::Crossed),
        Subject::Other => false,
    }
}

/// Whether a deny or ask rule touches the call or any part of it.
#[must_use]
pub fn catches(rule: &Rule, tool: &str, subject: &Subject, scope: &Scope) -> bool {
    let Some(specifier) = &rule.specifier else { return names(rule, tool, subject) };
    let touches =
        |path: &AbsPath, real: &AbsPath| path_fits(specifier, path, scope, Depth::Any) || path_fits(specifier, real, scope, Depth::Any);
    match subject {
        Subject::Command { line } => rule.tool == tool && shell::parts(line).iter().any(|part| command_fits(specifier, part)),
        // A Read deny also blocks writing there.
        Subject::Edit { path, real } => (is_edit_rule(rule) || rule.tool == "Read") && touches(path, real),
        Subject::Read { path, real } => rule.tool == "Read" && touches(path, real),
        Subject::Agent { kind } => rule.tool == tool && glob(specifier, kind, Slash::Crossed),
        Subject::Other => false,
    }
}

fn names(rule: &Rule, tool: &str, subject: &Subject) -> bool {
    let by_name = match rule.tool.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => rule.tool == tool,
    };
    by_name || (rule.tool == "Edit" && matches!(subject, Subject::Edit { .. }))
}

fn is_edit_rule(rule: &Rule) -> bool {
    matches!(rule.tool.as_str(), "Edit" | "Write")
}

/// An allow prefix never matches what may be more than one plain command; an exact rule matches its very text.
fn command_fits_narrowly(specifier: &str, line: &str) -> bool {
    specifier == line.trim() || (shell::is_simple(line) && command_fits(specifier, line.trim()))
}

/// `prefix:*`, a pattern with `*`, or the exact text.
fn command_fits(specifier: &str, command: &str) -> bool {
    match specifier.strip_suffix(":*") {
        Some(prefix) => command == prefix || command.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(' ')),
        None => glob(specifier, command, Slash::Crossed),
    }
}

/// Where a bare single-segment pattern may match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Anchor,
    Any,
}

/// Whether `*` stops at a slash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Stops,
    Crossed,
}

/// Gitignore-like: `//abs`, `~/home`, `/from the folder`, `bare` at any depth below it.
fn path_fits(specifier: &str, path: &AbsPath, scope: &Scope, depth: Depth) -> bool {
    let text = path.to_string();
    let (pattern, anchored) = if let Some(absolute) = specifier.strip_prefix("//") {
        (format!("/{absolute}"), true)
    } else if let Some(below) = specifier.strip_prefix("~/") {
        let Some(home) = &scope.home else { return false };
        (format!("{home}/{below}"), true)
    } else {
        let below = specifier.trim_start_matches("./").trim_start_matches('/');
        let anchored = specifier.starts_with('/') || below.contains('/');
        (format!("{}/{below}", scope.cwd), anchored && (depth == Depth::Anchor || specifier.starts_with('/')))
    };
    let below_too = format!("{}/**", pattern.trim_end_matches('/'));
    if glob(&pattern, &text, Slash::Stops) || glob(&below_too, &text, Slash::Stops) {
        return true;
    }
    if anchored {
        return false;
    }
    // A bare name fits at any depth below the folder; for deny and ask anywhere at all.
    let bare = specifier.trim_start_matches("./");
    let root = match depth {
        Depth::Anchor => format!("{}/**/{bare}", scope.cwd),
        Depth::Any => format!("/**/{bare}"),
    };
    glob(&root, &text, Slash::Stops) || glob(&format!("{root}/**"), &text, Slash::Stops)
}

/// `*` and `**`; linear in the text for each star, never exponential.
fn glob(pattern: &str, text: &str, slash: Slash) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // fits[j]: the pattern read so far matches the first j characters.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let doubled = pattern[at] == '*' && pattern.get(at + 1) == Some(&'*');
        match pattern[at] {
            '*' => {
                let crosses = doubled || slash == Slash::Crossed;
                // `**/` also stands for nothing.
                let skips_slash = doubled && pattern.get(at + 2) == Some(&'/');
                let before = fits.clone();
                for j in 0..text.len() {
                    if fits[j] && (crosses || text[j] != '/') {
                        fits[j + 1] = true;
                    }
                }
                at += if doubled { 2 } else { 1 };
                if skips_slash {
                    let mut next = before;
                    for j in 0..text.len() {
                        if fits[j] && text[j] == '/' {
                            next[j + 1] = true;
                        }
                    }
                    fits = next;
                    at += 1;
                }
            }
            wanted => {
                let mut next = vec![false; text.len() + 1];
                for j in 0..text.len() {
                    next[j + 1] = fits[j] && text[j] == wanted;
                }
                fits = next;
                at += 1;
            }
        }
    }
    fits[text.len()]
}
