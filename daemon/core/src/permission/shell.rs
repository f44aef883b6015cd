//! Shell command lines as far as they can be judged without a grammar: anything not plainly simple is not simple.

/// Characters after which a line may be more than one plain command.
const TRICKS: &[char] =
    &[';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '\n', '\r', '\\', '"', '\'', '*', '?', '[', ']', '#', '~', '!', '\0'];
/// Words that only start another command.
const WRAPPERS: &[&str] = &[
    "env", "xargs", "sudo", "doas", "nohup", "nice", "time", "timeout", "exec", "command", "eval", "bash", "sh", "zsh", "setsid", "stdbuf",
];
/// Commands that read and print only, whatever their arguments.
const READERS: &[&str] =
    &["ls", "pwd", "cat", "head", "tail", "wc", "echo", "true", "whoami", "uname", "date", "basename", "dirname", "stat", "file"];
/// Subcommands of git that read only, with any plain argument but those that write files.
const GIT_READERS: &[&str] = &["status", "log", "diff", "show", "blame", "ls-files", "rev-parse"];

/// One plain command: no operator, substitution, redirect, quote or glob.
#[must_use]
pub fn is_simple(line: &str) -> bool {
    !line.trim().is_empty() && !line.contains(TRICKS)
}

/// A simple command from the table of readers.
#[must_use]
pub fn is_read_only(line: &str) -> bool {
    if !is_simple(line) {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["date", rest @ ..] => rest.is_empty(),
        ["git", sub, rest @ ..] => {
            GIT_READERS.contains(sub)
                && !rest.iter().any(|word| word.starts_with("--output") || word.starts_with("--ext-diff") || *word == "-O")
        }
        [command, ..] => READERS.contains(command),
        [] => false,
    }
}

/// Everything in the line that may be a command: the whole, every part between operators, and what wrappers start.
/// Errs towards more parts: deny and ask rules are tried on each.
#[must_use]
pub fn parts(line: &str) -> Vec<String> {
    let mut parts = vec![line.trim().to_owned()];
    let operators: &[char] = &[';', '&', '|', '\n', '(', ')', '`', '{', '}', '$', '<', '>', '"', '\''];
    for piece in line.split(operators) {
        let words: Vec<&str> = piece.split_whitespace().collect();
        // Leading assignments, then every word behind a wrapper, may be the command's name.
        let start = words.iter().position(|word| !word.contains('=')).unwrap_or(words.len());
        let wrapped = words.get(start).is_some_and(|word| is_wrapper(word));
        let ends = if wrapped { words.len() } else { (start + 1).min(words.len()) };
        parts.extend((start..ends).map(|at| words[at..].join(" ")));
    }
    parts.retain(|part| !part.is_empty());
    parts.dedup();
    parts
}

fn is_wrapper(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    WRAPPERS.contains(&name)
}
