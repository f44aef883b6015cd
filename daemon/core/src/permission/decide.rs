//! The verdict for one call, in this order: deny rules, ask rules, the dangerous class, mode, allow rules, ask.

use agentd_types::AbsPath;
use agentd_types::permission::PermissionMode;
use agentd_types::rule::Rule;

use super::dangerous::{Danger, danger};
use super::matching::{allows, catches};
use super::shell;
use super::subject::Subject;
use crate::tools::Effects;

/// What is in force for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub mode: PermissionMode,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub scope: Scope,
}

/// Where paths are judged from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub cwd: AbsPath,
    /// Writing inside these is the mode's matter; outside it is dangerous.
    pub allowed: Vec<AbsPath>,
    pub home: Option<AbsPath>,
    /// The daemon's own folders.
    pub protected: Vec<AbsPath>,
}

/// What becomes of the call; `why` names the rule or the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow { why: String },
    Deny { why: String },
    Ask { why: String, suggestions: Vec<String> },
}

/// What a mode says of a kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByMode {
    Auto,
    Ask,
    /// Asks whatever allow rules say.
    AskFirmly,
}

/// Whether a deny rule forbids the call; its text.
#[must_use]
pub fn forbids(policy: &Policy, tool: &str, subject: &Subject) -> Option<String> {
    policy.deny.iter().find(|rule| catches(rule, tool, subject, &policy.scope)).map(ToString::to_string)
}

/// Decides.
#[must_use]
pub fn decide(policy: &Policy, tool: &str, effects: Effects, subject: &Subject) -> Verdict {
    if let Some(rule) = forbids(policy, tool, subject) {
        return Verdict::Deny { why: format!("rule {rule}") };
    }
    let ask = |why: String| match policy.mode {
        PermissionMode::DontAsk => Verdict::Deny { why: format!("mode dontAsk ({why})") },
        PermissionMode::Default
        | PermissionMode::Plan
        | PermissionMode::AutoEdit
        | PermissionMode::FullAuto
        | PermissionMode::BypassPermissions => Verdict::Ask { why, suggestions: suggestions(tool, subject, policy) },
    };
    if let Some(rule) = policy.ask.iter().find(|rule| catches(rule, tool, subject, &policy.scope)) {
        return ask(format!("rule {rule} asks"));
    }
    match danger(subject, &policy.scope) {
        Some(Danger::Critical(why)) => return ask(format!("critical: {why}")),
        Some(Danger::Dangerous(why)) => {
            let named = policy.allow.iter().find(|rule| names_exactly(rule, tool, subject));
            return match (policy.mode, named) {
                (PermissionMode::BypassPermissions, _) => Verdict::Allow { why: "mode bypassPermissions".to_owned() },
                (_, Some(rule)) => Verdict::Allow { why: format!("rule {rule}") },
                (_, None) => ask(format!("dangerous: {why}")),
            };
        }
        None => {}
    }
    let by_mode = by_mode(policy.mode, effects, subject);
    if by_mode == ByMode::Auto {
        return Verdict::Allow { why: format!("mode {}", policy.mode.name()) };
    }
    let allowed = policy.allow.iter().find(|rule| allows(rule, tool, subject, &policy.scope));
    match (allowed, by_mode) {
        (Some(rule), ByMode::Auto | ByMode::Ask) => Verdict::Allow { why: format!("rule {rule}") },
        (Some(_) | None, ByMode::Auto | ByMode::Ask | ByMode::AskFirmly) => ask(format!("mode {} asks", policy.mode.name())),
    }
}

/// The mode table.
fn by_mode(mode: PermissionMode, effects: Effects, subject: &Subject) -> ByMode {
    use PermissionMode::{AutoEdit, BypassPermissions, Default, DontAsk, FullAuto, Plan};
    match (subject, mode) {
        (_, BypassPermissions) | (Subject::Read { .. } | Subject::Agent { .. }, _) => ByMode::Auto,
        (Subject::Edit { .. }, AutoEdit | FullAuto) => ByMode::Auto,
        (Subject::Command { line }, _) if shell::is_read_only(line) => ByMode::Auto,
        (Subject::Edit { .. } | Subject::Command { .. }, Plan) => ByMode::AskFirmly,
        (Subject::Edit { .. }, Default | DontAsk) | (Subject::Command { .. }, Default | DontAsk | AutoEdit | FullAuto) => ByMode::Ask,
        (Subject::Other, Default | DontAsk | AutoEdit | FullAuto | Plan) => match effects {
            Effects::ReadOnly => ByMode::Auto,
            Effects::SideEffects => ByMode::Ask,
        },
    }
}

/// An allow rule that names just this command or file lifts the dangerous class.
fn names_exactly(rule: &Rule, tool: &str, subject: &Subject) -> bool {
    let exact = match subject {
        Subject::Command { line } => line.trim().to_owned(),
        Subject::Edit { path, .. } | Subject::Read { path, .. } => format!("/{path}"),
        Subject::Agent { .. } | Subject::Other => return false,
    };
    // Rules of Edit speak of every tool that writes.
    let by_name = rule.tool == tool || (rule.tool == "Edit" && matches!(subject, Subject::Edit { .. }));
    by_name && rule.specifier.as_deref() == Some(&exact)
}

/// Rules that "allow always" would write: this command or this file, nothing wider.
fn suggestions(tool: &str, subject: &Subject, policy: &Policy) -> Vec<String> {
    match subject {
        // A star in it would make the rule a pattern.
        Subject::Command { line } if line.contains('*') => Vec::new(),
        Subject::Command { line } => {
            // Only what is read back as it is meant: an empty specifier would allow everything.
            let rule = Rule { tool: tool.to_owned(), specifier: Some(line.trim().to_owned()) };
            let text = rule.to_string();
            if text.parse().as_ref() == Ok(&rule) { vec![text] } else { Vec::new() }
        }
        Subject::Edit { path, .. } | Subject::Read { path, .. } if path.to_string().contains('*') => Vec::new(),
        Subject::Edit { path, .. } => match own_folder(policy).map(|own| path.as_path().strip_prefix(own.as_path())) {
            Some(Ok(below)) => vec![format!("Edit(/{})", below.display())],
            Some(Err(_)) | None => vec![format!("Edit(/{path})")],
        },
        Subject::Read { path, .. } => vec![format!("Read(/{path})")],
        Subject::Agent { kind } => vec![format!("{tool}({kind})")],
        Subject::Other => vec![tool.to_owned()],
    }
}

/// The session's own folder, while its tools are there: a rule counts from it.
fn own_folder(policy: &Policy) -> Option<&AbsPath> {
    policy.scope.allowed.first().filter(|own| **own == policy.scope.cwd)
}

#[cfg(test)]
mod tests;
