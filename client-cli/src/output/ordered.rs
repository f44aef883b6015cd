//! The lines of a run with pieces, in the order that scripts know: no piece before the `init` line of its submission. It prints nothing.
//!
//! The daemon streams pieces as they come, and `init` when it is on disk, which is later.

use agentd_types::live::Delta;
use agentd_types::system::System;
use agentd_types::{Body, Event, SessionId};
use serde_json::Value;

use super::partials::Partials;
use super::stream;

/// Lines held back at most; with more than that, the order is given up.
const HELD: usize = 4096;

pub struct Ordered {
    partials: Partials,
    begun: Begun,
}

enum Begun {
    /// Held until `init`.
    No {
        held: Vec<Value>,
    },
    Yes,
}

impl Ordered {
    pub fn new(session: SessionId) -> Ordered {
        Ordered { partials: Partials::new(session), begun: Begun::No { held: Vec::new() } }
    }

    /// What may be printed upon a piece.
    pub fn delta(&mut self, delta: &Delta) -> Vec<Value> {
        let lines = self.partials.delta(delta);
        match &mut self.begun {
            Begun::Yes => lines,
            Begun::No { held } => {
                held.extend(lines);
                if held.len() > HELD { self.begin() } else { Vec::new() }
            }
        }
    }

    /// What may be printed upon a durable event.
    pub fn event(&mut self, event: &Event) -> Vec<Value> {
        let of_event = stream::lines(event);
        match &event.body {
            Body::System(System::Init(_)) => {
                let held = self.begin();
                of_event.into_iter().chain(held).collect()
            }
            Body::Assistant(message) => {
                let mut lines = self.begin();
                lines.extend(self.partials.finish(message));
                lines.extend(of_event);
                lines
            }
            Body::Result(_) => {
                let mut lines = self.begin();
                lines.extend(of_event);
                self.begun = Begun::No { held: Vec::new() };
                lines
            }
            Body::System(_)
            | Body::User(_)
            | Body::Attachment(_)
            | Body::Tombstone { .. }
            | Body::PermissionRequest(_)
            | Body::PermissionResolved(_)
            | Body::Question(_)
            | Body::Answer(_)
            | Body::Queue(_)
            | Body::Task(_) => of_event,
        }
    }

    fn begin(&mut self) -> Vec<Value> {
        match std::mem::replace(&mut self.begun, Begun::Yes) {
            Begun::No { held } => held,
            Begun::Yes => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
