//! What the model is told of a command's end: success or failure, in words. It never runs anything.

use crate::processes::{Exit, Status};

/// Commands whose exit code 1 is an answer.
const ANSWERING: &[&str] = &["grep", "rg", "egrep", "fgrep", "find", "diff", "test", "["];
/// Signals by number, as Linux numbers them on every machine we run on.
const SIGNALS: &[&str] = &[
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// How the output counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    AsSuccess,
    AsFailure,
}

/// Whether this end of `command` is a success.
#[must_use]
pub fn counts(command: &str, status: Status) -> Counts {
    match status {
        Status::Code(0) => Counts::AsSuccess,
        Status::Code(1) if answers(command) => Counts::AsSuccess,
        Status::Code(_) | Status::Signal(_) => Counts::AsFailure,
    }
}

/// The text of a command's end, its `output` in it.
#[must_use]
pub fn ended(exit: &Exit, output: &str) -> String {
    let left = still_running(&exit.survivors);
    match exit.status {
        Status::Code(0) if output.is_empty() => format!("(no output){left}"),
        Status::Code(0) => format!("{output}{left}"),
        Status::Code(code) => format!("exit code {code}{}{}{left}", child_signal(code), below(output)),
        Status::Signal(signal) => format!("ended by {}{}{left}", signal_name(signal), below(output)),
    }
}

/// The line that names who is left; nothing when nobody is.
#[must_use]
pub fn still_running(pids: &[u32]) -> String {
    if pids.is_empty() {
        return String::new();
    }
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    format!("\nstill running: pid {}", pids.join(", "))
}

/// `output` under a line; nothing when there is none.
#[must_use]
pub fn below(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("\n{output}") }
}

/// How a shell says that what it ran was ended by a signal.
fn child_signal(code: i32) -> String {
    let named = code.checked_sub(129).and_then(|at| usize::try_from(at).ok()).and_then(|at| SIGNALS.get(at));
    named.map_or_else(String::new, |name| format!(" (128 + {}: {name})", code - 128))
}

fn signal_name(signal: i32) -> String {
    let named = signal.checked_sub(1).and_then(|at| usize::try_from(at).ok()).and_then(|at| SIGNALS.get(at));
    named.map_or_else(|| format!("signal {signal}"), |name| format!("{name} (signal {signal})"))
}

/// Whether exit code 1 of the last command is an answer rather than a failure.
fn answers(command: &str) -> bool {
    let words = last_command(command);
    let mut words = words.iter().map(String::as_str).skip_while(|word| is_assignment(word));
    match (words.next(), words.next()) {
        (Some("git"), Some("diff" | "grep")) => true,
        (Some(name), _) => ANSWERING.contains(&name),
        (None, _) => false,
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The words of the last simple command, as far as quotes and operators tell: enough to know its name.
fn last_command(line: &str) -> Vec<String> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut last = Vec::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next().filter(|c| *c != '\n')),
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.extend(if c == '\\' { chars.next() } else { Some(c) });
                }
            }
            ' ' | '\t' => words.extend(word.take()),
            '|' | ';' | '&' | '\n' => {
                words.extend(word.take());
                if !words.is_empty() {
                    last = std::mem::take(&mut words);
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() { last } else { words }
}

#[cfg(test)]
mod tests;
