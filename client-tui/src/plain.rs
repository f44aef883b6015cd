//! The plain view: a session line by line, and lines typed into it. It never controls the terminal.

use std::io::{BufRead, Write};

use agentd_client::{ClientError, Connection, LinkState, Submission, Update};
use agentd_types::content::ResultPart;
use agentd_types::live::DeltaKind;
use agentd_types::permission::{AllowScope, Decision};
use agentd_types::queue::{Batching, Priority, QueueChange, RunOptions};
use agentd_types::system::System;
use agentd_types::{Block, Body, Event, MessageId, RequestId};
use tokio::sync::mpsc;

/// Characters of a tool's input or result that a line shows.
const SHOWN: usize = 400;
/// Lines typed and not yet acted upon.
const TYPED: usize = 64;

/// Whether typed lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Full,
    ReadOnly,
}

/// An event in a few lines; `None` for what only programs care about.
#[must_use]
pub fn describe(event: &Event) -> Option<String> {
    let origin = event.origin.as_ref().map(ToString::to_string);
    match &event.body {
        Body::User(user) => {
            let lines: Vec<String> = user.content.iter().filter_map(|block| from_user(block, origin.as_deref())).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Body::Attachment(attachment) => Some(format!("> ({}) {}", origin.unwrap_or_default(), texts(&attachment.content))),
        Body::Assistant(message) => {
            let lines: Vec<String> = message.content.iter().filter_map(from_assistant).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Body::System(system) => from_system(system),
        Body::Tombstone { reason, .. } => Some(format!("· taken back: {reason}")),
        Body::PermissionRequest(request) => {
            Some(format!("? {} {} — {} (request {})", request.tool_name, short(request.input.as_str()), request.reason, request.id))
        }
        Body::PermissionResolved(resolved) => Some(format!("· {} by {}", resolved.decision.word(), resolved.by)),
        Body::Queue(QueueChange::Enqueued { command }) => Some(format!("· queued by {}", command.origin)),
        Body::Queue(_) => None,
        Body::Result(result) => {
            let detail = if result.detail.is_empty() { String::new() } else { format!(": {}", result.detail) };
            Some(format!("· {}{detail} ({} rounds, {})", result.terminal.as_str(), result.num_turns, result.cost))
        }
    }
}

fn from_user(block: &Block, origin: Option<&str>) -> Option<String> {
    match block {
        Block::Text { text } => Some(format!("> ({}) {text}", origin.unwrap_or("engine"))),
        Block::ToolResult { content, is_error, .. } => {
            let mark = if *is_error { "✗" } else { "←" };
            let text: Vec<&str> = content
                .iter()
                .map(|part| match part {
                    ResultPart::Text { text } => text.as_str(),
                    ResultPart::Image { .. } => "[image]",
                })
                .collect();
            Some(format!("  {mark} {}", short(&text.join("\n"))))
        }
        Block::Image { .. } => Some("> [image]".to_owned()),
        Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolUse { .. } | Block::Other { .. } => None,
    }
}

fn from_assistant(block: &Block) -> Option<String> {
    match block {
        Block::Text { text } => Some(text.clone()),
        Block::ToolUse { name, input, .. } => Some(format!("  → {name} {}", short(input.as_str()))),
        Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolResult { .. } | Block::Image { .. } | Block::Other { .. } => {
            None
        }
    }
}

fn from_system(system: &System) -> Option<String> {
    match system {
        System::Init(init) => {
            Some(format!("· {} in {} ({}; key: {})", init.model, init.cwd, init.permission_mode.name(), init.api_key_source))
        }
        System::ApiRetry(retry) => {
            Some(format!("· {} — asked again in {} ms ({}/{})", retry.error, retry.delay_ms, retry.attempt, retry.max_retries))
        }
        System::Parked { .. } => Some("· parked: it goes on when somebody answers".to_owned()),
        System::Interrupted { reason, .. } => Some(format!("· interrupted ({})", reason.as_str())),
        System::Recovered { outcome, .. } => Some(format!("· the daemon came back: {outcome:?}").to_lowercase()),
        System::Failed { reason } => Some(format!("· failed: {reason}")),
        System::Notice { text } => Some(format!("· {text}")),
        System::Deleted => Some("· deleted".to_owned()),
        System::Created { .. } | System::SessionUpdated { .. } | System::LoopState(_) | System::ToolStarted(_) => None,
    }
}

fn texts(content: &[Block]) -> String {
    agentd_types::content::plain_text(content)
}

fn short(text: &str) -> String {
    let flat = text.replace('\n', "⏎ ");
    match flat.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}

/// What a typed line means.
enum Typed {
    Say(String),
    Answer { request: Option<String>, decision: Decision },
    Interrupt,
    Detach,
    Unknown(String),
}

fn read(line: &str) -> Typed {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (request, message) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let request = Some(request.to_owned()).filter(|it| !it.is_empty());
    match word {
        "/allow" => Typed::Answer { request, decision: Decision::Allow { scope: AllowScope::Once, updated_input: None } },
        "/deny" => Typed::Answer { request, decision: Decision::Deny { message: Some(message.to_owned()).filter(|it| !it.is_empty()) } },
        "/interrupt" => Typed::Interrupt,
        "/detach" => Typed::Detach,
        _ if word.starts_with('/') => Typed::Unknown(word.to_owned()),
        _ => Typed::Say(line.to_owned()),
    }
}

/// Follows `session` until it is detached from, its input ends, or the daemon goes down.
///
/// # Errors
/// When a call fails for another reason than a link that can be made again.
pub async fn run(connection: &Connection, session: &str, access: Access) -> Result<(), ClientError> {
    let mut attach = connection.attach(session, None, true).await?;
    let mut view = View::default();
    let mut typed = lines();
    let mut reading = access == Access::Full;
    loop {
        tokio::select! {
            update = attach.next() => match update? {
                Update::Draining => return Ok(()),
                update => if !view.show(update) { return Ok(()) },
            },
            line = typed.recv(), if reading => match line.as_deref().map(str::trim) {
                // Input ended: it goes on as a view.
                None => reading = false,
                Some("") => {}
                Some(line) => match act(connection, session, &view, read(line)).await {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(error) => { view.line(&format!("! {error}")); }
                },
            },
        }
    }
}

async fn act(connection: &Connection, session: &str, view: &View, typed: Typed) -> Result<bool, ClientError> {
    match typed {
        Typed::Say(text) => {
            let submission = Submission {
                content: vec![Block::text(text)],
                priority: Priority::Next,
                origin: None,
                idempotency_key: None,
                batching: Batching::Fold,
                options: RunOptions::default(),
            };
            connection.submit(session, submission).await?;
        }
        Typed::Answer { request, decision } => {
            let request = request.and_then(|text| text.parse().ok()).or(view.newest_request);
            match request {
                Some(request) => {
                    connection.respond(session, request, decision).await?;
                }
                None => view.line_ref("! nothing is asked"),
            }
        }
        Typed::Interrupt => {
            connection.interrupt(session, None).await?;
        }
        Typed::Detach => return Ok(false),
        Typed::Unknown(word) => view.line_ref(&format!("! {word}? there are /allow [id], /deny [id] [message], /interrupt and /detach")),
    }
    Ok(true)
}

/// Lines of stdin, from a thread of their own: a blocking read must not hold up the view.
fn lines() -> mpsc::Receiver<String> {
    let (to, from) = mpsc::channel(TYPED);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if to.blocking_send(line).is_err() {
                return;
            }
        }
    });
    from
}

/// What has been shown.
#[derive(Default)]
struct View {
    /// The message whose text was shown as it came.
    streamed: Option<MessageId>,
    in_line: bool,
    newest_request: Option<RequestId>,
}

impl View {
    /// Whether somebody still reads.
    fn show(&mut self, update: Update) -> bool {
        match update {
            Update::Snapshot(snapshot) => {
                self.newest_request = snapshot.permissions.last().map(|it| it.id);
                let info = &snapshot.info;
                let name = info.name.clone().unwrap_or_else(|| info.id.to_string());
                self.line(&format!("· attached to {name}: {}, {} attached", info.state.name(), snapshot.clients.len()));
                for request in &snapshot.permissions {
                    self.line(&format!("? {} {} (request {})", request.tool_name, short(request.input.as_str()), request.id));
                }
                match snapshot.in_progress {
                    Some(message) => {
                        self.streamed = Some(message.message);
                        message.blocks.iter().filter(|it| it.kind == DeltaKind::Text).all(|it| self.piece(&it.text))
                    }
                    None => true,
                }
            }
            Update::Event(event) => self.event(&event),
            Update::Delta(delta) if delta.kind == DeltaKind::Text => {
                self.streamed = Some(delta.message);
                self.piece(&delta.text)
            }
            Update::Delta(_) | Update::Progress(_) => true,
            Update::Lagged { dropped } => self.line(&format!("· {dropped} pieces were skipped; nothing durable is missing")),
            Update::Link(LinkState::Lost { why }) => self.line(&format!("· the link is lost: {why}")),
            Update::Link(LinkState::Up) | Update::Draining => true,
        }
    }

    fn event(&mut self, event: &Event) -> bool {
        if let Body::PermissionRequest(request) = &event.body {
            self.newest_request = Some(request.id);
        }
        if let Body::Assistant(message) = &event.body
            && self.streamed == Some(message.message)
        {
            // Its text was shown as it came.
            let calls = message.content.iter().filter(|block| matches!(block, Block::ToolUse { .. })).filter_map(from_assistant);
            return calls.collect::<Vec<_>>().iter().all(|line| self.line(line)) && self.end_line();
        }
        describe(event).is_none_or(|text| self.line(&text))
    }

    fn piece(&mut self, text: &str) -> bool {
        self.in_line = !text.ends_with('\n');
        write(text)
    }

    fn end_line(&mut self) -> bool {
        !std::mem::take(&mut self.in_line) || write("\n")
    }

    fn line(&mut self, text: &str) -> bool {
        self.end_line() && write(&format!("{text}\n"))
    }

    fn line_ref(&self, text: &str) {
        write(&format!("{text}\n"));
    }
}

fn write(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}
