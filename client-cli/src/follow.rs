//! Following one command from its submission to its result: prints as it goes, asks the person where there is one.

use std::io::BufRead;

use agentd_client::{Attach, Connection, InterruptOutcome, Update};
use agentd_types::live::DeltaKind;
use agentd_types::outcome::SubmissionResult;
use agentd_types::permission::{AllowScope, Decision, PermissionRequest};
use agentd_types::system::System;
use agentd_types::{Body, CommandId, Event, MessageId, SessionId, SubmissionId};

use crate::args::Format;
use crate::exit::{Exit, Failure};
use crate::output::{Out, result, stream};

/// Who answers when a call asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// The person at this terminal.
    Person,
    /// Somebody else, or nobody.
    Others,
}

/// How to follow.
#[derive(Debug, Clone, Copy)]
pub struct How {
    pub format: Format,
    pub partials: bool,
    pub asking: Asking,
}

/// Follows `command` until its submission has ended or parked.
pub async fn follow(
    connection: &Connection,
    mut attach: Attach,
    session: SessionId,
    command: CommandId,
    how: How,
) -> Result<Exit, Failure> {
    let mut following = Following { session, how, command, submission: None, open: Vec::new(), streamed: None, in_line: false };
    loop {
        let update = tokio::select! {
            update = attach.next() => update?,
            _ = tokio::signal::ctrl_c() => {
                following.interrupt(connection).await?;
                continue;
            }
        };
        match update {
            Update::Event(event) => {
                if let Some(exit) = following.event(connection, &event).await? {
                    return Ok(exit);
                }
            }
            Update::Delta(delta) => following.delta(&delta)?,
            Update::Draining => return Err(Failure::Other("the daemon is shutting down; the session goes on when it is back".to_owned())),
            Update::Snapshot(_) | Update::Progress(_) | Update::Lagged { .. } | Update::Link(_) => {}
        }
    }
}

struct Following {
    session: SessionId,
    how: How,
    command: CommandId,
    /// The submission that took the command.
    submission: Option<SubmissionId>,
    open: Vec<PermissionRequest>,
    /// The message whose text was printed as it came.
    streamed: Option<MessageId>,
    in_line: bool,
}

impl Following {
    async fn event(&mut self, connection: &Connection, event: &Event) -> Result<Option<Exit>, Failure> {
        if let Body::User(user) = &event.body
            && user.commands.contains(&self.command)
        {
            self.submission = event.submission;
        }
        if self.submission.is_none() || event.submission != self.submission {
            return Ok(None);
        }
        if self.how.format == Format::StreamJson {
            stream::lines(event).iter().try_for_each(Out::json)?;
        }
        match &event.body {
            Body::Assistant(message) => self.assistant(message)?,
            Body::PermissionRequest(request) => {
                self.open.push(request.clone());
                if self.how.asking == Asking::Person {
                    self.ask(connection, request).await?;
                }
            }
            Body::PermissionResolved(resolved) => {
                self.open.retain(|it| it.id != resolved.id);
                self.note(&format!("· {} by {}", resolved.decision.word(), resolved.by));
            }
            Body::System(System::Parked { .. }) => return self.parked().map(Some),
            Body::System(System::ApiRetry(retry)) => {
                self.note(&format!("· {}: asked again in {} ms ({}/{})", retry.error, retry.delay_ms, retry.attempt, retry.max_retries));
            }
            Body::System(System::Init(init)) if init.api_key_source == "rehearsal" => {
                self.note("· rehearsal: a script plays, no language model is involved");
            }
            Body::Result(submission) => return self.result(submission).map(Some),
            Body::User(_) | Body::Attachment(_) | Body::System(_) | Body::Tombstone { .. } | Body::Queue(_) => {}
        }
        Ok(None)
    }

    fn delta(&mut self, delta: &agentd_types::live::Delta) -> Result<(), Failure> {
        match self.how.format {
            Format::StreamJson if self.how.partials => Out::json(&stream::delta(&self.session.to_string(), delta)),
            Format::Text if delta.kind == DeltaKind::Text => {
                self.streamed = Some(delta.message);
                self.in_line = !delta.text.ends_with('\n');
                Out::piece(&delta.text)
            }
            Format::Text | Format::Json | Format::StreamJson => Ok(()),
        }
    }

    fn assistant(&mut self, message: &agentd_types::event::AssistantMessage) -> Result<(), Failure> {
        if self.how.format != Format::Text {
            return Ok(());
        }
        let text = agentd_types::content::plain_text(&message.content);
        if self.streamed != Some(message.message) && !text.is_empty() {
            Out::line(&text)?;
        }
        self.end_line()?;
        for block in &message.content {
            if let agentd_types::Block::ToolUse { name, input, .. } = block {
                let input: String = input.as_str().chars().take(200).collect();
                self.note(&format!("→ {name} {input}"));
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.in_line) { Out::piece("\n") } else { Ok(()) }
    }

    /// A yes or a no from the terminal; anything else is asked again.
    async fn ask(&mut self, connection: &Connection, request: &PermissionRequest) -> Result<(), Failure> {
        self.end_line()?;
        let question = format!("? {} {}\n  {}\n  allow? [y/n] ", request.tool_name, request.input, request.reason);
        let decision =
            tokio::task::spawn_blocking(move || ask_person(&question)).await.map_err(|error| Failure::Other(error.to_string()))?;
        match connection.respond(&self.session.to_string(), request.id, decision).await {
            Ok(_) => Ok(()),
            // Somebody else was faster: that is said by the event.
            Err(error) if error.kind == agentd_client::Kind::AlreadyAnswered => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn parked(&mut self) -> Result<Exit, Failure> {
        self.end_line()?;
        match self.how.format {
            Format::Text => {}
            Format::Json | Format::StreamJson => Out::json(&result::parked(self.session, &self.open))?,
        }
        for request in &self.open {
            self.note(&format!("parked: {} {} waits for an answer", request.tool_name, request.input));
            self.note(&format!("  answer it: agent allow {0} {1}   or   agent deny {0} {1}", self.session, request.id));
        }
        Ok(Exit::Parked)
    }

    fn result(&mut self, submission: &SubmissionResult) -> Result<Exit, Failure> {
        self.end_line()?;
        if self.how.format == Format::Json {
            Out::json(&result::object(self.session, submission))?;
        }
        if !submission.detail.is_empty() {
            self.note(&format!("· {}: {}", submission.terminal.as_str(), submission.detail));
        }
        Ok(Exit::of(submission.terminal))
    }

    async fn interrupt(&mut self, connection: &Connection) -> Result<(), Failure> {
        self.note("· interrupting");
        match connection.interrupt(&self.session.to_string(), self.submission).await? {
            InterruptOutcome::Ended { .. } | InterruptOutcome::AlreadyEnded | InterruptOutcome::NothingRunning => Ok(()),
        }
    }

    fn note(&self, text: &str) {
        Out::note(text);
    }
}

fn ask_person(question: &str) -> Decision {
    let mut asked = question.to_owned();
    loop {
        Out::note(&asked);
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return Decision::Deny { message: Some("the terminal was closed".to_owned()) },
            Ok(_) => {}
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Decision::Allow { scope: AllowScope::Once, updated_input: None },
            "n" | "no" => return Decision::Deny { message: None },
            _ => "  y or n? ".clone_into(&mut asked),
        }
    }
}
