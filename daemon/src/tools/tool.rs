//! What a tool is: the trait, what it is handed, what it gives back. No tool is named here.

use std::pin::Pin;
use std::sync::Arc;

use agentd_core::permission::{Policy, Subject};
use agentd_core::query::{ModelFailure, StoreFailure};
use agentd_core::tools::{CallTraits, ToolSpec};
use agentd_types::content::ResultPart;
use agentd_types::system::ToolStarted;
use agentd_types::{AbsPath, Block, Json, SessionId, ToolUseId};
use tokio_util::sync::CancellationToken;

use super::host::TaskHost;
use crate::files::ReadCache;
use crate::permissions::asker::Asked;

/// A boxed future: tools live in a registry.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Bytes of text in a result, unless its tool says otherwise.
const MAX_RESULT: usize = 100_000;

/// A tool. The chain for every call: find, read the input by the schema, `check`, permission, `call`.
pub trait Tool: Send + Sync + 'static {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;

    /// Other names it is called by.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// What whoever is attached is to be asked before it is called; the answers come back in its input, as `answers`.
    fn asks(&self, _input: &Json) -> Vec<Asked> {
        Vec::new()
    }

    /// What this call would be; an input that cannot be read is the least trusted kind.
    fn traits(&self, input: &Json) -> CallTraits;

    /// Validates the input against schema and world, and says what permission is asked about. Changes nothing.
    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>>;

    /// Bytes of text a result may have; a longer one goes into a file and is shown by its beginning and end.
    fn max_result_bytes(&self) -> usize {
        MAX_RESULT
    }

    /// Does it. Dropping the future must be safe; cancellation comes by the token.
    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>>;
}

/// The shared bus: what every call of a conversation sees. A value; changes come back as [`ContextChange`]s.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub session: SessionId,
    pub cwd: AbsPath,
    /// Folders that count as allowed: the session's own first.
    pub allowed: Arc<[AbsPath]>,
    /// The session's environment.
    pub environment: Arc<[(String, String)]>,
    /// Where large outputs of this session go.
    pub outputs: AbsPath,
    /// What was read, when, in which state.
    pub read_cache: ReadCache,
}

/// One call's surroundings.
pub struct CallContext<'a> {
    pub id: &'a ToolUseId,
    pub context: &'a ToolContext,
    /// What permission was given for: files are opened there, wherever links lead by now.
    pub subject: &'a Subject,
    /// What is in force here: what a search must leave out.
    pub policy: &'a Policy,
    /// Tells clients what goes on; ephemeral.
    pub progress: &'a (dyn Fn(String) + Send + Sync),
    pub cancel: CancellationToken,
    /// The session's tasks.
    pub tasks: &'a dyn TaskHost,
}

/// A call's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    pub content: Vec<ResultPart>,
    pub changes: Vec<ContextChange>,
}

impl ToolOutput {
    /// A plain text result that changes nothing of the context.
    #[must_use]
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![ResultPart::Text { text: text.into() }], changes: Vec::new() }
    }
}

/// What a call changed of the shared bus; applied in the order calls came.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextChange {
    Cwd(AbsPath),
    /// A file was read or written: its state now.
    Seen(crate::files::SeenFile),
}

/// A failed call, by who must act.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolFailure {
    /// The model can: an `is_error` result.
    TellModel(String),
    /// The same, by a call that changed something of the context before it failed.
    Failed { text: String, changes: Vec<ContextChange> },
    /// Nobody here can.
    EndSubmission(ModelFailure),
}

/// A call the model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: ToolUseId,
    pub name: String,
    pub input: Json,
}

/// Where running calls tell what happens; implemented by the engine over its ledger.
pub trait CallLog: Send + Sync {
    /// A call with side effects is about to run. Returns when that is as durable as its effects need.
    fn started(&self, started: ToolStarted) -> Boxed<'_, Result<(), StoreFailure>>;

    /// A line of progress; may be dropped.
    fn progress(&self, id: &ToolUseId, text: String);
}

/// Where results go, in the order the calls came; implemented by the engine.
pub trait Results: Send {
    /// Calls have their results (`tool_result` blocks). Returns when these are written.
    fn finished(&mut self, results: Vec<Block>) -> Boxed<'_, Result<(), StoreFailure>>;

    /// A call was denied, for the submission's result.
    fn denied(&mut self, call: &Call);
}
