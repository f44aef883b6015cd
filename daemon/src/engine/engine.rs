//! `QueryEngine`: the one public door. A submission goes in with its conversation; both come out.
//! It never numbers an event, never sees a client, never decides what the table decides.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use agentd_core::model::{SystemPart, catalog, price};
use agentd_core::permission::{Policy, Scope};
use agentd_core::prompt::{Surroundings, frame, is_kept, system};
use agentd_core::query::{
    Abilities, CallLimits, FailureKind, Limits, LoopState, ModelFailure, Resume, Seen, StoreFailure, Terminal, ToolBatch,
};
use agentd_core::session::recover::stands;
use agentd_core::session::{Point, Standing, Start, StartFrom, TaskEnd};
use agentd_types::outcome::{Denial, SubmissionResult};
use agentd_types::rule::Rule;
use agentd_types::session::SessionMeta;
use agentd_types::system::{Frame, Init, InterruptReason, LoopRecord, System};
use agentd_types::{Body, Entry, SessionId};
use tokio::sync::watch;

use super::asked::{Asked, resolve};
use super::cancel::Cancel;
use super::conversation::Conversation;
use super::drive::{Ended, drive};
use super::hands::{EngineHands, Learnt};
use super::kit::Kit;
use super::ledger::{Durability, Feed, Ledger};
use super::said::{interrupt_marker, meta_message};
use super::tally::{Bill, Tally};
use crate::models::provider::Provider;
use crate::permissions::asker::Asker;
use crate::tools::host::TaskHost;
use crate::tools::survey::Surveyed;
use crate::tools::tool::ToolContext;

/// What a submission gets from its session.
#[derive(Clone)]
pub struct Surround {
    pub session: SessionId,
    pub meta: Arc<SessionMeta>,
    /// Rules that answers put in force in this session, as of now.
    pub allowed: watch::Receiver<Vec<String>>,
    pub ledger: Arc<dyn Ledger>,
    pub feed: Arc<dyn Feed>,
    pub asker: Arc<dyn Asker>,
    pub tasks: Arc<dyn TaskHost>,
    /// What the session spent so far, all its loops together: nano-dollars.
    pub spent: Arc<AtomicU64>,
}

/// Drives submissions of one conversation, one at a time.
pub struct QueryEngine {
    kit: Arc<Kit>,
    conversation: Conversation,
    /// Who was asked last; a provider may count a session's requests.
    provider: Option<(String, Arc<dyn Provider>)>,
    /// The system field, the same until the conversation is loaded again.
    frame: Option<Arc<[SystemPart]>>,
    /// Models that are in no table and were spoken of.
    cautioned: Vec<String>,
    last_result: Option<SubmissionResult>,
}

impl QueryEngine {
    #[must_use]
    pub fn new(kit: Arc<Kit>, conversation: Conversation) -> QueryEngine {
        QueryEngine { kit, conversation, provider: None, frame: None, cautioned: Vec::new(), last_result: None }
    }

    /// How the submission before ended.
    #[must_use]
    pub fn last_result(&self) -> Option<&SubmissionResult> {
        self.last_result.as_ref()
    }

    /// Folds an event that the session appended by itself (a prompt, a synthetic result).
    pub fn fold(&mut self, event: &agentd_types::Event) {
        self.conversation.fold(event);
    }

    /// Drives one submission to its end. Its `result` (or `parked`) is durable when this returns, unless the store failed.
    pub async fn submit(mut self, start: Start, around: Surround, cancel: Cancel) -> (QueryEngine, TaskEnd) {
        let kit = Arc::clone(&self.kit);
        self.last_result = None;
        let model = effective(&kit, &around.meta.model);
        let limits = limits(&kit, &start, &around.meta, &model);
        let (state, first) = opening(&start);
        let before = Bill { usage: state.spend.usage, cost: state.spend.cost };
        let mut tally = Tally::new(&start, &model, self.conversation.last_text(), before);
        let spent = state.spend.cost;
        let provider = match self.provider_of(&model, &around).await {
            Ok(provider) => provider,
            Err(message) => {
                let failure = ModelFailure { kind: FailureKind::Api("no_provider".to_owned()), status: None, message };
                let last = LastState { terminal: Terminal::ModelError(failure), state, learnt: Learnt::default() };
                let end = self.finish(&around, &start, &tally, last, &cancel).await;
                return (self, end);
            }
        };
        let frame = match self.open(&start, &around, &cancel, Opening { model: &model, key_source: provider.key_source() }).await {
            Ok(frame) => frame,
            Err(failure) => return (self, TaskEnd::Failed(failure)),
        };
        let asked = Asked::new(model, provider, fallbacks(&kit, &start));
        let mut hands = EngineHands::new(&kit, &mut self.conversation, &start, &around, &cancel, asked, frame, limits, &mut tally, spent);
        let ended = drive(state, first, &limits, &mut hands).await;
        if let Err(failure) = hands.keep_withheld().await {
            drop(hands);
            return (self, TaskEnd::Failed(failure));
        }
        let learnt = hands.into_learnt();
        let end = match ended {
            Ended::Stopped(terminal, state) => self.finish(&around, &start, &tally, LastState { terminal, state, learnt }, &cancel).await,
            Ended::Parked(open, state) => {
                let record = loop_state(&start, &learnt.standing(state), tally.unrecorded_denials());
                let parked = Entry::of(start.submission, Body::System(System::Parked { open: open.0 }));
                match around.ledger.append(vec![record, parked], Durability::Synced).await {
                    Ok(receipt) => {
                        receipt.iter().for_each(|event| self.conversation.fold(event));
                        TaskEnd::Parked
                    }
                    Err(failure) => TaskEnd::Failed(failure),
                }
            }
            Ended::Failed(failure) => TaskEnd::Failed(failure),
        };
        (self, end)
    }

    /// Says what the submission starts with, and what stands in front of its messages.
    async fn open(
        &mut self,
        start: &Start,
        around: &Surround,
        cancel: &Cancel,
        opening: Opening<'_>,
    ) -> Result<Arc<[SystemPart]>, StoreFailure> {
        let Opening { model, key_source } = opening;
        let mut entries = Vec::with_capacity(3);
        match start.from {
            StartFrom::Prompt => entries.push(init(&self.kit, start, around, model, key_source)),
            StartFrom::Reopen { .. } => {}
        }
        if let Some(caution) = price::caution(model).filter(|_| !self.cautioned.iter().any(|it| it == model)) {
            self.cautioned.push(model.to_owned());
            entries.push(Entry::of(start.submission, Body::System(System::Notice { text: caution })));
        }
        let wished = wished_fallbacks(&self.kit, start).len();
        if wished > CallLimits::DEFAULT.fallbacks {
            let text = format!("of {wished} fallback models the first {} are used", CallLimits::DEFAULT.fallbacks);
            entries.push(Entry::of(start.submission, Body::System(System::Notice { text })));
        }
        let frame = match self.standing_frame(model) {
            Some(frame) => frame,
            None => match cancel.race(self.make_frame(around)).await {
                Some(frame) => {
                    entries.push(Entry::of(start.submission, Body::System(System::Frame(frame.clone()))));
                    Arc::new(frame)
                }
                // Nothing is asked any more.
                None => Arc::new(Frame { fixed: String::new(), tail: String::new() }),
            },
        };
        if !entries.is_empty() {
            let receipt = around.ledger.append(entries, Durability::Written).await?;
            receipt.iter().for_each(|event| self.conversation.fold(event));
        }
        let parts: Arc<[SystemPart]> = match &self.frame {
            Some(parts) => Arc::clone(parts),
            None => system(&frame).into(),
        };
        if self.conversation.frame.is_some() {
            self.frame = Some(Arc::clone(&parts));
        }
        Ok(parts)
    }

    /// The recorded frame, while it holds.
    fn standing_frame(&self, model: &str) -> Option<Arc<Frame>> {
        let frame = self.conversation.frame.clone()?;
        let age_ms = self.kit.clock.now().since(self.conversation.frame_used_at);
        let holds = self.frame.is_some() || is_kept(catalog::look_up(model).0.prefix, age_ms);
        holds.then_some(frame)
    }

    async fn make_frame(&self, around: &Surround) -> Frame {
        let meta = &around.meta;
        let Surveyed { os, git } = self.kit.survey.look(&meta.cwd, &meta.environment).await;
        frame(&Surroundings {
            cwd: meta.cwd.clone(),
            platform: std::env::consts::OS.to_owned(),
            os,
            date: super::kit::day(self.conversation.created_at),
            git,
            append: meta.append_system_prompt.clone(),
        })
    }

    /// The session's provider; reading a rehearsal's script blocks.
    async fn provider_of(&mut self, model: &str, around: &Surround) -> Result<Arc<dyn Provider>, String> {
        if let Some((of, provider)) = &self.provider
            && of == model
        {
            return Ok(Arc::clone(provider));
        }
        let provider = resolve(&self.kit, model, around.meta.cwd.as_path()).await?;
        self.provider = Some((model.to_owned(), Arc::clone(&provider)));
        Ok(provider)
    }

    /// What the last round learnt, the marker if a person cancelled, and the result: one durable record.
    async fn finish(&mut self, around: &Surround, start: &Start, tally: &Tally, last: LastState, cancel: &Cancel) -> TaskEnd {
        let kit = &self.kit;
        let LastState { terminal, state, learnt } = last;
        let entry = |body| Entry::of(start.submission, body);
        let mut entries = Vec::with_capacity(4);
        let result = result(tally, &state, &terminal, kit.clock.now());
        self.last_result = Some(result.clone());
        if !learnt.is_empty() {
            // What was denied is in the result.
            entries.push(loop_state(start, &learnt.standing(state), Vec::new()));
        }
        if let (Terminal::AbortedStreaming | Terminal::AbortedTools, Some(reason)) = (&terminal, cancel.reason()) {
            match reason {
                InterruptReason::UserCancel => entries.push(entry(meta_message(kit.entropy.as_ref(), interrupt_marker()))),
                InterruptReason::Interrupt | InterruptReason::Drain => {}
            }
            entries.push(entry(Body::System(System::Interrupted { reason, by: cancel.by() })));
        }
        entries.push(entry(Body::Result(result)));
        match around.ledger.append(entries, Durability::Synced).await {
            Ok(receipt) => {
                receipt.iter().for_each(|event| self.conversation.fold(event));
                TaskEnd::Stopped
            }
            Err(failure) => TaskEnd::Failed(failure),
        }
    }
}

/// Who is asked first.
struct Opening<'a> {
    model: &'a str,
    key_source: &'a str,
}

/// How the loop was left.
struct LastState {
    terminal: Terminal,
    state: LoopState,
    learnt: Learnt,
}

/// The model that is asked: the session's, or the daemon's default.
fn effective(kit: &Kit, model: &str) -> String {
    let model = if model.trim().is_empty() { kit.models.default_model() } else { model.trim() };
    model.to_owned()
}

/// The models a submission may go over to: its own wish, or the settings'.
fn fallbacks<'a>(kit: &'a Kit, start: &'a Start) -> &'a [String] {
    let wished = wished_fallbacks(kit, start);
    &wished[..wished.len().min(CallLimits::DEFAULT.fallbacks)]
}

fn wished_fallbacks<'a>(kit: &'a Kit, start: &'a Start) -> &'a [String] {
    let wished = &start.options.fallback_models;
    if wished.is_empty() { &kit.settings.fallback_models } else { wished }
}

/// The permission policy of a submission: the settings' rules, its folder's, the session's own, and what answers put in force.
#[must_use]
pub fn policy(kit: &Kit, around: &Surround, context: &ToolContext) -> Policy {
    let rules = |texts: &[String]| texts.iter().filter_map(|text| text.parse::<Rule>().ok()).collect::<Vec<_>>();
    let settings = &kit.settings.permissions;
    let mut allow = settings.allow.clone();
    allow.extend(kit.folders.allowed(&around.meta.cwd));
    allow.extend(rules(&around.meta.allow));
    allow.extend(rules(&around.allowed.borrow()));
    let mut deny = settings.deny.clone();
    deny.extend(rules(&around.meta.deny));
    Policy {
        mode: around.meta.permission_mode,
        allow,
        deny,
        ask: settings.ask.clone(),
        scope: Scope {
            cwd: context.cwd.clone(),
            allowed: context.allowed.to_vec(),
            home: kit.home.clone(),
            protected: kit.protected.clone(),
        },
    }
}

/// The loop's brakes: the submission's own over the session's over the settings'.
fn limits(kit: &Kit, start: &Start, meta: &SessionMeta, model: &str) -> Limits {
    let facts = catalog::look_up(model).0;
    let max_turns = start.options.max_turns.or(meta.limits.max_turns).or(kit.settings.max_turns);
    Limits {
        abilities: Abilities { compact: false, collapse: false, stop_hooks: false, escalate: facts.raised_cap() > facts.default_cap() },
        max_turns,
        max_budget: start.options.max_budget,
        ..Limits::default()
    }
}

/// Where the loop starts.
fn opening(start: &Start) -> (LoopState, Seen) {
    match &start.from {
        StartFrom::Prompt => (LoopState::start(), Seen::Opened),
        StartFrom::Reopen { calls, point, loop_state, unpaid, denials: _ } => {
            let state = stands(loop_state.as_ref().and_then(Standing::read), unpaid);
            let open = || ToolBatch { calls: calls.iter().map(|call| call.id.clone()).collect() };
            let resume = match (calls.is_empty(), point) {
                // Without a call left the batch is done at once, and the round is closed as it would have been.
                (false, _) | (true, Point::Results) => Resume::Calls(open()),
                (true, Point::Answered) => Resume::Answered,
                (true, Point::Asking) => Resume::Nothing,
            };
            (state, Seen::Reopened(resume))
        }
    }
}

fn init(kit: &Kit, start: &Start, around: &Surround, model: &str, key_source: &str) -> Entry {
    let init = Init {
        model: model.to_owned(),
        tools: kit.specs.iter().map(|spec| spec.name.clone()).collect(),
        cwd: around.meta.cwd.clone(),
        permission_mode: around.meta.permission_mode,
        api_key_source: key_source.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Entry::of(start.submission, Body::System(System::Init(init)))
}

/// A `loop_state` entry.
#[must_use]
pub fn loop_state(start: &Start, standing: &Standing, denials: Vec<Denial>) -> Entry {
    let record = LoopRecord {
        round: standing.state.round,
        transition: standing.state.transition.map(|name| name.as_str().to_owned()),
        state: standing.to_json(),
        denials,
    };
    Entry::of(start.submission, Body::System(System::LoopState(record)))
}

fn result(tally: &Tally, state: &LoopState, terminal: &Terminal, now: agentd_types::Timestamp) -> SubmissionResult {
    let (detail, error_kind, error_status) = words(terminal);
    let mut bill = tally.of_cut_calls();
    bill += Bill { usage: state.spend.usage, cost: state.spend.cost };
    SubmissionResult {
        submission: tally.submission(),
        terminal: terminal.name(),
        detail,
        error_kind,
        error_status,
        text: tally.text().to_owned(),
        stop_reason: tally.stop_reason(),
        num_turns: state.round,
        duration_ms: now.since(tally.started_at()),
        duration_api_ms: tally.api_ms(),
        usage: bill.usage,
        cost: bill.cost,
        // The session's actor knows it.
        session_cost: bill.cost,
        models: tally.shares(),
        denials: tally.denials(),
        answered: tally.answered(),
    }
}

/// What a person needs to know beyond the terminal's name.
fn words(terminal: &Terminal) -> (String, Option<String>, Option<u16>) {
    match terminal {
        Terminal::Completed => (String::new(), None, None),
        Terminal::MaxTurns { limit } => (format!("the limit of {limit} rounds was reached"), None, None),
        Terminal::MaxBudget { spent, limit } => (format!("{spent} of {limit} are spent"), None, None),
        Terminal::PromptTooLong => ("the conversation is too long for the model".to_owned(), None, None),
        Terminal::ImageError => ("the model refused an image as too large".to_owned(), None, None),
        Terminal::ModelError(failure) => (failure.message.clone(), Some(failure.kind.name().to_owned()), failure.status),
        Terminal::AbortedStreaming => ("interrupted while the model answered".to_owned(), None, None),
        Terminal::AbortedTools => ("interrupted while tools ran".to_owned(), None, None),
        Terminal::HookStopped { reason } | Terminal::StopHookPrevented { reason } => (reason.clone(), None, None),
        Terminal::BlockingLimit => ("the conversation fills the model's window and nothing in it can shrink".to_owned(), None, None),
        Terminal::StructuredOutputRetries { tries } => (format!("no valid structured output in {tries} tries"), None, None),
    }
}
