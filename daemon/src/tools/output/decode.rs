//! Bytes that come in pieces as text: a character cut between two pieces is whole in the second. It keeps at most 3 bytes.

/// Remembers the unfinished character at the end of the last piece.
#[derive(Debug, Default)]
pub struct Decoder {
    broken: Vec<u8>,
}

impl Decoder {
    /// The text of the next piece; what is no text, and zero bytes, come out as U+FFFD.
    pub fn decode(&mut self, piece: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.broken);
        all.extend_from_slice(piece);
        let whole = whole_end(&all).len();
        self.broken = all.split_off(whole);
        super::shown(&all)
    }
}

/// Without the unfinished character at the end, if there is one.
pub fn whole_end(bytes: &[u8]) -> &[u8] {
    // The last character starts in the last four bytes.
    let start = (1..=bytes.len().min(4)).map(|back| bytes.len() - back).find(|at| bytes[*at] & 0xc0 != 0x80);
    match start {
        Some(at) if std::str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none()) => &bytes[..at],
        Some(_) | None => bytes,
    }
}

/// Without the rest of a character at the start, if there is one.
pub fn whole_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}
