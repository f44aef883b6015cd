//! The session's state as a fold over its durable events: queue, permissions, the open submission, totals.
//! Nothing of it is stored beside the events, and folding never fails after the first one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::outcome::Denial;
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::permission::{PermissionRequest, PermissionResolved};
use agentd_types::question::{Answered, Question};
use agentd_types::queue::{QueueChange, RunOptions};
use agentd_types::session::{SessionInfo, SessionMeta, SessionState};
use agentd_types::system::{InterruptReason, RecoveryOutcome, SessionChanges, System};
use agentd_types::task::Task;
use agentd_types::{
    Block, Body, CommandId, Event, Json, MessageId, Money, Origin, Seq, SessionId, SubmissionId, Timestamp, ToolUseId, Usage,
};
use serde::{Deserialize, Serialize};

pub use self::half::{Half, Told};
pub use self::tasks::Floor;
use crate::queue::Pending;

mod asked;
mod half;
mod tasks;

/// Characters of `last_text` a list row keeps.
const LAST_TEXT_CHARS: usize = 200;
/// How long an idempotency key holds: 7 days in milliseconds.
pub const KEY_LIFE_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The first event of a session was not `system: created`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session's first event must be `system: created`, not `{found}`")]
pub struct Unfoldable {
    pub found: &'static str,
}

/// A call of a stored message without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    pub id: ToolUseId,
    pub name: String,
    /// When it started, if it has side effects and did.
    pub started: Option<Timestamp>,
}

/// The submission that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: SubmissionId,
    pub started_at: Timestamp,
    pub options: RunOptions,
    /// The commands it answers so far.
    pub commands: Vec<CommandId>,
    pub calls: Vec<OpenCall>,
    /// Decisions of this submission's calls.
    pub answers: BTreeMap<ToolUseId, PermissionResolved>,
    /// Answers to its calls' questions: the call, the question's place, what was said.
    pub replies: Vec<(ToolUseId, u32, Answered)>,
    pub loop_state: Option<Json>,
    /// What answers since that record used, by model.
    pub unpaid: Vec<(String, Usage)>,
    /// Calls denied so far, as of that record.
    pub denials: Vec<Denial>,
    /// What came of an answer that was not whole yet.
    pub partial: Option<Half>,
    /// The newest message, if it is one that broke off.
    pub cut: Option<MessageId>,
    /// Whether somebody said what becomes of it after a crash.
    pub told: Told,
    /// What the newest message calls for.
    pub point: Point,
    pub parked: bool,
}

/// Where the newest message leaves a submission, calls aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// The model is to be asked.
    Asking,
    /// Every call has its result, and the round is not closed yet.
    Results,
    /// The final answer is there, its `result` is not.
    Answered,
}

/// What an idempotency key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub command: CommandId,
    pub seq: Seq,
    pub fingerprint: u64,
    pub at: Timestamp,
}

/// A session, folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    pub id: SessionId,
    pub meta: Arc<SessionMeta>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_seq: Seq,
    pub queue: Pending,
    pub keys: BTreeMap<String, KeyUse>,
    pub run: Option<Run>,
    pub open: Vec<PermissionRequest>,
    pub answered: Vec<(PermissionRequest, PermissionResolved, Timestamp)>,
    /// Open questions, oldest first.
    pub questions: Vec<Question>,
    pub replied: Vec<(Question, Answered, Timestamp)>,
    /// Rules that answers "for this session" or "always" put in force.
    pub allowed: Vec<String>,
    /// Those that run, and those that ended last; oldest first.
    pub tasks: Vec<Task>,
    pub floor: Floor,
    /// Notes in the queue that start nothing until a person has spoken.
    pub silent: BTreeSet<CommandId>,
    pub cost: Money,
    pub last_text: String,
    /// Where the newest result stands.
    pub last_result: Option<(SubmissionId, Seq)>,
    pub ending: Ending,
    /// Options of the command taken last: the prompt in the same record starts with them.
    taken: RunOptions,
}

/// How things stand when nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ending {
    /// The last submission ended by itself.
    Whole,
    /// It was cut: by a person, or by a crash.
    Interrupted,
    Failed,
    Deleted,
}

impl Projection {
    /// The state after `created`, a session's first event.
    ///
    /// # Errors
    /// [`Unfoldable`] when it is anything else.
    pub fn open(created: &Event) -> Result<Projection, Unfoldable> {
        let Body::System(System::Created { meta, .. }) = &created.body else {
            return Err(Unfoldable { found: created.body.type_name() });
        };
        Ok(Projection {
            id: created.session,
            meta: Arc::new(meta.clone()),
            created_at: created.time,
            updated_at: created.time,
            last_seq: created.seq,
            queue: Pending::default(),
            keys: BTreeMap::new(),
            run: None,
            open: Vec::new(),
            answered: Vec::new(),
            questions: Vec::new(),
            replied: Vec::new(),
            allowed: Vec::new(),
            tasks: Vec::new(),
            floor: Floor::Open,
            silent: BTreeSet::new(),
            cost: Money::ZERO,
            last_text: String::new(),
            last_result: None,
            ending: Ending::Whole,
            taken: RunOptions::default(),
        })
    }

    /// Folds the next event. Subagents' events (with an `agent`) change only what the whole session shares.
    pub fn fold(&mut self, event: &Event) {
        self.last_seq = event.seq;
        self.updated_at = event.time;
        match &event.body {
            // A subagent's own conversation is its own affair.
            Body::User(_) | Body::Assistant(_) | Body::Attachment(_) | Body::System(_) | Body::Tombstone { .. } | Body::Result(_)
                if event.agent.is_some() => {}
            Body::User(user) => self.fold_user(event, user),
            Body::Assistant(assistant) => self.fold_assistant(assistant),
            Body::Attachment(attachment) => {
                if let (Some(run), Some(command)) = (&mut self.run, attachment.command) {
                    run.commands.push(command);
                }
            }
            Body::System(system) => self.fold_system(event, system),
            Body::Tombstone { message, .. } => self.fold_tombstone(*message),
            Body::PermissionRequest(request) => self.open.push(request.clone()),
            Body::PermissionResolved(resolved) => self.fold_resolved(event, resolved),
            Body::Question(question) => self.questions.push(question.clone()),
            Body::Answer(answered) => self.fold_answer(event, answered),
            Body::Queue(change) => self.fold_queue(event, change),
            Body::Task(change) => self.fold_task(event, change),
            Body::Result(result) => self.fold_result(event, result),
        }
    }

    /// What it is doing, for clients.
    #[must_use]
    pub fn state(&self) -> SessionState {
        match (&self.run, self.ending) {
            (_, Ending::Deleted) => SessionState::Archived,
            (_, Ending::Failed) => SessionState::Failed,
            // A subagent in the background may ask while its session is idle.
            _ if !self.open.is_empty() => SessionState::WaitingPermission,
            _ if !self.questions.is_empty() => SessionState::WaitingAnswer,
            (Some(_), _) => SessionState::Running,
            (None, Ending::Interrupted) => SessionState::Interrupted,
            (None, Ending::Whole) => SessionState::Idle,
        }
    }

    /// Its row in the list.
    #[must_use]
    pub fn info(&self) -> SessionInfo {
        SessionInfo {
            id: self.id,
            name: self.meta.name.clone(),
            state: self.state(),
            cwd: self.meta.cwd.clone(),
            model: self.meta.model.clone(),
            permission_mode: self.meta.permission_mode,
            created_at: self.created_at,
            updated_at: self.updated_at,
            cost: self.cost,
            queued: u32::try_from(self.queue.commands().len()).unwrap_or(u32::MAX),
            tasks_running: u32::try_from(self.running_tasks().count()).unwrap_or(u32::MAX),
            permissions_open: u32::try_from(self.open.len()).unwrap_or(u32::MAX),
            last_text: self.last_text.clone(),
            last_seq: self.last_seq,
        }
    }

    fn fold_user(&mut self, event: &Event, user: &UserMessage) {
        match (user.kind, event.submission) {
            (UserKind::Prompt, Some(submission)) => {
                self.ending = Ending::Whole;
                if let Some(Origin::Person { .. } | Origin::Bridge { .. }) = &event.origin {
                    self.end_silence();
                }
                self.run = Some(Run {
                    id: submission,
                    started_at: event.time,
                    options: std::mem::take(&mut self.taken),
                    commands: user.commands.clone(),
                    calls: Vec::new(),
                    answers: BTreeMap::new(),
                    replies: Vec::new(),
                    loop_state: None,
                    unpaid: Vec::new(),
                    denials: Vec::new(),
                    partial: None,
                    cut: None,
                    told: Told::No,
                    point: Point::Asking,
                    parked: false,
                });
            }
            (UserKind::Prompt | UserKind::ToolResults | UserKind::Meta, _) => {}
        }
        let Some(run) = &mut self.run else { return };
        run.cut = None;
        run.point = match user.kind {
            UserKind::Prompt | UserKind::Meta => Point::Asking,
            UserKind::ToolResults => Point::Results,
        };
        for block in &user.content {
            if let Block::ToolResult { tool_use_id, .. } = block {
                run.calls.retain(|call| call.id != *tool_use_id);
            }
        }
    }

    fn fold_assistant(&mut self, assistant: &AssistantMessage) {
        if let Some(text) = last_text(&assistant.content) {
            self.last_text = text;
        }
        let Some(run) = &mut self.run else { return };
        let calls: Vec<OpenCall> = assistant
            .content
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { id, name, .. } => Some(OpenCall { id: id.clone(), name: name.clone(), started: None }),
                Block::Text { .. }
                | Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::ToolResult { .. }
                | Block::Image { .. }
                | Block::Other { .. } => None,
            })
            .collect();
        // An answer that paused itself goes on.
        let is_final = assistant.stop_reason.as_deref().is_some_and(|stop| stop != "pause_turn");
        run.point = if calls.is_empty() && is_final { Point::Answered } else { Point::Asking };
        run.calls = calls;
        run.partial = None;
        run.cut = assistant.stop_reason.is_none().then_some(assistant.message);
        match run.unpaid.iter_mut().find(|(model, _)| *model == assistant.model) {
            Some((_, usage)) => *usage += assistant.usage,
            None => run.unpaid.push((assistant.model.clone(), assistant.usage)),
        }
    }

    fn fold_system(&mut self, event: &Event, system: &System) {
        match system {
            System::SessionUpdated { changes } => apply_changes(Arc::make_mut(&mut self.meta), changes),
            System::LoopState(record) => {
                if let Some(run) = &mut self.run {
                    run.loop_state = Some(record.state.clone());
                    run.unpaid.clear();
                    run.denials.extend(record.denials.iter().cloned());
                    run.parked = false;
                    // The iteration it closes went round; results before it are the next request's.
                    run.point = Point::Asking;
                }
            }
            System::ToolStarted(started) => {
                if let Some(call) = self.run.iter_mut().flat_map(|run| &mut run.calls).find(|call| call.id == started.tool_use) {
                    call.started = Some(event.time);
                }
            }
            System::Parked { .. } => {
                if let Some(run) = &mut self.run {
                    run.parked = true;
                }
            }
            System::Interrupted { reason, .. } => {
                self.ending = Ending::Interrupted;
                match reason {
                    InterruptReason::UserCancel => self.silence_notes(),
                    InterruptReason::Interrupt | InterruptReason::Drain => {}
                }
            }
            System::Recovered { outcome, .. } => match outcome {
                RecoveryOutcome::Dropped => self.ending = Ending::Interrupted,
                RecoveryOutcome::Continued => {
                    if let Some(run) = &mut self.run {
                        run.told = Told::No;
                    }
                }
                RecoveryOutcome::Waiting => {
                    if let Some(run) = &mut self.run {
                        run.parked = true;
                    }
                }
            },
            System::Failed { .. } => {
                self.ending = Ending::Failed;
                self.run = None;
                self.open.clear();
                self.questions.clear();
            }
            System::Deleted => self.ending = Ending::Deleted,
            System::Partial(partial) => self.fold_partial(partial),
            System::Created { .. }
            | System::Init(_)
            | System::ApiRetry(_)
            | System::ModelFallback(_)
            | System::Frame(_)
            | System::Notice { .. } => {}
        }
    }

    fn fold_queue(&mut self, event: &Event, change: &QueueChange) {
        if let QueueChange::Enqueued { command } = change {
            self.fold_silence(command);
        }
        if let QueueChange::Delivered { id } | QueueChange::Removed { id } | QueueChange::Refused { id, .. } = change {
            self.silent.remove(id);
        }
        if let QueueChange::Enqueued { command } = change
            && let Some(key) = &command.idempotency_key
        {
            self.keys.retain(|_, used| event.time.since(used.at) < KEY_LIFE_MS);
            let used = KeyUse { command: command.id, seq: event.seq, fingerprint: fingerprint(&command.content), at: event.time };
            self.keys.insert(key.clone(), used);
        }
        if let QueueChange::Delivered { id } = change
            && let Some(command) = self.queue.get(*id)
        {
            self.taken = command.options.clone();
        }
        self.queue.fold(change);
    }

    fn fold_result(&mut self, event: &Event, result: &SubmissionResult) {
        // Not `session_cost`: tasks in the background may have cost something meanwhile.
        self.cost += result.cost;
        self.last_result = Some((result.submission, event.seq));
        self.ending = ending_of(result.terminal, self.ending);
        self.run = None;
    }
}

fn apply_changes(meta: &mut SessionMeta, changes: &SessionChanges) {
    let SessionChanges { name, model, permission_mode, limits, notes } = changes;
    if let Some(name) = name {
        meta.name = Some(name.clone()).filter(|name| !name.is_empty());
    }
    if let Some(model) = model {
        meta.model.clone_from(model);
    }
    if let Some(mode) = permission_mode {
        meta.permission_mode = *mode;
    }
    if let Some(limits) = limits {
        meta.limits = *limits;
    }
    if let Some(notes) = notes {
        meta.notes = *notes;
    }
}

/// A content's fingerprint: equal contents have equal ones; stable within a process, which is all a fold needs.
#[must_use]
pub fn fingerprint(content: &[Block]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for block in content {
        format!("{block:?}").hash(&mut hasher);
    }
    hasher.finish()
}

/// The end of what a message says, as a list shows it; nothing if it says nothing.
pub(super) fn last_text(content: &[Block]) -> Option<String> {
    let text = agentd_types::content::plain_text(content);
    Some(text.trim()).filter(|text| !text.is_empty()).map(|text| tail_of(text, LAST_TEXT_CHARS))
}

/// How things stand after a submission that ended so.
pub(super) fn ending_of(terminal: TerminalName, before: Ending) -> Ending {
    match terminal {
        TerminalName::AbortedStreaming | TerminalName::AbortedTools => before,
        TerminalName::Completed
        | TerminalName::MaxTurns
        | TerminalName::MaxBudget
        | TerminalName::PromptTooLong
        | TerminalName::ImageError
        | TerminalName::ModelError
        | TerminalName::HookStopped
        | TerminalName::StopHookPrevented
        | TerminalName::BlockingLimit
        | TerminalName::StructuredOutputRetries => Ending::Whole,
    }
}

/// The last `chars` characters of `text`.
fn tail_of(text: &str, chars: usize) -> String {
    let skip = text.chars().count().saturating_sub(chars);
    text.chars().skip(skip).collect()
}

#[cfg(test)]
mod tests;
