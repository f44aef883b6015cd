//! `Sleep`: waits. It ends at once when it is cancelled.

use std::time::Duration;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::input;
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

/// The tool's name.
pub const NAME: &str = "Sleep";
/// Seconds one call may wait: a day.
const LONGEST: u64 = 24 * 60 * 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// How long, from 1 to 86400.
    seconds: u64,
}

pub struct Sleep {
    spec: ToolSpec,
}

impl Sleep {
    pub fn new() -> Sleep {
        Sleep { spec: input::spec::<Input>(NAME, include_str!("sleep.md")) }
    }
}

impl Tool for Sleep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Cancel }
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            match wanted.seconds {
                1..=LONGEST => Ok(Subject::Other),
                other => Err(ToolFailure::TellModel(format!("seconds must be from 1 to {LONGEST}, not {other}"))),
            }
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read(NAME, input)?;
            let since = Instant::now();
            let mut waits = call.tasks.waits();
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(wanted.seconds)) => Ok(ToolOutput::text(format!("Slept {} s.", wanted.seconds))),
                Ok(_) = waits.wait_for(|waits| waits.noted) => {
                    let slept = since.elapsed().as_secs();
                    Ok(ToolOutput::text(format!("Woken after {slept} of {} s: a task has ended, its note follows.", wanted.seconds)))
                }
                () = call.cancel.cancelled() => {
                    Err(ToolFailure::TellModel(format!("woken after {} of {} s", since.elapsed().as_secs(), wanted.seconds)))
                }
            }
        })
    }
}
