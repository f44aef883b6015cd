//! One call through its chain: find, read, check, permit, start, call. What a call may do, and when, is decided elsewhere.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentd_core::model::repair::unreadable_input;
use agentd_core::permission::{Policy, Subject};
use agentd_core::query::{ModelFailure, StoreFailure};
use agentd_core::tools::{Effects, Stage};
use agentd_types::content::ResultPart;
use agentd_types::system::ToolStarted;
use agentd_types::{Json, Origin};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::ask::with_answers;
use super::host::TaskHost;
use super::large;
use super::registry::ToolRegistry;
use super::tool::{Call, CallContext, CallLog, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::permissions::asker::{Asker, Said};
use crate::permissions::gate::{Gate, Look, Passage};

/// Names that an unknown tool's error lists at most.
const NEAR: usize = 3;
/// How long a call may take to end after it was told to. Ending a process tree takes 2 s at most.
const GRACE: Duration = Duration::from_secs(5);

/// Why a submission was ended from outside; what the model is told.
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

/// What the calls of a submission are run with.
pub struct Means<'a> {
    pub tools: &'a ToolRegistry,
    pub asker: &'a dyn Asker,
    pub tasks: &'a dyn TaskHost,
    /// What is in force where the tools are now.
    pub policy: Box<dyn Fn(&ToolContext) -> Policy + Send + Sync + 'a>,
    pub log: Box<dyn CallLog + 'a>,
    /// The submission's.
    pub cancel: CancellationToken,
    pub why: Box<dyn Fn() -> Interruption + Send + Sync + 'a>,
    /// Ends the submission because a prompt was typed while only calls ran that give way.
    pub give_way: Box<dyn Fn() + Send + Sync + 'a>,
}

/// What became of one call.
#[derive(Debug)]
pub(super) enum Done {
    Result {
        parts: Vec<ResultPart>,
        how: How,
        changes: Vec<ContextChange>,
    },
    /// By a rule or a person; what the model is told.
    Denied {
        message: String,
    },
    /// Its result ends the submission.
    Fatal {
        message: String,
        failure: ModelFailure,
    },
    /// It waits for an answer that nobody here gives.
    Open,
    /// It would ask, and its message is not stored yet: nothing was done.
    WouldAsk,
    StoreFailed(StoreFailure),
}

/// How a call with a result ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Well,
    /// It ran and failed.
    Badly,
    /// It did not run.
    NotRun,
}

impl Done {
    fn not_run(text: impl Into<String>) -> Done {
        Done::Result { parts: vec![part(text)], how: How::NotRun, changes: Vec::new() }
    }
}

/// One call on its way.
pub(super) struct OneCall {
    pub call: Arc<Call>,
    pub context: Arc<ToolContext>,
    pub stage: Stage,
    /// Ends the calls of this batch when one of them failed that the others depend on.
    pub siblings: CancellationToken,
    /// A child of it, for this call.
    pub token: CancellationToken,
}

impl Means<'_> {
    /// The whole chain. A call that does not end after it was told to is left, and said so.
    pub(super) async fn one(&self, one: OneCall) -> Done {
        let overdue = async {
            one.token.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        let done = tokio::select! {
            biased;
            done = self.chain(&one) => done,
            () = overdue => {
                let text = format!("{} did not end within {} s; it may have had effects.", one.call.name, GRACE.as_secs());
                Done::Result { parts: vec![part(text)], how: How::Badly, changes: Vec::new() }
            }
        };
        match (done, self.ending(&one.siblings)) {
            // A call that failed because it was ended says why it was.
            (Done::Result { mut parts, how: How::Badly, changes }, Some(why)) if one.token.is_cancelled() => {
                parts.insert(0, part(format!("The call was {why} while it ran.")));
                Done::Result { parts, how: How::Badly, changes }
            }
            (done, _) => done,
        }
    }

    /// What the model is told of a call that waited for an answer when its submission was ended.
    pub(super) fn withdrawn(&self) -> String {
        let why = if self.cancel.is_cancelled() { (self.why)().words() } else { "cancelled, because another call ended the submission," };
        format!("The call was {why} before it ran.")
    }

    async fn chain(&self, one: &OneCall) -> Done {
        let OneCall { call, context, .. } = one;
        if let Some(ended) = self.ended(one) {
            return ended;
        }
        let Some(tool) = self.tools.find(&call.name) else { return Done::not_run(self.unknown(&call.name)) };
        let name = tool.spec().name.as_str();
        if let Some(unreadable) = unreadable_input(&call.input) {
            return Done::not_run(format!("The input of {name} could not be read: {}. Send one JSON object.", unreadable.why));
        }
        if !call.input.is_object() {
            return Done::not_run(format!("The input of {name} must be a JSON object."));
        }
        let subject = match tool.check(&call.input, context).await {
            Ok(subject) => subject,
            Err(failure) => return refused(failure, How::NotRun),
        };
        let effects = tool.traits(&call.input).effects;
        let gate = Gate::new((self.policy)(context), self.asker);
        match (one.stage, gate.look(name, effects, &subject)) {
            (Stage::Streaming, Look::WouldAsk) => return Done::WouldAsk,
            (Stage::Streaming | Stage::Stored, Look::Denied { message }) => return Done::Denied { message },
            (Stage::Streaming, Look::Go) if !tool.asks(&call.input).is_empty() => return Done::WouldAsk,
            (Stage::Streaming | Stage::Stored, Look::Go) => return self.answered(tool.as_ref(), one, &call.input, &subject, &gate).await,
            (Stage::Stored, Look::WouldAsk) => {}
        }
        match gate.pass(&call.id, name, &call.input, effects, &subject).await {
            Passage::Go { updated_input: None, .. } => self.answered(tool.as_ref(), one, &call.input, &subject, &gate).await,
            Passage::Go { updated_input: Some(input), by } => self.changed(tool.as_ref(), one, &input, by, &gate).await,
            Passage::Denied { message } => Done::Denied { message },
            Passage::Open => Done::Open,
            Passage::Withdrawn => self.ended(one).unwrap_or_else(|| Done::not_run("The question was withdrawn before it was answered.")),
            Passage::StoreFailed(failure) => Done::StoreFailed(failure),
        }
    }

    /// What the call wants to know is asked first; the answers are its input's.
    async fn answered(&self, tool: &dyn Tool, one: &OneCall, input: &Json, subject: &Subject, gate: &Gate<'_>) -> Done {
        let questions = tool.asks(input);
        if questions.is_empty() {
            return self.start(tool, one, input, subject, None).await;
        }
        let texts: Vec<String> = questions.iter().map(|it| it.question.clone()).collect();
        match gate.ask_person(&one.call.id, questions).await {
            Said::Answers(answers) => {
                let said: Vec<(String, String)> = texts.into_iter().zip(answers.into_iter().map(|it| it.join(", "))).collect();
                self.start(tool, one, &with_answers(input, &said), subject, None).await
            }
            Said::Denied { message } => Done::Denied { message },
            Said::Open => Done::Open,
            Said::Withdrawn => self.ended(one).unwrap_or_else(|| Done::not_run("The question was withdrawn before it was answered.")),
            Said::StoreFailed(failure) => Done::StoreFailed(failure),
        }
    }

    /// A person changed the input: it is checked again, and no deny rule is passed by it.
    async fn changed(&self, tool: &dyn Tool, one: &OneCall, input: &Json, by: Option<Origin>, gate: &Gate<'_>) -> Done {
        let subject: Subject = match tool.check(input, &one.context).await {
            Ok(subject) => subject,
            Err(failure) => return refused(failure, How::NotRun),
        };
        if let Some(message) = gate.forbids(&tool.spec().name, &subject) {
            return Done::Denied { message };
        }
        let who = by.as_ref().map_or_else(|| "somebody".to_owned(), ToString::to_string);
        match self.start(tool, one, input, &subject, by).await {
            Done::Result { mut parts, how, changes } => {
                parts.insert(0, part(format!("[The input was changed by {who} before it ran: {input}]")));
                Done::Result { parts, how, changes }
            }
            other => other,
        }
    }

    async fn start(&self, tool: &dyn Tool, one: &OneCall, input: &Json, subject: &Subject, by: Option<Origin>) -> Done {
        if let Some(ended) = self.ended(one) {
            return ended;
        }
        let OneCall { call, context, token, .. } = one;
        if let Effects::SideEffects = tool.traits(input).effects {
            let changed = *input != call.input;
            let started = ToolStarted {
                tool_use: call.id.clone(),
                name: call.name.clone(),
                effective_input: changed.then(|| input.clone()),
                changed_by: by.filter(|_| changed),
            };
            if let Err(failure) = self.log.started(started).await {
                return Done::StoreFailed(failure);
            }
        }
        let progress = |text: String| self.log.progress(&call.id, text);
        let policy = (self.policy)(context);
        let context =
            CallContext { id: &call.id, context, subject, policy: &policy, progress: &progress, cancel: token.clone(), tasks: self.tasks };
        let outputs = context.context.outputs.clone();
        // A tool that panics fails its call, not its session.
        let called = match AssertUnwindSafe(async { tool.call(input, context).await }).catch_unwind().await {
            Ok(called) => called,
            Err(_) => {
                let text = format!("{} failed unexpectedly; the daemon's log says more. It may have had effects.", call.name);
                return Done::Result { parts: vec![part(text)], how: How::Badly, changes: Vec::new() };
            }
        };
        let done = match called {
            Ok(ToolOutput { content, changes }) => Done::Result { parts: content, how: How::Well, changes },
            Err(failure) => refused(failure, How::Badly),
        };
        match done {
            Done::Result { parts, how, changes } => {
                Done::Result { parts: large::bounded(parts, tool.max_result_bytes(), &outputs, &call.id).await, how, changes }
            }
            other => other,
        }
    }

    /// The synthetic result of a call that must not start any more.
    fn ended(&self, one: &OneCall) -> Option<Done> {
        self.ending(&one.siblings).map(|why| Done::not_run(format!("The call was {why} before it ran.")))
    }

    /// Why calls of the batch are being ended, if they are.
    fn ending(&self, siblings: &CancellationToken) -> Option<&'static str> {
        if self.cancel.is_cancelled() {
            return Some((self.why)().words());
        }
        siblings.is_cancelled().then_some("cancelled, because another call of the same batch failed,")
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
        match near.as_slice() {
            [] => format!("There is no tool `{name}`. There are: {}.", names.join(", ")),
            near => format!("There is no tool `{name}`; did you mean {}?", near.join(" or ")),
        }
    }
}

fn refused(failure: ToolFailure, how: How) -> Done {
    match failure {
        ToolFailure::TellModel(text) => Done::Result { parts: vec![part(text)], how, changes: Vec::new() },
        ToolFailure::Failed { text, changes } => Done::Result { parts: vec![part(text)], how, changes },
        ToolFailure::EndSubmission(failure) => Done::Fatal { message: failure.message.clone(), failure },
    }
}

fn part(text: impl Into<String>) -> ResultPart {
    ResultPart::Text { text: text.into() }
}
