//! A text made comparable: line ends, quotes and spaces that look alike become one, and every place of the result is known
//! in the text. It decides no match.

use std::borrow::Cow;

/// How much is taken for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Likeness {
    /// Every character itself.
    Exact,
    /// `\r\n` is `\n`.
    LineEnds,
    /// Curly quotes are straight ones, and every kind of space is a space.
    Characters,
    /// Spaces and tabs at a line's end are nothing.
    Trailing,
}

/// A text as it is compared.
pub struct Alike<'a> {
    pub text: Cow<'a, str>,
    /// Where places part: (here, in the original), each after something that became shorter. The first is (0, 0).
    shifts: Vec<(usize, usize)>,
}

impl<'a> Alike<'a> {
    #[must_use]
    pub fn new(original: &'a str, likeness: Likeness) -> Alike<'a> {
        let mut shifts = vec![(0, 0)];
        if likeness == Likeness::Exact {
            return Alike { text: Cow::Borrowed(original), shifts };
        }
        let mut text = String::with_capacity(original.len());
        let mut at = 0;
        while let Some(c) = original[at..].chars().next() {
            let (taken, same) = token(&original[at..], c, likeness);
            text.push(same);
            at += taken;
            if taken != same.len_utf8() {
                shifts.push((text.len(), at));
            }
        }
        Alike { text: Cow::Owned(text), shifts }
    }

    /// The original's place of a place here.
    #[must_use]
    pub fn original(&self, at: usize) -> usize {
        let (here, there) = self.shifts[self.shifts.partition_point(|shift| shift.0 <= at) - 1];
        there + (at - here)
    }

    /// The place here of one in the original; one inside of something that became a single character is its start.
    #[must_use]
    pub fn start(&self, original: usize) -> usize {
        let next = self.shifts.partition_point(|shift| shift.1 <= original);
        let (here, there) = self.shifts[next - 1];
        let plain = here + (original - there);
        self.shifts.get(next).map_or(plain, |after| plain.min(after.0 - 1))
    }

    /// The same, but its end.
    #[must_use]
    pub fn end(&self, original: usize) -> usize {
        let start = self.start(original);
        if self.original(start) == original { start } else { start + 1 }
    }
}

/// Bytes at the front of `rest` (which starts with `c`) that are one character to us, and that character.
fn token(rest: &str, c: char, likeness: Likeness) -> (usize, char) {
    if likeness == Likeness::Trailing && (c == '\n' || c == '\r' || is_space(c)) {
        let after = rest.trim_start_matches(is_space);
        let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
        if let Some(after) = after {
            return (rest.len() - after.len(), '\n');
        }
    }
    if rest.starts_with("\r\n") {
        return (2, '\n');
    }
    let same = match (likeness, c) {
        (Likeness::Exact | Likeness::LineEnds, _) => c,
        (Likeness::Characters | Likeness::Trailing, '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}') => '\'',
        (Likeness::Characters | Likeness::Trailing, '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}') => '"',
        (Likeness::Characters | Likeness::Trailing, c) if c != '\t' && is_space(c) => ' ',
        (Likeness::Characters | Likeness::Trailing, _) => c,
    };
    (c.len_utf8(), same)
}

/// Spaces inside a line.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

#[cfg(test)]
mod tests;
