//! How delivered commands are worded for the model: author, order and boundaries kept, content word for word.

use agentd_types::queue::{CommandMode, QueuedCommand};
use agentd_types::{Block, Origin};

/// The blocks of one user message for a batch of commands. One person's single prompt stays as typed.
#[must_use]
pub fn as_message(batch: &[&QueuedCommand]) -> Vec<Block> {
    match batch {
        [only] if matches!(only.origin, Origin::Person { .. }) => only.content.clone(),
        several => several.iter().flat_map(|command| wrapped(command)).collect(),
    }
}

/// The blocks of a command that joins a running submission.
#[must_use]
pub fn as_attachment(command: &QueuedCommand) -> Vec<Block> {
    wrapped(command)
}

fn wrapped(command: &QueuedCommand) -> Vec<Block> {
    match command.mode {
        // It says itself what it is.
        CommandMode::TaskNotification => return command.content.clone(),
        CommandMode::Prompt | CommandMode::Shell => {}
    }
    let mut blocks = Vec::with_capacity(command.content.len() + 2);
    blocks.push(Block::text(format!("<message from=\"{}\">", escaped(&author(&command.origin)))));
    blocks.extend(command.content.iter().cloned());
    blocks.push(Block::text("</message>"));
    blocks
}

/// A typed origin in words; a task can never look like a person.
fn author(origin: &Origin) -> String {
    match origin {
        Origin::Person { client } => format!("user at {client}"),
        Origin::Bridge { name, author } => format!("user {author} via {name}"),
        Origin::Task { id } => format!("background task {id} (automatic, not a person)"),
        Origin::Hook { event } => format!("hook {event} (automatic, not a person)"),
        Origin::Session { id } => format!("session {id} (automatic, not a person)"),
    }
}

/// Names come from clients: they must not be able to close the tag.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
