//! Text that others made, safe for a terminal: what would control it is shown instead. It never shortens anything.

use std::borrow::Cow;

/// The same text with every control character but line feed and tab made visible (`ESC` as `␛`); `\r\n` is a line's end.
/// What overrides the reading direction is shown as `�`, so that a command is read as it will run.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            c if controls(c) => shown.push(picture(c)),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn controls(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests;
