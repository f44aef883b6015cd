//! A transcript for a person: a few lines a durable event, and what a crash left of an answer. Shared with the plain view.

use std::collections::BTreeMap;

use agentd_client::printable;
use agentd_tui::plain::describe;
use agentd_types::question::Asks;
use agentd_types::system::System;
use agentd_types::{Body, Event, MessageId};

use crate::exit::Failure;
use crate::output::Out;

/// Prints events in their order.
#[derive(Debug, Default)]
pub struct Transcript {
    /// What streamed of an answer that is not whole yet: the text of blocks that did not come to their end.
    half: Option<(MessageId, BTreeMap<u32, String>)>,
}

impl Transcript {
    pub fn print(&mut self, event: &Event) -> Result<(), Failure> {
        self.lines(event).iter().try_for_each(|line| Out::line(line))
    }

    fn lines(&mut self, event: &Event) -> Vec<String> {
        let mut lines = Vec::new();
        match &event.body {
            Body::System(System::Partial(partial)) => {
                let (message, blocks) = self.half.get_or_insert_with(|| (partial.message, BTreeMap::new()));
                if *message != partial.message {
                    (*message, *blocks) = (partial.message, BTreeMap::new());
                }
                for piece in &partial.pieces {
                    blocks.entry(piece.block).or_default().push_str(&piece.text);
                    if piece.complete {
                        blocks.remove(&piece.block);
                    }
                }
            }
            // It supersedes what streamed of it, but for the rest of one that a crash cut.
            Body::Assistant(message) if message.stop_reason.is_some() => self.half = None,
            Body::Tombstone { message, .. } => {
                self.half.take_if(|(half, _)| half == message);
            }
            Body::Question(question) if question.asks == Asks::Resume => {
                let rest = self.half.take().map(|(_, blocks)| blocks).unwrap_or_default();
                let rest = rest.into_values().filter(|text| !text.trim().is_empty());
                lines.extend(rest.map(|text| printable(&format!("{text}\n· cut off there: partial, not sent")).into_owned()));
            }
            Body::Result(_) => self.half = None,
            Body::Assistant(_)
            | Body::System(_)
            | Body::Question(_)
            | Body::User(_)
            | Body::Attachment(_)
            | Body::PermissionRequest(_)
            | Body::PermissionResolved(_)
            | Body::Answer(_)
            | Body::Queue(_)
            | Body::Task(_) => {}
        }
        lines.extend(describe(event));
        lines
    }
}

#[cfg(test)]
mod tests;
