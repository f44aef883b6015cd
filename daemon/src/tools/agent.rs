//! `Agent`: a piece of work for another loop. It waits for the report, unless it is not to; it never runs the loop itself.

use agentd_core::permission::Subject;
use agentd_core::prompt::AgentKind;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::task::{Placement, Task, TaskOutcome};
use agentd_types::{AgentId, Json, TaskId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::host::{AgentWish, Spawned, ended, wished_away};
use super::input;
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

const NAME: &str = "Agent";
/// Bytes of a report that come back.
const MAX_REPORT: usize = 100_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The work, in three to five words.
    description: String,
    /// Everything it must know.
    prompt: String,
    /// `general` (default), `explore` or `plan`.
    #[serde(default)]
    subagent_type: Option<String>,
    /// Another model than this session's.
    #[serde(default)]
    model: Option<String>,
    /// Return at once; a note brings the report.
    #[serde(default)]
    run_in_background: bool,
    /// Go on with this one.
    #[serde(default)]
    agent_id: Option<String>,
}

/// The tool.
pub struct Agent {
    spec: ToolSpec,
}

impl Agent {
    #[must_use]
    pub fn new() -> Agent {
        Agent { spec: input::spec::<Input>(NAME, include_str!("agent.md")) }
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Agent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Task"]
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        // Its own calls have effects, beside those of others.
        CallTraits { effects: Effects::SideEffects, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn max_result_bytes(&self) -> usize {
        MAX_REPORT
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            if wanted.prompt.trim().is_empty() {
                return Err(tell("prompt is empty: say what is to be done"));
            }
            let kind = kind_of(&wanted)?;
            agent_of(&wanted)?;
            Ok(Subject::Agent { kind: kind.name().to_owned() })
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            let placement = if wanted.run_in_background { Placement::Background } else { Placement::Foreground };
            let wish = AgentWish {
                kind: kind_of(&wanted)?,
                continues: agent_of(&wanted)?,
                description: wanted.description,
                prompt: wanted.prompt,
                model: wanted.model.filter(|model| !model.trim().is_empty()),
                tool_use: call.id.clone(),
                placement,
            };
            let spawned = call.tasks.agent(wish).await.map_err(|why| tell(format!("No subagent was started: {why}.")))?;
            match (spawned, placement) {
                (Spawned::Told, _) => Ok(ToolOutput::text("It still runs: the prompt reaches it between two of its rounds.".to_owned())),
                (Spawned::Started { task, agent }, Placement::Background) => Ok(launched(task, agent)),
                (Spawned::Started { task, agent }, Placement::Foreground) => wait(task, agent, &call).await,
            }
        })
    }
}

/// Until it has reported, is moved away, or is ended with this call.
async fn wait(task: TaskId, agent: AgentId, call: &CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => {
            call.tasks.stop(task).await;
            Err(tell(format!("The subagent was ended. {}", go_on(agent))))
        }
        over = ended(call.tasks, task) => match over {
            Some(over) => reported(&over, agent),
            None => Err(tell("The subagent is gone.")),
        },
        () = wished_away(call.tasks, call.id) => {
            call.tasks.moved(task).await;
            Ok(launched(task, agent))
        }
    }
}

fn reported(over: &Task, agent: AgentId) -> Result<ToolOutput, ToolFailure> {
    let Some((end, _)) = &over.end else { return Err(tell("The subagent is gone.")) };
    let text = if end.summary.trim().is_empty() { "(it reported nothing)" } else { end.summary.as_str() };
    match end.outcome {
        TaskOutcome::Completed => Ok(ToolOutput::text(format!("{text}\n\n[{}]", go_on(agent)))),
        TaskOutcome::Failed | TaskOutcome::Killed | TaskOutcome::Lost => {
            let by = end.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            Err(tell(format!("The subagent {}{by}: {text}\n\n[{}]", end.outcome.name(), go_on(agent))))
        }
    }
}

fn launched(task: TaskId, agent: AgentId) -> ToolOutput {
    ToolOutput::text(format!(
        "async_launched: the subagent runs in the background as task {task}; a note brings its report. {}",
        go_on(agent)
    ))
}

fn go_on(agent: AgentId) -> String {
    format!("agent_id: {agent} (give it to Agent to go on with this subagent)")
}

fn kind_of(wanted: &Input) -> Result<AgentKind, ToolFailure> {
    let name = wanted.subagent_type.as_deref().unwrap_or_default();
    let names = || AgentKind::ALL.map(AgentKind::name).join(", ");
    AgentKind::named(name).ok_or_else(|| tell(format!("there is no subagent_type `{name}`; there are: {}", names())))
}

fn agent_of(wanted: &Input) -> Result<Option<AgentId>, ToolFailure> {
    let id = wanted.agent_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
    id.map(|id| id.parse().map_err(|error| tell(format!("agent_id: {error}")))).transpose()
}

fn tell(text: impl Into<String>) -> ToolFailure {
    ToolFailure::TellModel(text.into())
}
