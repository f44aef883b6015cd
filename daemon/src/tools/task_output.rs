//! `TaskOutput`: what a task printed so far, and how it stands; waits for its end if wanted. It changes nothing.

use std::time::Duration;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use agentd_types::task::Task;
use schemars::JsonSchema;
use serde::Deserialize;

use super::host::{ended, find};
use super::input;
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::files::pieces::{self, Read};

const NAME: &str = "TaskOutput";
const DEFAULT_MS: u64 = 30_000;
const MOST_MS: u64 = 600_000;
/// Bytes of output that come back: the newest.
const MOST_BYTES: u64 = 30_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The task's id, or a unique beginning of it.
    task_id: String,
    /// Wait until it has ended (default true).
    #[serde(default = "yes")]
    block: bool,
    /// Milliseconds to wait at most (default 30000, at most 600000).
    #[serde(default)]
    timeout: Option<u64>,
}

fn yes() -> bool {
    true
}

/// The tool.
pub struct TaskOutput {
    spec: ToolSpec,
}

impl TaskOutput {
    #[must_use]
    pub fn new() -> TaskOutput {
        TaskOutput { spec: input::spec::<Input>(NAME, include_str!("task_output.md")) }
    }
}

impl Default for TaskOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for TaskOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["BashOutput"]
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        // A prompt ends its wait, not its submission: it returns what there is.
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            match wanted.timeout {
                Some(ms) if ms > MOST_MS => Err(ToolFailure::TellModel(format!("timeout is {ms} ms; at most {MOST_MS} are possible"))),
                Some(_) | None => Ok(Subject::Other),
            }
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            let found = find(call.tasks, &wanted.task_id).map_err(ToolFailure::TellModel)?;
            let task = if wanted.block { wait(found, wanted.timeout.unwrap_or(DEFAULT_MS), &call).await } else { found };
            let read = pieces::tail(&task.start.output_file, MOST_BYTES).await;
            Ok(ToolOutput::text(words(&task, read)))
        })
    }
}

/// Until it has ended, the time is over, or the wait is.
async fn wait(task: Task, ms: u64, call: &CallContext<'_>) -> Task {
    let mut waits = call.tasks.waits();
    tokio::select! {
        over = ended(call.tasks, task.id()) => over.unwrap_or(task),
        () = tokio::time::sleep(Duration::from_millis(ms)) => task,
        () = call.cancel.cancelled() => task,
        // Another task's note, or a prompt: it joins the next round.
        Ok(_) = waits.wait_for(|waits| waits.noted || waits.typed) => find(call.tasks, &task.id().to_string()).unwrap_or(task),
    }
}

fn words(task: &Task, read: Result<Read, String>) -> String {
    let mut text = format!("task {} ({}): {}", task.id(), task.start.kind.name(), task.status());
    if let Some((end, _)) = &task.end {
        let more = [
            end.exit_code.map(|code| format!("exit code {code}")),
            end.signal.map(|signal| format!("signal {signal}")),
            end.by.as_ref().map(|by| format!("ended by {by}")),
        ];
        for part in more.into_iter().flatten() {
            text.push_str(&format!(", {part}"));
        }
    }
    match read {
        Ok(Read { text: output, total, from }) => {
            if from > 0 {
                text.push_str(&format!("\n[the first {from} of {total} bytes are in {}]", task.start.output_file));
            }
            text.push('\n');
            text.push_str(if output.is_empty() { "(no output)" } else { &output });
        }
        Err(why) => text.push_str(&format!("\nIts output cannot be read: {why}")),
    }
    text
}
