//! What the store must know of events, without knowing it: rows of the index and lines of cold copies. It decides nothing.

use std::sync::Arc;

use agentd_core::session::Summary;
use agentd_types::{Event, Seq};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use super::codec::Codec;
use crate::store::{Folded, Label, Projector, Row, Standing};

/// Labels of names.
const NAMES: u8 = 1;
/// Labels of the keys sessions were created with.
const KEYS: u8 = 2;

/// The label of every session called `name`.
#[must_use]
pub fn name_label(name: &str) -> Label {
    Label::new(NAMES, name)
}

/// The label of the session created with `key`.
#[must_use]
pub fn key_label(key: &str) -> Label {
    Label::new(KEYS, key)
}

/// A row of the index, read.
///
/// # Errors
/// The row is none of this version's.
pub fn summary(row: &Row) -> Result<Summary, String> {
    serde_json::from_slice(&row.row).map_err(|error| format!("the row of session {} cannot be read: {error}", row.session))
}

/// Projects events as [`Codec`] encodes them.
pub struct SessionProjector {
    codec: Arc<dyn Codec>,
}

impl SessionProjector {
    #[must_use]
    pub fn new(codec: Arc<dyn Codec>) -> SessionProjector {
        SessionProjector { codec }
    }
}

/// What a line holds beside the event, where its JSON alone does not give the same bytes back.
#[derive(Deserialize)]
struct Raw {
    seq: Seq,
    raw: Option<String>,
}

impl Projector for SessionProjector {
    fn fold(&self, row: Option<&[u8]>, events: &[Bytes]) -> Result<Folded, String> {
        let mut summary: Option<Summary> = row.map(serde_json::from_slice).transpose().map_err(|error| error.to_string())?;
        for bytes in events {
            let event = self.codec.read(bytes).map_err(|error| error.to_string())?;
            match &mut summary {
                Some(summary) => summary.fold(&event),
                None => summary = Some(Summary::open(&event).map_err(|error| error.to_string())?),
            }
        }
        let summary = summary.ok_or("there is no event")?;
        let row = serde_json::to_vec(&summary).map_err(|error| error.to_string())?;
        // A deleted one still has to be forgotten.
        let unsettled = summary.wants_to_run() || summary.is_deleted();
        let standing = if unsettled { Standing::Unsettled } else { Standing::Settled };
        let name = summary.info.name.as_deref().map(name_label);
        let key = summary.creation_key.as_deref().map(key_label);
        Ok(Folded { row, standing, labels: name.into_iter().chain(key).collect() })
    }

    /// The event as JSON, to read and to grep. Raw JSON inside it (a tool's input) does not survive being parsed byte for
    /// byte: then the event's own bytes follow in `raw`.
    fn write_line(&self, seq: Seq, event: &Bytes) -> Vec<u8> {
        let read = self.codec.read(event).ok();
        let line =
            read.as_ref().and_then(|event| serde_json::to_vec(event).ok()).unwrap_or_else(|| format!("{{\"seq\":{seq}}}").into_bytes());
        let same =
            || serde_json::from_slice::<Event>(&line).is_ok_and(|back| Some(&back) == read.as_ref() && self.codec.event(&back) == *event);
        if !line.contains(&b'\n') && same() {
            return line;
        }
        let mut line = one_line(line, seq);
        line.pop();
        line.extend_from_slice(b",\"raw\":\"");
        line.extend_from_slice(STANDARD.encode(event).as_bytes());
        line.extend_from_slice(b"\"}");
        line
    }

    fn read_line(&self, line: &[u8]) -> Result<(Seq, Bytes), String> {
        let Raw { seq, raw } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match raw {
            Some(raw) => Ok((seq, STANDARD.decode(raw).map_err(|error| error.to_string())?.into())),
            None => {
                let event: Event = serde_json::from_slice(line).map_err(|error| error.to_string())?;
                Ok((event.seq, self.codec.event(&event)))
            }
        }
    }
}

/// Raw JSON may hold line breaks, which mean nothing between its tokens: a line has none.
fn one_line(mut line: Vec<u8>, seq: Seq) -> Vec<u8> {
    // Within a JSON string a line break is always escaped, so each of these stands between tokens.
    line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    if line.last() == Some(&b'}') { line } else { format!("{{\"seq\":{seq}}}").into_bytes() }
}

#[cfg(test)]
mod tests;
