//! A transcript for a person: one durable event, a few lines. Shared with the plain view.

use agentd_tui::plain::describe;
use agentd_types::Event;

use crate::exit::Failure;
use crate::output::Out;

pub fn print(event: &Event) -> Result<(), Failure> {
    match describe(event) {
        Some(text) => Out::line(&text),
        None => Ok(()),
    }
}
