//! What a run prints, by its format: the answer, one result object, or a line for everything. It never asks anybody.

use std::io::IsTerminal;

use agentd_client::{Piece, Rest, Streamed, printable};
use agentd_types::event::AssistantMessage;
use agentd_types::live::{Delta, MessageSoFar};
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::system::System;
use agentd_types::{Block, Body, Event, MessageId, SessionId};

use super::ordered::Ordered;
use super::result::{self, Waiting};
use super::{Out, stream};
use crate::args::Format;
use crate::exit::Failure;

/// Whether pieces of messages are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    Included,
    LeftOut,
}

/// One run's output.
pub struct Printer {
    session: SessionId,
    look: Look,
}

enum Look {
    /// For a person: text as it comes.
    Live {
        streamed: Streamed,
        in_line: Option<u32>,
    },
    /// For a pipe: the answer, when it is there.
    Answer,
    Object,
    Lines {
        ordered: Option<Ordered>,
    },
}

impl Printer {
    /// As `format` says; text that goes to a terminal is shown as it comes.
    pub fn new(session: SessionId, format: Format, pieces: Pieces) -> Printer {
        let look = match format {
            Format::Text if std::io::stdout().is_terminal() => Look::Live { streamed: Streamed::default(), in_line: None },
            Format::Text => Look::Answer,
            Format::Json => Look::Object,
            Format::StreamJson => Look::Lines { ordered: (pieces == Pieces::Included).then(|| Ordered::new(session)) },
        };
        Printer { session, look }
    }

    /// Whether it has a use for deltas.
    pub fn wants_pieces(&self) -> bool {
        match &self.look {
            Look::Live { .. } => true,
            Look::Lines { ordered } => ordered.is_some(),
            Look::Answer | Look::Object => false,
        }
    }

    /// A message of a subagent: programs see it, under the call that started it.
    pub fn subagent(&mut self, event: &Event) -> Result<(), Failure> {
        match &self.look {
            Look::Lines { .. } => stream::lines(event).iter().try_for_each(Out::json),
            Look::Live { .. } | Look::Answer | Look::Object => Ok(()),
        }
    }

    /// A durable event of the run.
    pub fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match &mut self.look {
            Look::Lines { ordered: Some(ordered) } => ordered.event(event).iter().try_for_each(Out::json)?,
            Look::Lines { ordered: None } => stream::lines(event).iter().try_for_each(Out::json)?,
            Look::Live { .. } | Look::Answer | Look::Object => {}
        }
        match &event.body {
            Body::Assistant(message) => self.assistant(message),
            Body::Tombstone { message, reason } => self.taken_back(*message, reason),
            Body::System(System::ApiRetry(retry)) => {
                let (attempt, most) = (retry.attempt, retry.max_retries);
                self.note(&format!("· {}: asked again in {} ms ({attempt}/{most})", retry.error, retry.delay_ms))
            }
            Body::System(System::ModelFallback(fallback)) => {
                self.note(&format!("· {} is asked from here on: {}", fallback.to, fallback.reason))
            }
            Body::System(System::Notice { text }) => self.note(&format!("· {text}")),
            Body::System(System::Init(init)) if init.api_key_source == "rehearsal" => {
                self.note("· rehearsal: a script plays, no language model is involved")
            }
            Body::Result(submission) => self.result(submission),
            Body::System(_)
            | Body::User(_)
            | Body::Attachment(_)
            | Body::PermissionRequest(_)
            | Body::PermissionResolved(_)
            | Body::Question(_)
            | Body::Answer(_)
            | Body::Queue(_)
            | Body::Task(_) => Ok(()),
        }
    }

    fn taken_back(&mut self, message: MessageId, reason: &str) -> Result<(), Failure> {
        let shown = match &mut self.look {
            Look::Live { streamed, .. } => streamed.drop_message(message),
            Look::Answer | Look::Object | Look::Lines { .. } => false,
        };
        if shown { self.note(&format!("· taken back: {reason}")) } else { Ok(()) }
    }

    /// A piece of a message.
    pub fn delta(&mut self, delta: &Delta) -> Result<(), Failure> {
        match &mut self.look {
            Look::Live { streamed, in_line } => streamed.delta(delta).map_or(Ok(()), |piece| live(in_line, piece)),
            Look::Lines { ordered: Some(ordered) } => ordered.delta(delta).iter().try_for_each(Out::json),
            Look::Lines { ordered: None } | Look::Answer | Look::Object => Ok(()),
        }
    }

    /// The message in progress when a link was made.
    pub fn snapshot(&mut self, message: &MessageSoFar) -> Result<(), Failure> {
        match &mut self.look {
            Look::Live { streamed, in_line } => streamed.snapshot(message).into_iter().try_for_each(|piece| live(in_line, piece)),
            Look::Lines { .. } | Look::Answer | Look::Object => Ok(()),
        }
    }

    /// For a person, on stderr, below what was printed.
    pub fn note(&mut self, text: &str) -> Result<(), Failure> {
        self.end_line()?;
        Out::note(text);
        Ok(())
    }

    /// It waits for an answer that nobody here gives.
    pub fn parked(&mut self, waiting: &Waiting<'_>) -> Result<(), Failure> {
        self.end_line()?;
        match &self.look {
            Look::Live { .. } | Look::Answer => {}
            Look::Object | Look::Lines { .. } => Out::json(&result::parked(waiting))?,
        }
        for question in waiting.questions {
            Out::note(&agentd_tui::plain::asked(question));
            Out::note(&format!("  answer it: agent answer {} {} CHOICE", waiting.session, question.id));
        }
        for request in waiting.open {
            Out::note(&format!("parked: {} {} waits for an answer (request {})", request.tool_name, request.input, request.id));
            Out::note(&format!("  answer it: agent allow {0} {1}   or   agent deny {0} {1}", waiting.session, request.id));
        }
        Ok(())
    }

    fn result(&mut self, submission: &SubmissionResult) -> Result<(), Failure> {
        self.end_line()?;
        match &self.look {
            Look::Answer if submission.terminal == TerminalName::Completed && !submission.text.is_empty() => Out::line(&submission.text)?,
            Look::Object => Out::json(&result::object(self.session, submission))?,
            Look::Answer | Look::Live { .. } | Look::Lines { .. } => {}
        }
        if submission.terminal != TerminalName::Completed || !submission.detail.is_empty() {
            let detail = if submission.detail.is_empty() { String::new() } else { format!(": {}", submission.detail) };
            Out::note(&format!("· {}{detail}", submission.terminal.as_str()));
        }
        Ok(())
    }

    fn assistant(&mut self, message: &AssistantMessage) -> Result<(), Failure> {
        let calls: Vec<String> = message.content.iter().filter_map(called).collect();
        match &mut self.look {
            Look::Live { streamed, in_line } => {
                let (Rest::Tail(pieces) | Rest::Again(pieces)) = streamed.finish(message);
                pieces.into_iter().try_for_each(|piece| live(in_line, piece))?;
            }
            // What is said on the way is no answer.
            Look::Answer if !calls.is_empty() => {
                let text = agentd_types::content::plain_text(&message.content);
                if !text.is_empty() {
                    Out::note(&text);
                }
            }
            Look::Answer => {}
            Look::Object | Look::Lines { .. } => return Ok(()),
        }
        self.end_line()?;
        for call in calls {
            Out::note(&call);
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        match &mut self.look {
            Look::Live { in_line, .. } => in_line.take().map_or(Ok(()), |_| Out::piece("\n")),
            Look::Answer | Look::Object | Look::Lines { .. } => Ok(()),
        }
    }
}

fn live(in_line: &mut Option<u32>, piece: Piece<'_>) -> Result<(), Failure> {
    if in_line.is_some_and(|before| before != piece.block) {
        Out::piece("\n")?;
    }
    *in_line = (!piece.text.ends_with('\n')).then_some(piece.block);
    Out::piece(&printable(piece.text))
}

fn called(block: &Block) -> Option<String> {
    match block {
        Block::ToolUse { name, input, .. } => Some(agentd_tui::plain::call(name, input.as_str())),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Other { .. } => None,
    }
}
