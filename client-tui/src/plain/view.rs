//! What has been shown of a session, and how the next update reads. It writes where it is told, and never a control code.

use std::io::{self, Write};

use agentd_client::{LinkState, Rest, Streamed, Update, printable};
use agentd_types::event::AssistantMessage;
use agentd_types::{Block, Body, Event};

use super::describe::{asked, call, describe, question};
use super::typed::Open;

/// The lines written so far.
pub struct View<W> {
    out: W,
    streamed: Streamed,
    /// The block whose line is not ended yet.
    in_line: Option<u32>,
    open: Open,
    greeted: Greeted,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Greeted {
    NotYet,
    Once,
}

impl<W: Write> View<W> {
    pub fn new(out: W) -> View<W> {
        View { out, streamed: Streamed::default(), in_line: None, open: Open::default(), greeted: Greeted::NotYet }
    }

    /// What waits for an answer, oldest first.
    pub fn open(&self) -> &Open {
        &self.open
    }

    /// Writes what `update` says.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub fn show(&mut self, update: Update) -> io::Result<()> {
        match update {
            Update::Snapshot(snapshot) => {
                if self.greeted == Greeted::NotYet {
                    let info = &snapshot.info;
                    let name = info.name.clone().unwrap_or_else(|| info.id.to_string());
                    self.line(&format!("· attached to {name}: {}, {} attached", info.state.name(), snapshot.clients.len()))?;
                    for request in &snapshot.permissions {
                        self.line(&question(request))?;
                    }
                    for open in &snapshot.questions {
                        self.line(&asked(open))?;
                    }
                    for command in &snapshot.queue {
                        self.line(&format!("· waits: {}", agentd_types::content::plain_text(&command.content)))?;
                    }
                    self.greeted = Greeted::Once;
                    self.open = Open { requests: snapshot.permissions, questions: snapshot.questions };
                }
                let Some(message) = &snapshot.in_progress else { return Ok(()) };
                let pieces: Vec<(u32, String)> =
                    self.streamed.snapshot(message).into_iter().map(|piece| (piece.block, piece.text.to_owned())).collect();
                pieces.iter().try_for_each(|(block, text)| self.piece(*block, text))
            }
            Update::Event(event) => self.event(&event),
            Update::Delta(delta) => match self.streamed.delta(&delta) {
                Some(piece) => self.piece(piece.block, piece.text),
                None => Ok(()),
            },
            // What was dropped comes with the whole message, and is told then.
            Update::Progress(_) | Update::Lagged { .. } => Ok(()),
            // A line a second would bury the rest.
            Update::Countdown(countdown) if countdown.left_ms.is_multiple_of(10_000) => {
                self.line(&format!("· asked again in {} s ({}/{})", countdown.left_ms / 1000, countdown.attempt, countdown.max_retries))
            }
            Update::Countdown(_) => Ok(()),
            Update::Link(LinkState::Lost { why }) => self.line(&format!("· the link is lost ({why}); dialling again")),
            Update::Link(LinkState::Up) => self.line("· the link is back"),
            Update::Draining => self.line("· the daemon goes down"),
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.body {
            // A subagent's does not stream: it is shown whole.
            Body::Assistant(message) if event.agent.is_none() => return self.assistant(message),
            Body::PermissionRequest(request) if !self.open.requests.iter().any(|it| it.id == request.id) => {
                self.open.requests.push(request.clone());
            }
            Body::PermissionResolved(resolved) => self.open.requests.retain(|it| it.id != resolved.id),
            Body::Question(question) if !self.open.questions.iter().any(|it| it.id == question.id) => {
                self.open.questions.push(question.clone());
            }
            Body::Answer(answered) => self.open.questions.retain(|it| it.id != answered.id),
            Body::Tombstone { message, .. } => {
                self.streamed.drop_message(*message);
            }
            Body::PermissionRequest(_)
            | Body::Question(_)
            | Body::Assistant(_)
            | Body::User(_)
            | Body::Attachment(_)
            | Body::System(_)
            | Body::Queue(_)
            | Body::Task(_)
            | Body::Result(_) => {}
        }
        match describe(event) {
            Some(text) => self.line(&text),
            None => Ok(()),
        }
    }

    /// What of it was not shown as it came, then its calls.
    fn assistant(&mut self, message: &AssistantMessage) -> io::Result<()> {
        let pieces = match self.streamed.finish(message) {
            Rest::Tail(pieces) => pieces,
            Rest::Again(pieces) => {
                self.line("· pieces were missed; the whole message:")?;
                pieces
            }
        };
        for piece in pieces {
            self.piece(piece.block, piece.text)?;
        }
        self.end_line()?;
        for block in &message.content {
            if let Block::ToolUse { name, input, .. } = block {
                self.line(&call(name, input.as_str()))?;
            }
        }
        Ok(())
    }

    fn piece(&mut self, block: u32, text: &str) -> io::Result<()> {
        if self.in_line.is_some_and(|before| before != block) {
            self.end_line()?;
        }
        self.in_line = (!text.ends_with('\n')).then_some(block);
        self.write(&printable(text))
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.in_line.take().is_some() { self.write("\n") } else { Ok(()) }
    }

    /// A line of its own.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.write(&format!("{}\n", printable(text)))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
