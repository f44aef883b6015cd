//! A text edit as a function: exact, unambiguous, byte-exact outside what it replaces. It touches no file.

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
}

/// Why nothing was edited; says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("old_string is empty; to make or replace a whole file use Write")]
    Empty,
    #[error("old_string and new_string are the same: nothing would change")]
    NoChange,
    #[error("old_string was not found; read the file again and copy the text exactly, without line numbers")]
    NotFound,
    #[error("old_string was found {count} times (lines {}); add surrounding text until it is unique, or set replace_all", lines(.at))]
    Several { count: usize, at: Vec<usize> },
}

/// Lines that an error lists at most.
const LISTED: usize = 10;

fn lines(at: &[usize]) -> String {
    at.iter().take(LISTED).map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Replaces `old` by `new`. Line ends are the text's: where it has CRLF only (or `old` is found with CRLF only), plain line
/// ends of both are taken as CRLF. An `old` that names its CRs is taken as it is.
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
    let (old, new) = with_line_ends_of(text, old, new);
    if old == new {
        return Err(EditError::NoChange);
    }
    let at = matches(text, &old, which);
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    match (at.as_slice(), which) {
        ([], _) => Err(EditError::NotFound),
        ([first, ..], Which::All) | ([first], Which::Only) => {
            let start = line_of(*first);
            let end = start + new.trim_end_matches('\n').matches('\n').count();
            Ok(Edited { text: text.replace(&old, &new), replaced: at.len(), lines: (start, end) })
        }
        (several, Which::Only) => {
            Err(EditError::Several { count: several.len(), at: several.iter().take(LISTED).map(|at| line_of(*at)).collect() })
        }
    }
}

fn with_line_ends_of(text: &str, old: &str, new: &str) -> (String, String) {
    let crlf = |it: &str| it.replace("\r\n", "\n").replace('\n', "\r\n");
    let pairs = text.matches("\r\n").count();
    let crlf_only = pairs > 0 && pairs == text.matches('\n').count();
    let found_otherwise = pairs > 0 && old.contains('\n') && !text.contains(old);
    if !old.contains('\r') && (crlf_only || found_otherwise) { (crlf(old), crlf(new)) } else { (old.to_owned(), new.to_owned()) }
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

#[cfg(test)]
mod tests;
