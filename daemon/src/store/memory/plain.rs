//! A projector that takes events for what they are: bytes. For tests and the simulation; it never fails.

use agentd_types::Seq;
use bytes::Bytes;

use crate::store::{Folded, Label, Projector, Standing};

/// Rows are the last event's text, an event that starts with `+` leaves its session unsettled, the first word of a session's
/// first event is its label.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Plain {
    /// What [`Plain`] labels a session with whose first event begins with `word`.
    #[must_use]
    pub fn label(word: &str) -> Label {
        Label::new(0, word)
    }
}

impl Projector for Plain {
    fn fold(&self, row: Option<&[u8]>, events: &[Bytes]) -> Result<Folded, String> {
        let first = events.first().ok_or("no event")?;
        let word = match row.and_then(|row| row.split(|byte| *byte == b'|').next()) {
            Some(word) => word.to_vec(),
            None => first.split(|byte| *byte == b' ' || *byte == b'|').next().unwrap_or_default().to_vec(),
        };
        let last = events.last().unwrap_or(first);
        let standing = if last.starts_with(b"+") { Standing::Unsettled } else { Standing::Settled };
        let label = Plain::label(&String::from_utf8_lossy(&word));
        Ok(Folded { row: [&word, b"|".as_slice(), last].concat(), standing, labels: vec![label] })
    }

    fn write_line(&self, seq: Seq, event: &Bytes) -> Vec<u8> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut line = format!("{{\"seq\":{seq},\"hex\":\"").into_bytes();
        line.extend(event.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
        line.extend_from_slice(b"\"}");
        line
    }

    fn read_line(&self, line: &[u8]) -> Result<(Seq, Bytes), String> {
        let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        let (seq, hex) = line.strip_prefix("{\"seq\":").and_then(|rest| rest.split_once(",\"hex\":\"")).ok_or("no such line")?;
        let hex = hex.strip_suffix("\"}").filter(|hex| hex.len() % 2 == 0).ok_or("no such line")?;
        let digits = (0..hex.len()).step_by(2).map(|at| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()));
        let event: Option<Vec<u8>> = digits.collect();
        Ok((Seq(seq.parse().map_err(|_| "no number")?), event.ok_or("no digits")?.into()))
    }
}
