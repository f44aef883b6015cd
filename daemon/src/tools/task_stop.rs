//! `TaskStop`: ends a task of the session, and says so when nothing of it runs.

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::host::{ended, find};
use super::input;
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

const NAME: &str = "TaskStop";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The task's id, or a unique beginning of it.
    #[serde(alias = "shell_id")]
    task_id: String,
}

/// The tool.
pub struct TaskStop {
    spec: ToolSpec,
}

impl TaskStop {
    #[must_use]
    pub fn new() -> TaskStop {
        TaskStop { spec: input::spec::<Input>(NAME, include_str!("task_stop.md")) }
    }
}

impl Default for TaskStop {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for TaskStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["KillShell", "KillBash"]
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        // Only what this session started itself can be ended: nobody is asked.
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(std::future::ready(input::read::<Input>(NAME, input).map(|_| Subject::Other)))
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            let task = find(call.tasks, &wanted.task_id).map_err(ToolFailure::TellModel)?;
            if !task.is_running() {
                return Ok(ToolOutput::text(format!("task {} had ended already: {}", task.id(), task.status())));
            }
            call.tasks.stop(task.id()).await;
            let status = ended(call.tasks, task.id()).await.map_or("gone", |task| task.status());
            Ok(ToolOutput::text(format!("task {} has ended: {status}; nothing of it runs any more", task.id())))
        })
    }
}
