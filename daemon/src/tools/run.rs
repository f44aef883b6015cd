//! The executor: one batch of calls, each through the same chain, in the order the model asked.
//!
//! Calls that are read-only and safe run beside each other; any other runs alone, after all before it. Nothing
//! overtakes. Every call gets a result, or stays open for an answer. What a call may do is decided elsewhere.

use std::ops::Range;
use std::panic::AssertUnwindSafe;

use agentd_core::model::repair::unreadable_input;
use agentd_core::permission::Subject;
use agentd_core::query::{Cut, ModelFailure, Observed, OpenCalls, StoreFailure, ToolEnd, ToolRun};
use agentd_core::tools::{CallTraits, Concurrency, Effects};
use agentd_types::content::ResultPart;
use agentd_types::system::ToolStarted;
use agentd_types::{Block, Json, Origin};
use futures_util::{FutureExt, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::registry::ToolRegistry;
use super::tool::{Boxed, Call, CallContext, CallLog, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::permissions::gate::{Gate, Passage};

/// Calls that run beside each other at most.
const PARALLEL: usize = 10;
/// Names that an unknown tool's error lists at most.
const NEAR: usize = 3;

/// Why a batch was ended from outside; what the model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interruption {
    User,
    /// A more urgent message came.
    Message,
    /// The daemon goes down.
    Drain,
}

impl Interruption {
    const fn words(self) -> &'static str {
        match self {
            Interruption::User => "interrupted by the user",
            Interruption::Message => "interrupted by a more urgent message",
            Interruption::Drain => "interrupted: the daemon is shutting down",
        }
    }
}

/// What became of one call.
enum Done {
    Result {
        parts: Vec<ResultPart>,
        is_error: bool,
        changes: Vec<ContextChange>,
    },
    /// Its result ends the submission.
    Fatal {
        message: String,
        failure: ModelFailure,
    },
    Open,
    StoreFailed(StoreFailure),
}

impl Done {
    fn error(text: impl Into<String>) -> Done {
        Done::Result { parts: vec![ResultPart::Text { text: text.into() }], is_error: true, changes: Vec::new() }
    }
}

/// Everything a call is run with.
struct Run<'a> {
    tools: &'a ToolRegistry,
    gate: &'a Gate<'a>,
    log: &'a dyn CallLog,
    cancel: &'a CancellationToken,
    /// Ends the calls of this batch when a Bash call failed.
    siblings: CancellationToken,
    why: &'a (dyn Fn() -> Interruption + Sync),
}

/// Runs `calls`; their results are in the log when this returns, and `context` has what they changed.
///
/// # Errors
/// [`Cut`] when interrupted (each call has a result that says so) or when the store failed.
pub async fn run_batch(
    calls: Vec<Call>,
    tools: &ToolRegistry,
    context: &mut ToolContext,
    gate: &Gate<'_>,
    log: &dyn CallLog,
    cancel: &CancellationToken,
    why: &(dyn Fn() -> Interruption + Sync),
) -> Observed<ToolRun> {
    let run = Run { tools, gate, log, cancel, siblings: cancel.child_token(), why };
    let mut open = Vec::new();
    let mut fatal = None;
    for group in groups(&calls, tools) {
        let calls = &calls[group];
        let seen = context.clone();
        // Boxed: a stream of unboxed ones cannot be proven `Send` for every lifetime.
        let waiting: Vec<Boxed<'_, Done>> = calls.iter().map(|call| Box::pin(run.one(call, &seen)) as Boxed<'_, Done>).collect();
        let mut finished = stream::iter(waiting).buffered(PARALLEL);
        let mut at = 0;
        while let Some(done) = finished.next().await {
            let call = &calls[at];
            at += 1;
            match done {
                Done::Result { parts, is_error, changes } => {
                    if is_error && call.name == "Bash" {
                        run.siblings.cancel();
                    }
                    apply(context, changes);
                    log.finished(result(call, parts, is_error)).await.map_err(Cut::StoreFailed)?;
                }
                Done::Fatal { message, failure } => {
                    fatal.get_or_insert(failure);
                    run.siblings.cancel();
                    let parts = vec![ResultPart::Text { text: message }];
                    log.finished(result(call, parts, true)).await.map_err(Cut::StoreFailed)?;
                }
                Done::Open => open.push(call.id.clone()),
                Done::StoreFailed(failure) => return Err(Cut::StoreFailed(failure)),
            }
        }
    }
    if cancel.is_cancelled() {
        return Err(Cut::Interrupted);
    }
    let end = match (fatal, open.is_empty()) {
        (Some(failure), _) => ToolEnd::Fatal(failure),
        (None, false) => ToolEnd::Open(OpenCalls(open)),
        (None, true) => ToolEnd::Done,
    };
    Ok(ToolRun { end })
}

/// Runs of calls that may go beside each other; every other call is a group of its own.
fn groups(calls: &[Call], tools: &ToolRegistry) -> Vec<Range<usize>> {
    let safe = |call: &Call| {
        tools.find(&call.name).is_none_or(|tool| match tool.traits(&call.input) {
            CallTraits { concurrency: Concurrency::Safe, effects: Effects::ReadOnly, .. } => true,
            CallTraits { concurrency: Concurrency::Safe | Concurrency::Alone, .. } => false,
        })
    };
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut joins = false;
    for (at, call) in calls.iter().enumerate() {
        let safe = safe(call);
        match groups.last_mut() {
            Some(last) if joins && safe => last.end = at + 1,
            Some(_) | None => groups.push(at..at + 1),
        }
        joins = safe;
    }
    groups
}

impl Run<'_> {
    /// Find, read, check, permit, start, call.
    async fn one(&self, call: &Call, context: &ToolContext) -> Done {
        if let Some(ended) = self.ended() {
            return ended;
        }
        let Some(tool) = self.tools.find(&call.name) else { return Done::error(self.unknown(&call.name)) };
        if let Some(unreadable) = unreadable_input(&call.input) {
            return Done::error(format!("The input of {} could not be read: {}. Send one JSON object.", call.name, unreadable.why));
        }
        if !call.input.is_object() {
            return Done::error(format!("The input of {} must be a JSON object.", call.name));
        }
        let subject = match tool.check(&call.input, context).await {
            Ok(subject) => subject,
            Err(failure) => return refused(failure),
        };
        let effects = tool.traits(&call.input).effects;
        match self.gate.pass(&call.id, &call.name, &call.input, effects, &subject).await {
            Passage::Go { updated_input: None, .. } => self.start(tool.as_ref(), call, &call.input, effects, None, context).await,
            Passage::Go { updated_input: Some(input), by } => self.changed(tool.as_ref(), call, &input, by, context).await,
            Passage::Denied { message } => {
                self.log.denied(call);
                Done::error(message)
            }
            Passage::Open => Done::Open,
            Passage::Withdrawn => self.ended().unwrap_or_else(|| Done::error("The question was withdrawn before it was answered.")),
            Passage::StoreFailed(failure) => Done::StoreFailed(failure),
        }
    }

    /// A person changed the input: it is checked again, and no deny rule is passed by it.
    async fn changed(&self, tool: &dyn Tool, call: &Call, input: &Json, by: Option<Origin>, context: &ToolContext) -> Done {
        let subject: Subject = match tool.check(input, context).await {
            Ok(subject) => subject,
            Err(failure) => return refused(failure),
        };
        let effects = tool.traits(input).effects;
        if let Some(message) = self.gate.forbids(&call.name, &subject) {
            self.log.denied(call);
            return Done::error(message);
        }
        let who = by.as_ref().map_or_else(|| "somebody".to_owned(), ToString::to_string);
        match self.start(tool, call, input, effects, by, context).await {
            Done::Result { mut parts, is_error, changes } => {
                parts.insert(0, ResultPart::Text { text: format!("[The input was changed by {who} before it ran: {input}]") });
                Done::Result { parts, is_error, changes }
            }
            other => other,
        }
    }

    async fn start(&self, tool: &dyn Tool, call: &Call, input: &Json, effects: Effects, by: Option<Origin>, context: &ToolContext) -> Done {
        if let Some(ended) = self.ended() {
            return ended;
        }
        if let Effects::SideEffects = effects {
            let changed = *input != call.input;
            let started = ToolStarted {
                tool_use: call.id.clone(),
                name: call.name.clone(),
                effective_input: changed.then(|| input.clone()),
                changed_by: by.filter(|_| changed),
            };
            if let Err(failure) = self.log.started(started, effects).await {
                return Done::StoreFailed(failure);
            }
        }
        let progress = |text: String| self.log.progress(&call.id, text);
        let context = CallContext { id: &call.id, context, progress: &progress, cancel: self.siblings.child_token() };
        // A tool that panics fails its call, not its session.
        let called = match AssertUnwindSafe(async { tool.call(input, context).await }).catch_unwind().await {
            Ok(called) => called,
            Err(_) => {
                return Done::error(format!("{} failed unexpectedly; the daemon's log says more. It may have had effects.", call.name));
            }
        };
        match called {
            Ok(ToolOutput { content, changes }) => Done::Result { parts: content, is_error: false, changes },
            Err(failure) => refused(failure),
        }
    }

    /// The synthetic result of a call that must not start any more.
    fn ended(&self) -> Option<Done> {
        if self.cancel.is_cancelled() {
            return Some(Done::error(format!("The call was {} before it ran.", (self.why)().words())));
        }
        self.siblings.is_cancelled().then(|| Done::error("The call was not run: a Bash call of the same batch failed."))
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.tools.names();
        let start: String = name.chars().take(2).collect::<String>().to_lowercase();
        let near: Vec<&str> = names
            .iter()
            .map(AsRef::as_ref)
            .filter(|it: &&str| !start.is_empty() && it.to_lowercase().starts_with(&start))
            .take(NEAR)
            .collect();
        let hint = if near.is_empty() { format!("there are {}", names.join(", ")) } else { format!("did you mean {}?", near.join(", ")) };
        format!("There is no tool `{name}`; {hint}")
    }
}

fn refused(failure: ToolFailure) -> Done {
    match failure {
        ToolFailure::TellModel(text) => Done::error(text),
        ToolFailure::Failed { text, changes } => Done::Result { parts: vec![ResultPart::Text { text }], is_error: true, changes },
        ToolFailure::EndSubmission(failure) => Done::Fatal { message: failure.message.clone(), failure },
    }
}

fn result(call: &Call, content: Vec<ResultPart>, is_error: bool) -> Block {
    Block::ToolResult { tool_use_id: call.id.clone(), content, is_error }
}

fn apply(context: &mut ToolContext, changes: Vec<ContextChange>) {
    for change in changes {
        match change {
            ContextChange::Cwd(cwd) => context.cwd = cwd,
            ContextChange::Seen(seen) => context.read_cache.put(seen),
        }
    }
}
