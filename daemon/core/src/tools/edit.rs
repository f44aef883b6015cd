//! A text edit as a function: unambiguous, byte-exact outside what it replaces. It touches no file.

use std::borrow::Cow;

use super::alike::{Alike, Likeness};
use super::line_ends;

/// Which matches are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// The only one there may be.
    Only,
    All,
}

/// The edited text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    pub replaced: usize,
    /// Lines of the new text that the first replacement covers, from 1.
    pub lines: (usize, usize),
    /// How alike what was replaced was to what was asked for.
    pub likeness: Likeness,
}

/// Why nothing was edited; says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("old_string is empty; to make or replace a whole file use Write")]
    Empty,
    #[error("old_string and new_string are the same: nothing would change")]
    NoChange,
    #[error("old_string was not found{}; read the file again and copy the text exactly, without line numbers", like(.near))]
    NotFound { near: Vec<usize> },
    #[error("old_string was found {count} times (lines {}); add surrounding text until it is unique, or set replace_all", lines(.at))]
    Several { count: usize, at: Vec<usize> },
    #[error(
        "old_string was not found as it is, but like it but for quotes or spaces {count} times (lines {}); copy the one you mean exactly",
        lines(.at)
    )]
    SeveralAlike { count: usize, at: Vec<usize> },
}

/// Lines that an error lists at most.
const LISTED: usize = 10;
/// Lines like the first wanted one that an error names at most.
const NEAR: usize = 3;

fn lines(at: &[usize]) -> String {
    at.iter().take(LISTED).map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn like(near: &[usize]) -> String {
    if near.is_empty() { String::new() } else { format!(" (its first line is like line {})", lines(near)) }
}

/// Replaces `old` by `new`. What both have in common at their ends stays as it is in the text, byte for byte; new line ends
/// are made those of the place, unless `new` names its CRs.
///
/// Where `old` is not found as it is, it is looked for with other line ends; then, if that is one place only, with other
/// quotes and spaces, and at last with other spaces at line ends. An `old` that names its CRs is taken as it is.
///
/// # Errors
/// [`EditError`]; the text is unchanged then.
pub fn edit(text: &str, old: &str, new: &str, which: Which) -> Result<Edited, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if old == new {
        return Err(EditError::NoChange);
    }
    for likeness in ladder(old, which) {
        let (file, wanted) = (Alike::new(text, *likeness), Alike::new(old, *likeness));
        let mut at = matches(&file.text, &wanted.text, which);
        if !old.contains('\r') && old.starts_with('\n') {
            // The second half of a line end is no line end.
            at.retain(|at| !file.text[..*at].ends_with('\r'));
        }
        if at.is_empty() {
            continue;
        }
        let line_of = |at: &usize| text[..file.original(*at)].matches('\n').count() + 1;
        let listed = || at.iter().take(LISTED).map(line_of).collect();
        return match (which, likeness) {
            (Which::Only, Likeness::Exact | Likeness::LineEnds) if at.len() > 1 => {
                Err(EditError::Several { count: at.len(), at: listed() })
            }
            (Which::Only | Which::All, Likeness::Characters | Likeness::Trailing) if at.len() > 1 => {
                Err(EditError::SeveralAlike { count: at.len(), at: listed() })
            }
            (Which::Only | Which::All, _) => replace(text, &file, &wanted, &Change { at: &at, old, new }, *likeness),
        };
    }
    Err(EditError::NotFound { near: near(text, old) })
}

/// How alike it may be, the closest first.
fn ladder(old: &str, which: Which) -> &'static [Likeness] {
    match (old.contains('\r'), which) {
        (true, Which::Only | Which::All) => &[Likeness::Exact],
        (false, Which::Only) => &[Likeness::Exact, Likeness::LineEnds, Likeness::Characters, Likeness::Trailing],
        // Each place, whichever line ends it has.
        (false, Which::All) => &[Likeness::LineEnds, Likeness::Characters, Likeness::Trailing],
    }
}

/// What is put in the place of what.
struct Change<'a> {
    /// Places in the compared text.
    at: &'a [usize],
    old: &'a str,
    new: &'a str,
}

fn replace(text: &str, file: &Alike<'_>, wanted: &Alike<'_>, change: &Change<'_>, likeness: Likeness) -> Result<Edited, EditError> {
    let Change { at, old, new } = change;
    let new = match likeness {
        Likeness::Exact => Cow::Borrowed(*new),
        // As `old` was read.
        Likeness::LineEnds | Likeness::Characters | Likeness::Trailing => Cow::Owned(new.replace("\r\n", "\n")),
    };
    let new = new.as_ref();
    // What both have in common stays, in whole characters of the compared text.
    let head = wanted.start(common_start(old, new));
    let common = wanted.original(head);
    let tail = wanted.end(old.len() - common_end(&old[common..], &new[common..])).max(head);
    let middle = &new[common..new.len() - (old.len() - wanted.original(tail))];
    let mut out = String::with_capacity(text.len() + new.len());
    let mut done = 0;
    let mut first = None;
    for at in *at {
        let (start, end) = (file.original(at + head), file.original(at + tail));
        let whole = (file.original(*at), file.original(at + wanted.text.len()));
        out.push_str(&text[done..start]);
        if first.is_none() {
            let kept = out.len() - (start - whole.0);
            first = Some(out[..kept].matches('\n').count() + 1);
        }
        out.push_str(&line_ends::with(middle, line_ends::near(text, whole.0, whole.1)));
        done = end;
    }
    out.push_str(&text[done..]);
    if out == text {
        return Err(EditError::NoChange);
    }
    let start = first.unwrap_or(1);
    let end = start + new.trim_end_matches('\n').matches('\n').count();
    Ok(Edited { text: out, replaced: at.len(), lines: (start, end), likeness })
}

/// Bytes that both start with, in whole characters.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum()
}

/// Bytes that both end with, in whole characters.
fn common_end(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum()
}

/// Where `old` starts. A single match that another one overlaps is not the only one.
fn matches(text: &str, old: &str, which: Which) -> Vec<usize> {
    let mut at: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    if let (Which::Only, [first]) = (which, at.as_slice()) {
        let next = first + text[*first..].chars().next().map_or(1, char::len_utf8);
        if let Some(overlapping) = text[next..].find(old) {
            at.push(next + overlapping);
        }
    }
    at
}

/// Lines that are the first wanted one but for spaces around it.
fn near(text: &str, old: &str) -> Vec<usize> {
    let Some(first) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return Vec::new() };
    text.lines().zip(1..).filter(|(line, _)| line.trim() == first).map(|(_, number)| number).take(NEAR).collect()
}

#[cfg(test)]
mod tests;
