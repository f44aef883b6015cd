//! The real hands: one short method per act. They do what the table decided and report what they saw; no decision here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agentd_core::model::SystemPart;
use agentd_core::model::fallback::{GoOver, go_over};
use agentd_core::query::{
    AutoCompact, Budget, CallLimits, CallPlan, CompactPlan, Compaction, Continue, Cut, Drained, Gathered, Limits, LoopState, Observed,
    PreparePlan, Prepared, Reply, Room, StopVerdict, StoreFailure, ToolBatch, ToolRun, Withheld,
};
use agentd_core::queue::Slept;
use agentd_core::session::{SeenFact, Standing, Start};
use agentd_types::event::{AssistantMessage, Attachment};
use agentd_types::system::{InterruptReason, ModelFallback, System};
use agentd_types::task::{Placement, Task};
use agentd_types::{AbsPath, Body, Entry, MessageId, Money};

use super::asked::Asked;
use super::calling::{Called, Calling};
use super::cancel::Cancel;
use super::conversation::{Conversation, seen_fact};
use super::drive::Hands;
use super::engine::{Surround, loop_state};
use super::kit::Kit;
use super::ledger::{Durability, Receipt};
use super::log::{RoundLog, RoundResults};
use super::purse::{Account, Purse};
use super::said;
use super::tally::{Bill, Tally};
use crate::tools::executor::Executor;
use crate::tools::run::{Interruption, Means};
use crate::tools::sleep;
use crate::tools::tool::ToolContext;

/// The hands of one submission.
pub struct EngineHands<'a> {
    kit: &'a Kit,
    conversation: &'a mut Conversation,
    start: &'a Start,
    around: &'a Surround,
    cancel: &'a Cancel,
    asked: Asked,
    frame: Arc<[SystemPart]>,
    limits: Limits,
    tally: &'a mut Tally,
    /// An answer cut at the output limit: not stored until the table has decided what becomes of it.
    withheld: Option<AssistantMessage>,
    /// The newest answer's calls: some may have started while it streamed.
    executor: Option<Executor<'a>>,
    /// What this round learnt and is not in the log yet.
    learnt: Learnt,
    /// Commands leased by `gather`.
    leased: usize,
    /// What this submission spent, as of the last answer.
    spent: Money,
    allowed: Arc<[AbsPath]>,
    environment: Arc<[(String, String)]>,
}

impl<'a> EngineHands<'a> {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        kit: &'a Kit,
        conversation: &'a mut Conversation,
        start: &'a Start,
        around: &'a Surround,
        cancel: &'a Cancel,
        asked: Asked,
        frame: Arc<[SystemPart]>,
        limits: Limits,
        tally: &'a mut Tally,
        spent: Money,
    ) -> Self {
        Self {
            kit,
            conversation,
            start,
            around,
            cancel,
            asked,
            frame,
            limits,
            tally,
            withheld: None,
            executor: None,
            learnt: Learnt::default(),
            leased: 0,
            spent,
            allowed: allowed_folders(kit, around),
            environment: around.meta.environment.clone().into(),
        }
    }

    /// What the last round learnt and nothing recorded.
    #[must_use]
    pub fn into_learnt(self) -> Learnt {
        self.learnt
    }

    fn fold(&mut self, receipt: &Receipt) {
        receipt.iter().for_each(|event| self.conversation.fold(event));
    }

    async fn append(&mut self, entries: Vec<Entry>, durability: Durability) -> Result<(), StoreFailure> {
        let receipt = self.around.ledger.append(entries, durability).await?;
        self.fold(&receipt);
        Ok(())
    }

    fn entry(&self, body: Body) -> Entry {
        Entry::of(self.start.submission, body)
    }

    fn tool_context(&self) -> ToolContext {
        let meta = &self.around.meta;
        ToolContext {
            session: self.around.session,
            cwd: self.conversation.cwd.clone().unwrap_or_else(|| meta.cwd.clone()),
            allowed: Arc::clone(&self.allowed),
            environment: Arc::clone(&self.environment),
            outputs: self.kit.folder_of(self.around.session).join("outputs"),
            read_cache: self.conversation.read_cache.clone(),
        }
    }

    async fn call(&mut self, plan: CallPlan) -> Observed<Called> {
        self.executor = None;
        let provider = &self.kit.settings.provider;
        let calling = Calling {
            kit: self.kit,
            submission: self.start.submission,
            ledger: self.around.ledger.as_ref(),
            feed: self.around.feed.as_ref(),
            cancel: self.cancel,
            provider: self.asked.provider.as_ref(),
            model: &self.asked.model,
            frame: &self.frame,
            purse: self.purse(),
            limits: CallLimits::with(provider.retry_base_ms, provider.silence_ms),
        };
        let mut executor = self.executor();
        let called = calling.call(self.conversation, plan, self.tally, &mut executor).await?;
        self.executor = Some(executor);
        self.spent += called.reply.cost;
        self.around.spent.fetch_add(called.reply.cost.0, Ordering::Relaxed);
        Ok(called)
    }

    /// Goes over to the next fallback model for the rest of the submission; false when there is none, or no money for it.
    async fn fall_back(&mut self, why: &GoOver) -> Observed<bool> {
        if matches!(self.budget(), Budget::Reached { .. }) {
            return Ok(false);
        }
        let (from, mut passed) = (self.asked.model.clone(), Vec::new());
        let went = self.asked.go_over(self.kit, self.around.meta.cwd.as_path(), &mut passed).await;
        let mut entries: Vec<Entry> = passed.into_iter().map(|text| self.entry(Body::System(System::Notice { text }))).collect();
        if went {
            let reason = format!("{from}: {}", why.reason);
            let fallback = ModelFallback { from, to: self.asked.model.clone(), error: why.error.to_owned(), reason };
            entries.push(self.entry(Body::System(System::ModelFallback(fallback))));
        }
        if !entries.is_empty() {
            self.append(entries, Durability::Written).await.map_err(Cut::StoreFailed)?;
        }
        Ok(went)
    }

    /// An executor for the calls of one message.
    fn executor(&self) -> Executor<'a> {
        let (kit, around, cancel) = (self.kit, self.around, self.cancel);
        let means = Means {
            tools: &kit.tools,
            asker: around.asker.as_ref(),
            tasks: around.tasks.as_ref(),
            give_way: Box::new(move || cancel.cancel(InterruptReason::Interrupt, None)),
            policy: Box::new(move |context| super::engine::policy(kit, around, context)),
            log: Box::new(RoundLog::new(self.start.submission, around.ledger.as_ref(), around.feed.as_ref())),
            cancel: cancel.token().clone(),
            why: Box::new(move || match cancel.reason() {
                Some(InterruptReason::UserCancel) | None => Interruption::User,
                Some(InterruptReason::Interrupt) => Interruption::Message,
                Some(InterruptReason::Drain) => Interruption::Drain,
            }),
        };
        Executor::new(means, self.tool_context())
    }

    /// Whether there is money for one more request: of the session's life, and of this submission.
    fn budget(&self) -> Budget {
        self.purse().after(Money::ZERO)
    }

    fn purse(&self) -> Purse {
        Purse {
            session: Account { spent: Money(self.around.spent.load(Ordering::Relaxed)), limit: self.around.meta.limits.max_budget },
            submission: Account { spent: self.spent, limit: self.limits.max_budget },
        }
    }

    /// What subagents used that calls of `batch` waited for: part of this submission's bill.
    fn used_by_subagents(&mut self, batch: &ToolBatch) -> Bill {
        let tasks = self.around.tasks.tasks().borrow().clone();
        let waited_for = |task: &&Task| task.start.placement == Placement::Foreground && batch.calls.contains(&task.start.tool_use);
        let mut used = Bill::default();
        // Ids of calls are told apart by their loop only.
        for task in tasks.iter().filter(waited_for).filter(|task| task.start.owner == self.conversation.whose()) {
            if let Some((end, _)) = &task.end {
                used += Bill { usage: end.usage, cost: end.cost };
            }
        }
        self.spent += used.cost;
        used
    }

    /// What becomes of an answer that was cut at the output limit.
    fn settle_withheld(&mut self, fate: WithheldFate) -> Option<Entry> {
        let message = self.withheld.take()?;
        Some(self.entry(match fate {
            WithheldFate::Store => Body::Assistant(message),
            WithheldFate::Tombstone => Body::Tombstone {
                message: message.message,
                reason: "cut at the default output cap; asked again with the raised one".to_owned(),
            },
        }))
    }

    /// Stores an answer that stayed cut; the partial text is kept.
    pub async fn keep_withheld(&mut self) -> Result<(), StoreFailure> {
        match self.settle_withheld(WithheldFate::Store) {
            Some(entry) => self.append(vec![entry], Durability::Written).await,
            None => Ok(()),
        }
    }

    /// What a transition says to the model, beside the state it records.
    fn words_of(&mut self, why: &Continue) -> Vec<Entry> {
        let entropy = self.kit.entropy.as_ref();
        let say = |text: String| said::meta_message(entropy, text);
        let bodies = match why {
            Continue::NextTurn { .. } | Continue::CollapseDrainRetry { .. } | Continue::ReactiveCompactRetry { .. } => Vec::new(),
            Continue::MaxOutputTokensEscalate { .. } => return self.settle_withheld(WithheldFate::Tombstone).into_iter().collect(),
            Continue::MaxOutputTokensRecovery { .. } => {
                self.tally.carries_on();
                let words = Entry::of(self.start.submission, say(said::carry_on()));
                return self.settle_withheld(WithheldFate::Store).into_iter().chain([words]).collect();
            }
            Continue::StopHookBlocking { errors, .. } => errors.iter().map(|error| say(error.0.clone())).collect(),
            Continue::TokenBudgetContinuation { nudge } => vec![say(said::nudge(nudge.spent, nudge.left))],
        };
        bodies.into_iter().map(|body| self.entry(body)).collect()
    }
}

/// What a round learnt of files, and where it left the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learnt {
    pub seen: Vec<SeenFact>,
    pub cwd: Option<AbsPath>,
}

impl Learnt {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.cwd.is_none()
    }

    /// With the loop's state: what is recorded.
    #[must_use]
    pub fn standing(self, state: LoopState) -> Standing {
        Standing { state, seen: self.seen, cwd: self.cwd }
    }
}

/// What becomes of a withheld answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithheldFate {
    Store,
    Tombstone,
}

impl Hands for EngineHands<'_> {
    async fn prepare(&mut self, _plan: PreparePlan) -> Observed<Prepared> {
        if self.cancel.token().is_cancelled() {
            return Err(Cut::Interrupted);
        }
        let window = u64::from(agentd_core::model::catalog::look_up(&self.asked.model).0.context_window);
        let room = if self.conversation.tokens() > window { Room::Full } else { Room::Fits };
        Ok(Prepared { room, budget: self.budget(), auto_compact: AutoCompact::NotNeeded })
    }

    async fn call_model(&mut self, plan: CallPlan) -> Observed<Reply> {
        let mut bill = Bill::default();
        loop {
            let called = match self.call(plan).await {
                Ok(called) => called,
                Err(cut) => {
                    self.tally.cut_short(bill);
                    return Err(cut);
                }
            };
            bill += Bill { usage: called.reply.usage, cost: called.reply.cost };
            match go_over(&called.reply.end) {
                Some(why) if self.fall_back(&why).await? => {}
                Some(_) | None => {
                    self.withheld = called.withheld;
                    return Ok(bill.reply(called.reply.end));
                }
            }
        }
    }

    async fn drain_collapses(&mut self, withheld: Withheld) -> Observed<Drained> {
        Ok(Drained { committed: 0, withheld })
    }

    async fn compact(&mut self, plan: CompactPlan) -> Observed<Compaction> {
        // Never proposed: `abilities.compact` is off.
        Ok(Compaction {
            end: agentd_core::query::CompactionEnd::Failed,
            withheld: plan.withheld,
            usage: agentd_types::Usage::default(),
            cost: Money::ZERO,
        })
    }

    async fn run_stop_hooks(&mut self) -> Observed<StopVerdict> {
        if self.cancel.token().is_cancelled() { Err(Cut::Interrupted) } else { Ok(StopVerdict::Passed) }
    }

    async fn run_tools(&mut self, batch: ToolBatch) -> Observed<ToolRun> {
        let calls = self.conversation.calls(&batch.calls);
        // After a restart or an answer no call was made in this life of the submission.
        let mut executor = self.executor.take().unwrap_or_else(|| self.executor());
        let before = executor.context().clone();
        let mut results = RoundResults {
            submission: self.start.submission,
            entropy: self.kit.entropy.as_ref(),
            ledger: self.around.ledger.as_ref(),
            conversation: self.conversation,
            tally: self.tally,
        };
        let run = executor.finish(calls, &mut results).await;
        let used = self.used_by_subagents(&batch);
        let after = executor.context();
        for path in after.read_cache.changed_since(&before.read_cache) {
            self.learnt.seen.push(seen_fact(&path));
            self.conversation.read_cache.put(path);
        }
        if after.cwd != before.cwd {
            self.learnt.cwd = Some(after.cwd.clone());
            self.conversation.cwd = Some(after.cwd.clone());
        }
        match run {
            Ok(run) => Ok(ToolRun { usage: used.usage, cost: used.cost, ..run }),
            Err(cut) => {
                self.tally.cut_short(used);
                Err(cut)
            }
        }
    }

    async fn gather(&mut self) -> Observed<Gathered> {
        let slept = if self.conversation.has_called(sleep::NAME) { Slept::Yes } else { Slept::No };
        let leased = self.cancel.race(self.around.ledger.lease(slept)).await.ok_or(Cut::Interrupted)?;
        self.leased = leased.len();
        Ok(Gathered { commands: u32::try_from(leased.len()).unwrap_or(u32::MAX), attachments: 0 })
    }

    async fn absorb(&mut self, why: &Continue, state: &LoopState) -> Result<(), StoreFailure> {
        let mut entries = self.words_of(why);
        let standing = std::mem::take(&mut self.learnt).standing(state.clone());
        entries.push(loop_state(self.start, &standing, self.tally.unrecorded_denials()));
        let attachments = (0..std::mem::take(&mut self.leased)).map(|_| MessageId::from_u128(self.kit.entropy.id())).collect();
        let receipt = self.around.ledger.absorb(attachments, entries).await?;
        // Only what was taken is answered: a lease alone is not.
        for event in &receipt {
            if let Body::Attachment(Attachment { command: Some(command), .. }) = &event.body {
                self.tally.answers(*command);
            }
        }
        self.fold(&receipt);
        Ok(())
    }
}

/// The session's own folder first, then what the settings add.
fn allowed_folders(kit: &Kit, around: &Surround) -> Arc<[AbsPath]> {
    let more = kit.settings.permissions.additional_directories.iter().filter_map(|dir| AbsPath::new(dir).ok());
    std::iter::once(around.meta.cwd.clone()).chain(more).collect()
}
