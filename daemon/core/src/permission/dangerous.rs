//! The dangerous class: calls that ask whatever allow rules say, and the critical few that nothing lifts.

use agentd_types::AbsPath;

use super::decide::Scope;
use super::shell;
use super::subject::Subject;

/// How dangerous, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Danger {
    /// Asks in every mode.
    Critical(String),
    /// Asks unless in bypass mode, or named exactly by an allow rule.
    Dangerous(String),
}

/// Commands that leave the daemon's reach, or take more rights.
const ESCAPES: &[&str] = &[
    "sudo",
    "doas",
    "su",
    "systemd-run",
    "at",
    "batch",
    "crontab",
    "docker",
    "podman",
    "ssh",
    "mkfs",
    "dd",
    "shutdown",
    "reboot",
    "chroot",
    "nsenter",
];
/// Files and folders that run code later, or hold rights.
const SENSITIVE: &[&str] = &[
    ".git",
    ".agent",
    ".claude",
    ".ssh",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".envrc",
    ".gitconfig",
    ".npmrc",
    ".mcp.json",
    ".husky",
    ".vscode",
    ".idea",
    ".cargo",
];

/// Whether the call is of the class.
#[must_use]
pub fn danger(subject: &Subject, scope: &Scope) -> Option<Danger> {
    match subject {
        Subject::Read { .. } | Subject::Agent { .. } | Subject::Other => None,
        Subject::Edit { path, real } => of_edit(path, scope).or_else(|| of_edit(real, scope)),
        Subject::Command { line } => {
            let parts = shell::parts(line);
            let found: Vec<Danger> = parts.iter().filter_map(|part| of_command(part, line, scope)).collect();
            let critical = found.iter().find(|it| matches!(it, Danger::Critical(_))).cloned();
            critical.or_else(|| found.into_iter().next())
        }
    }
}

fn of_edit(path: &AbsPath, scope: &Scope) -> Option<Danger> {
    if let Some(folder) = scope.protected.iter().find(|folder| path.is_within(folder)) {
        return Some(Danger::Critical(format!("{folder} is the daemon's own")));
    }
    if !scope.allowed.iter().any(|folder| path.is_within(folder)) {
        return Some(Danger::Dangerous(format!("{path} lies outside the allowed folders")));
    }
    let name = path.as_path().components().filter_map(|part| part.as_os_str().to_str()).find(|name| SENSITIVE.contains(name));
    name.map(|name| Danger::Dangerous(format!("{name} can run code or hold secrets")))
}

fn of_command(part: &str, line: &str, scope: &Scope) -> Option<Danger> {
    let words: Vec<&str> = part.split_whitespace().collect();
    let (name, rest) = words.split_first()?;
    let name = name.rsplit('/').next().unwrap_or(name);
    if let Some(folder) = scope.protected.iter().find(|folder| part.contains(&folder.to_string())) {
        return (!shell::is_read_only(line)).then(|| Danger::Critical(format!("{folder} is the daemon's own")));
    }
    if name == "rm" || name == "rmdir" {
        let target = rest.iter().find(|word| is_root_or_home(word, scope));
        return target.map(|target| Danger::Critical(format!("removes {target}")));
    }
    if ESCAPES.contains(&name) || name.starts_with("mkfs.") {
        return Some(Danger::Dangerous(format!("{name} acts with other rights or out of sight")));
    }
    if name == "git" && rest.first() == Some(&"push") && rest.iter().any(|word| word.starts_with("--force") || *word == "-f") {
        return Some(Danger::Dangerous("a forced push rewrites what others have".to_owned()));
    }
    if name == "tmux" && rest.iter().any(|word| word.starts_with("send")) {
        return Some(Danger::Dangerous("it types into another terminal".to_owned()));
    }
    if (name == "curl" || name == "wget") && line.contains('|') {
        return Some(Danger::Dangerous("it may run what it downloads".to_owned()));
    }
    None
}

fn is_root_or_home(word: &str, scope: &Scope) -> bool {
    let bare = word.trim_end_matches('*').trim_end_matches('/');
    let home = scope.home.as_ref().map(ToString::to_string);
    let cwd = scope.cwd.to_string();
    let top = word.starts_with('/') && bare.matches('/').count() <= 1;
    top || bare == "~" || word == ".." || bare == ".." || home.as_deref() == Some(bare) || (word.starts_with('/') && cwd.starts_with(bare))
}
