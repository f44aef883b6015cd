//! A durable event in a few lines for a person; shared by the plain view, `log` and rehearsals. It prints nothing.

use agentd_client::printable;
use agentd_types::content::{ResultPart, plain_text};
use agentd_types::permission::{PermissionRequest, PermissionResolved};
use agentd_types::question::{Answered, Question};
use agentd_types::queue::QueueChange;
use agentd_types::system::{RecoveryOutcome, System};
use agentd_types::task::TaskChange;
use agentd_types::{Block, Body, Event};

/// Characters of a tool's input or result that a line shows.
const SHOWN: usize = 400;

/// An event in a few lines, without a final line feed; `None` for what only programs care about. Control characters are made
/// visible.
#[must_use]
pub fn describe(event: &Event) -> Option<String> {
    let origin = event.origin.as_ref().map(ToString::to_string);
    let text = match &event.body {
        Body::User(user) => lines(user.content.iter().filter_map(|block| from_user(block, origin.as_deref()))),
        Body::Attachment(attachment) => Some(format!("> ({}) {}", origin.as_deref().unwrap_or("engine"), plain_text(&attachment.content))),
        Body::Assistant(message) => lines(message.content.iter().filter_map(from_assistant)),
        Body::System(system) => from_system(system),
        Body::Tombstone { reason, .. } => Some(format!("· taken back: {reason}")),
        Body::PermissionRequest(request) => Some(question(request)),
        Body::PermissionResolved(resolved) => Some(answer(resolved)),
        Body::Question(question) => Some(asked(question)),
        Body::Answer(answered) => Some(replied(answered)),
        Body::Queue(change) => from_queue(change),
        Body::Task(change) => from_task(change),
        Body::Result(result) => {
            let detail = if result.detail.is_empty() { String::new() } else { format!(": {}", result.detail) };
            let rounds = if result.num_turns == 1 { "round" } else { "rounds" };
            Some(format!("· {}{detail} ({} {rounds}, {})", result.terminal.as_str(), result.num_turns, result.cost))
        }
    };
    let text = text.map(|text| printable(&text).into_owned());
    match event.agent {
        // A subagent's: set off from the main conversation.
        Some(_) => text.map(|text| text.lines().map(|line| format!("┆ {line}")).collect::<Vec<_>>().join("\n")),
        None => text,
    }
}

/// What is asked, in one line that names the request.
#[must_use]
pub fn question(request: &PermissionRequest) -> String {
    let line = format!("? {} {} — {} (request {})", request.tool_name, short(request.input.as_str()), request.reason, request.id);
    printable(&line).into_owned()
}

/// What was answered, and by whom.
#[must_use]
pub fn answer(resolved: &PermissionResolved) -> String {
    let rule = resolved.rule.as_ref().map(|rule| format!(", from now on {rule}")).unwrap_or_default();
    printable(&format!("· {} by {}{rule}", resolved.decision.word(), resolved.by)).into_owned()
}

/// A question with its options, a line each, and the id it is answered by.
#[must_use]
pub fn asked(question: &Question) -> String {
    let several = if question.multi_select { ", several may be chosen" } else { "" };
    let mut text = format!("? {} (question {}{several})", question.question, question.id);
    for (option, number) in question.options.iter().zip(1..) {
        let meaning = if option.description.is_empty() { String::new() } else { format!(" — {}", option.description) };
        text.push_str(&format!("\n  {number}. {}{meaning}", option.label));
    }
    printable(&text).into_owned()
}

/// What was said to a question, and by whom.
#[must_use]
pub fn replied(answered: &Answered) -> String {
    printable(&format!("· {} by {}", answered.reply.words(), answered.by)).into_owned()
}

/// A call of the model.
#[must_use]
pub fn call(name: &str, input: &str) -> String {
    printable(&format!("  → {name} {}", short(input))).into_owned()
}

fn from_task(change: &TaskChange) -> Option<String> {
    match change {
        TaskChange::Started(start) => Some(format!("· task {} ({}) started: {}", start.id, start.kind.name(), start.description)),
        TaskChange::Moved { id } => Some(format!("· task {id} goes on in the background")),
        TaskChange::Finished { id, end } => {
            let code = end.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            let signal = end.signal.map(|signal| format!(", signal {signal}")).unwrap_or_default();
            let by = end.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
            Some(format!("· task {id} {}{code}{signal}{by}", end.outcome.name()))
        }
    }
}

fn lines(lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn from_user(block: &Block, origin: Option<&str>) -> Option<String> {
    match block {
        Block::Text { text } => Some(format!("> ({}) {text}", origin.unwrap_or("engine"))),
        Block::ToolResult { content, is_error, .. } => {
            let mark = if *is_error { "✗" } else { "←" };
            Some(format!("  {mark} {}", short(&result_text(content))))
        }
        Block::Image { .. } => Some("> [image]".to_owned()),
        Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolUse { .. } | Block::Other { .. } => None,
    }
}

/// A tool's result as text.
#[must_use]
pub fn result_text(content: &[ResultPart]) -> String {
    let parts = content.iter().map(|part| match part {
        ResultPart::Text { text } => text.as_str(),
        ResultPart::Image { .. } => "[image]",
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn from_assistant(block: &Block) -> Option<String> {
    match block {
        Block::Text { text } => Some(text.clone()),
        Block::ToolUse { name, input, .. } => Some(call(name, input.as_str())),
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
        System::ModelFallback(fallback) => Some(format!("· {} is asked from here on: {}", fallback.to, fallback.reason)),
        System::Parked { .. } => Some("· parked: it goes on when somebody answers".to_owned()),
        System::Interrupted { reason, by } => {
            let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            Some(format!("· interrupted{by} ({})", reason.as_str()))
        }
        System::Recovered { outcome, .. } => Some(format!("· the daemon came back: {}", recovered(*outcome))),
        System::Failed { reason } => Some(format!("· failed: {reason}")),
        System::Notice { text } => Some(format!("· {text}")),
        System::Deleted => Some("· deleted".to_owned()),
        System::Created { .. }
        | System::SessionUpdated { .. }
        | System::Frame(_)
        | System::LoopState(_)
        | System::ToolStarted(_)
        | System::Partial(_) => None,
    }
}

const fn recovered(outcome: RecoveryOutcome) -> &'static str {
    match outcome {
        RecoveryOutcome::Continued => "the submission goes on where it was",
        RecoveryOutcome::Dropped => "the submission was cut and is dropped",
        RecoveryOutcome::Waiting => "the submission waits for an answer",
    }
}

fn from_queue(change: &QueueChange) -> Option<String> {
    match change {
        QueueChange::Enqueued { command } => Some(format!("· queued by {}", command.origin)),
        QueueChange::Refused { reason, .. } => Some(format!("· refused: {reason}")),
        QueueChange::Returned { .. } => Some("· given back to its sender".to_owned()),
        QueueChange::Removed { .. } => Some("· removed from the queue".to_owned()),
        QueueChange::Delivered { .. } | QueueChange::Edited { .. } | QueueChange::Promoted { .. } => None,
    }
}

fn short(text: &str) -> String {
    let mut chars = text.trim_end().chars();
    let mut flat: String = chars.by_ref().take(SHOWN).collect::<String>().replace('\n', "⏎ ");
    if chars.next().is_some() {
        flat.push('…');
    }
    flat
}

#[cfg(test)]
mod tests;
