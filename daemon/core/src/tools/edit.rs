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

/// Replaces `old` by `new`. Where `old` has plain line ends and the text has CRLF, both are taken as CRLF.
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
    let crlf = |it: &str| it.replace("\r\n", "\n").replace('\n', "\r\n");
    let (old, new) = if !text.contains(old) && old.contains('\n') && text.contains("\r\n") {
        (crlf(old), crlf(new))
    } else {
        (old.to_owned(), new.to_owned())
    };
    let at: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
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

#[cfg(test)]
mod tests;
