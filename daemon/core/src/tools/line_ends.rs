//! Line ends of a text: which it has, and new text with the same. It looks at `\n` and `\r\n` only; a lone `\r` is a character.

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnd {
    Lf,
    CrLf,
}

/// The one line end that all lines of `text` have; none where it has no line end, or both.
#[must_use]
pub fn only(text: &str) -> Option<LineEnd> {
    let (all, pairs) = (text.matches('\n').count(), text.matches("\r\n").count());
    match (all, pairs) {
        (0, _) => None,
        (_, 0) => Some(LineEnd::Lf),
        (all, pairs) if all == pairs => Some(LineEnd::CrLf),
        (_, _) => None,
    }
}

/// How lines end at `at..until`: inside if there is a line end, else before, else after it; LF in a text without any.
#[must_use]
pub fn near(text: &str, at: usize, until: usize) -> LineEnd {
    let found = text[at..until].find('\n').map(|found| at + found);
    let found = found.or_else(|| text[..at].rfind('\n')).or_else(|| text[until..].find('\n').map(|found| until + found));
    match found {
        Some(found) if text[..found].ends_with('\r') => LineEnd::CrLf,
        Some(_) | None => LineEnd::Lf,
    }
}

/// `text` with its line ends made `end`. A text that names CRs of its own means them: it is left as it is.
#[must_use]
pub fn with(text: &str, end: LineEnd) -> String {
    match end {
        LineEnd::CrLf if !text.contains('\r') => text.replace('\n', "\r\n"),
        LineEnd::CrLf | LineEnd::Lf => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
