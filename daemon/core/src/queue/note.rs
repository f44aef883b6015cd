//! The note of a task that has ended: what its owner's queue gets. It never says who is to act on it.

use agentd_types::queue::{Batching, CommandMode, Priority, QueuedCommand, RunOptions};
use agentd_types::task::{TaskEnd, TaskStart};
use agentd_types::{AgentId, Block, CommandId, Origin, Timestamp};

use super::wording::escaped;

/// Characters of a report that a note carries; the rest is in the output file.
const MAX_SUMMARY: usize = 32_000;

/// The command that brings the end of a task to `addressee`. Its id follows from the task's: there is one note a task.
#[must_use]
pub fn note(start: &TaskStart, end: &TaskEnd, addressee: Option<AgentId>, now: Timestamp) -> QueuedCommand {
    QueuedCommand {
        id: CommandId::from_bytes(*start.id.as_bytes()),
        version: 1,
        mode: CommandMode::TaskNotification,
        priority: Priority::Later,
        content: vec![Block::text(words(start, end))],
        origin: Origin::Task { id: start.id.to_string() },
        agent: addressee,
        idempotency_key: None,
        batching: Batching::Fold,
        options: RunOptions::default(),
        enqueued_at: now,
    }
}

fn words(start: &TaskStart, end: &TaskEnd) -> String {
    let mut text = String::from("<task-notification>\n");
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("<{name}>{value}</{name}>\n"));
    };
    line("task-id", &start.id.to_string());
    line("kind", start.kind.name());
    line("description", &escaped(&start.description));
    line("status", end.outcome.name());
    if let Some(code) = end.exit_code {
        line("exit-code", &code.to_string());
    }
    if let Some(signal) = end.signal {
        line("signal", &signal.to_string());
    }
    if let Some(by) = &end.by {
        line("ended-by", &escaped(&by.to_string()));
    }
    line("output-file", &escaped(&start.output_file.to_string()));
    if !end.summary.is_empty() {
        let mut summary: String = end.summary.chars().take(MAX_SUMMARY).collect();
        if summary.len() < end.summary.len() {
            summary.push_str("\n[the rest is in the output file]");
        }
        line("summary", &escaped(&summary));
    }
    text.push_str("This note is automatic: no person wrote it, and it answers no question.\n</task-notification>");
    text
}

#[cfg(test)]
mod tests;
