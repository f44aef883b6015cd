//! A text's lines, numbered; what is left out is said. It reads no file.

use super::{Input, MAX_TEXT, Shown};
use crate::files::text::Coding;
use crate::tools::input;

/// Lines shown unless asked otherwise.
const LINES: u64 = 2_000;

pub(super) fn show(text: &str, coding: Coding, wanted: &Input) -> Result<Shown, String> {
    let note = match (coding.is_utf8(), coding.is_guessed()) {
        (true, _) => String::new(),
        (false, true) => format!("[{}, as far as its bytes tell; Edit and Write keep it]\n", coding.name()),
        (false, false) => format!("[{}; Edit and Write keep it]\n", coding.name()),
    };
    numbered(text, wanted, &note)
}

pub(super) fn show_lossy(bytes: &[u8], wanted: &Input) -> Result<Shown, String> {
    let note = "[of an encoding that cannot be told: bytes that are no text are shown as \u{fffd}; Edit will refuse this file]\n";
    numbered(&String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"), wanted, note)
}

fn numbered(text: &str, wanted: &Input, note: &str) -> Result<Shown, String> {
    let total = text.lines().count() as u64;
    let window = wanted.window(total, LINES, "line")?;
    let mut out = String::new();
    let mut shown = window.start;
    let skipped = usize::try_from(window.start).unwrap_or(usize::MAX);
    for (line, number) in text.lines().skip(skipped).zip(window.start + 1..=window.end) {
        let line = input::numbered(number, line);
        if out.len() + line.len() > MAX_TEXT {
            break;
        }
        out.push_str(&line);
        shown = number;
    }
    if shown < total {
        out.push_str(&format!("[lines {} to {shown} of {total}; go on with offset {}]\n", window.start + 1, shown + 1));
    }
    out.push_str(note);
    Ok(Shown::text(out, (window.start + 1, shown)))
}
