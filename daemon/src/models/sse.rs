//! Decodes server-sent events from bytes as they come. It never reconnects: a model's answer cannot be resumed.

use std::collections::VecDeque;

/// Bytes of one line, and of one event's data, at most.
pub const MAX_BYTES: usize = 16 << 20;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; empty where there was none.
    pub name: String,
    /// The `data` lines, joined by newlines.
    pub data: String,
}

/// The stream cannot be decoded any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("a line of the event stream is longer than {} MiB", MAX_BYTES >> 20)]
    LongLine,
    #[error("an event's data is longer than {} MiB", MAX_BYTES >> 20)]
    LongEvent,
}

/// The decoder: holds the unfinished line and the unfinished event, nothing else.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    start: Start,
    after: After,
}

/// Whether the byte order mark can still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Start {
    #[default]
    FirstLine,
    Later,
}

/// What the byte before was: a line feed right after a carriage return ends no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum After {
    #[default]
    Other,
    CarriageReturn,
}

impl Decoder {
    /// Takes the next bytes, cut anywhere, and appends the events they complete. What is unfinished when the stream ends
    /// is no event.
    ///
    /// # Errors
    /// When a line or an event passes [`MAX_BYTES`]; the decoder is of no use afterwards.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut VecDeque<SseEvent>) -> Result<(), SseError> {
        while !bytes.is_empty() {
            if self.after == After::CarriageReturn {
                self.after = After::Other;
                if let Some(rest) = bytes.strip_prefix(b"\n") {
                    bytes = rest;
                    continue;
                }
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + part.len() > MAX_BYTES {
                return Err(SseError::LongLine);
            }
            self.line.extend_from_slice(part);
            let Some((ending, rest)) = rest.split_first() else { return Ok(()) };
            if *ending == b'\r' {
                self.after = After::CarriageReturn;
            }
            bytes = rest;
            self.end_line(events)?;
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if self.start == Start::FirstLine {
            self.start = Start::Later;
            bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        }
        if bytes.is_empty() {
            self.dispatch(events);
        } else {
            // A whole line cannot end inside a character: what is invalid here is invalid.
            self.field(&String::from_utf8_lossy(bytes))?;
        }
        // The buffer goes on being used.
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn field(&mut self, line: &str) -> Result<(), SseError> {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if self.data.len() + value.len() + 1 > MAX_BYTES {
                    return Err(SseError::LongEvent);
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            // `id` and `retry` are for reconnecting, a line that begins with a colon is a comment, the rest is nothing.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, events: &mut VecDeque<SseEvent>) {
        let name = std::mem::take(&mut self.name);
        if std::mem::take(&mut self.has_data) {
            events.push_back(SseEvent { name, data: std::mem::take(&mut self.data) });
        }
    }
}

#[cfg(test)]
mod tests;
