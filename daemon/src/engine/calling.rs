//! One model call, retries and all: the loop sees only the final reply. When to retry is decided in core.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agentd_core::context::{Sent, normalize, resend};
use agentd_core::model::ending::{Ending, Repeats, judge};
use agentd_core::model::fold::{Completed, FoldDelta, FoldEnd, Folded, Folder};
use agentd_core::model::retry::{Failure, JITTER, Verdict, decide, retries_of};
use agentd_core::model::{ErrorClass, ModelError, ModelRequest, StreamEvent, SystemPart, catalog, price};
use agentd_core::query::{Budget, CallLimits, CallPlan, Cut, Observed, OutputCap, Reply, ReplyEnd};
use agentd_types::content::plain_text;
use agentd_types::event::AssistantMessage;
use agentd_types::live::{Delta, Ephemeral, RetryCountdown};
use agentd_types::system::{ApiRetry, System};
use agentd_types::{Block, Body, Entry, MessageId, Money, SubmissionId, Usage};
use futures_util::StreamExt;

use super::cancel::Cancel;
use super::conversation::Conversation;
use super::kit::Kit;
use super::ledger::{Durability, Feed, Ledger};
use super::partial::Unrecorded;
use super::purse::Purse;
use super::said::{self, meta_message};
use super::tally::{Bill, Tally};
use crate::models::provider::Provider;
use crate::tools::executor::Executor;
use crate::tools::tool::Call;

mod ends;

/// Between two words of a countdown, in milliseconds.
const TICK_MS: u64 = 1000;

/// What a call needs.
pub struct Calling<'a> {
    pub kit: &'a Kit,
    pub submission: SubmissionId,
    pub ledger: &'a dyn Ledger,
    pub feed: &'a dyn Feed,
    pub cancel: &'a Cancel,
    pub provider: &'a dyn Provider,
    pub model: &'a str,
    pub frame: &'a Arc<[SystemPart]>,
    pub purse: Purse,
    pub limits: CallLimits,
}

/// A call's end.
pub struct Called {
    pub reply: Reply,
    /// An answer that was cut at the output limit without a call: not stored yet.
    pub withheld: Option<AssistantMessage>,
}

/// A request's end.
enum Persisted {
    Answer(Answer),
    GaveUp(ModelError),
    OverBudget { spent: Money, limit: Money },
}

/// A whole answer that is not stored yet.
struct Answer {
    message: MessageId,
    folded: Folded,
}

/// What a call did before its present request.
#[derive(Default)]
struct SoFar {
    bill: Bill,
    repeats: Repeats,
    tail: Tail,
    /// Texts of an answer that paused itself.
    said: Vec<String>,
}

/// How the history ends.
#[derive(Clone, Copy, Default)]
enum Tail {
    #[default]
    Users,
    /// With an answer that paused itself.
    Paused,
}

/// One attempt's end, if it was not interrupted.
enum Attempt {
    Whole(Folded),
    /// It broke; whether something had been shown, and what it used.
    Broken {
        error: ModelError,
        shown: bool,
        usage: Usage,
    },
    Interrupted {
        partial: Folded,
        shown: bool,
    },
}

impl Calling<'_> {
    /// Asks until there is an answer, or retries are used up; odd ends are settled inside. The answer's message is appended
    /// before this returns.
    ///
    /// # Errors
    /// [`Cut`] when interrupted, or when the store fails.
    pub async fn call(
        &self,
        conversation: &mut Conversation,
        plan: CallPlan,
        tally: &mut Tally,
        executor: &mut Executor<'_>,
    ) -> Observed<Called> {
        let mut so_far = SoFar::default();
        loop {
            // The first request was looked at by the gate; what follows in this call is not.
            if let (true, Budget::Reached { spent, limit }) = (so_far.repeats != Repeats::default(), self.purse.after(so_far.bill.cost)) {
                return Ok(Called { reply: so_far.bill.reply(ReplyEnd::OverBudget { spent, limit }), withheld: None });
            }
            let request = self.request(conversation, plan, so_far.tail);
            self.note_break(conversation, &request).await?;
            let persisted = self.persist(conversation, &request, &mut so_far.bill, tally, executor).await;
            conversation.sent = Some(Box::new(Sent::from(request)));
            let answer = match persisted? {
                Persisted::OverBudget { spent, limit } => {
                    return Ok(Called { reply: so_far.bill.reply(ReplyEnd::OverBudget { spent, limit }), withheld: None });
                }
                Persisted::Answer(answer) => answer,
                Persisted::GaveUp(error) => return Ok(self.gave_up(error, so_far.bill)),
            };
            let ending = judge(&self.limits, &answer.folded, conversation.after(), so_far.repeats);
            for repair in &answer.folded.repairs {
                self.append(conversation, vec![notice(repair.to_string())]).await?;
            }
            match ending {
                Ending::SendBack => {
                    so_far.repeats.pauses += 1;
                    so_far.tail = Tail::Paused;
                    so_far.said.push(plain_text(&answer.folded.blocks));
                    let assistant = self.as_message(answer.message, answer.folded);
                    self.append(conversation, vec![Body::Assistant(assistant)]).await?;
                }
                Ending::AskAgain => {
                    so_far.repeats.empties += 1;
                    so_far.tail = Tail::Users;
                    let assistant = self.as_message(answer.message, answer.folded);
                    let words = meta_message(self.kit.entropy.as_ref(), said::go_on());
                    let why = notice("the model ended without a word after its tools; it is asked once more".to_owned());
                    self.append(conversation, vec![Body::Assistant(assistant), why, words]).await?;
                }
                Ending::Stands | Ending::OutputLimit | Ending::WindowFull | Ending::Refused | Ending::PausedOut | Ending::Silent => {
                    return self.answered(conversation, answer, ending, so_far, tally).await;
                }
            }
        }
    }

    /// A request that does not begin with the one before costs the provider's cache, and bound models their thinking: told.
    async fn note_break(&self, conversation: &mut Conversation, request: &ModelRequest) -> Result<(), Cut> {
        let Some(Err(broken)) = conversation.sent.as_ref().map(|sent| sent.continues_in(request)) else { return Ok(()) };
        conversation.cache_breaks += 1;
        tracing::warn!(submission = %self.submission, count = conversation.cache_breaks, "{broken}");
        self.append(conversation, vec![notice(broken.to_string())]).await
    }

    /// One request until it is answered, or its retries are used up.
    async fn persist(
        &self,
        conversation: &mut Conversation,
        request: &ModelRequest,
        bill: &mut Bill,
        tally: &mut Tally,
        executor: &mut Executor<'_>,
    ) -> Observed<Persisted> {
        let taken = conversation.call_ids();
        for failures in 1.. {
            let message = MessageId::from_u128(self.kit.entropy.id());
            let before = self.kit.clock.now();
            let attempt = self.attempt(request, message, Arc::clone(&taken), executor).await;
            tally.waited_for_model(self.kit.clock.now().since(before));
            let (error, shown) = match attempt {
                Attempt::Whole(folded) => {
                    self.pay(bill, tally, &folded.usage);
                    return Ok(Persisted::Answer(Answer { message, folded }));
                }
                Attempt::Interrupted { partial, shown } => {
                    self.pay(bill, tally, &partial.usage);
                    tally.cut_short(*bill);
                    return self.interrupted(conversation, message, partial, shown).await;
                }
                Attempt::Broken { error, shown, usage } => {
                    self.pay(bill, tally, &usage);
                    (error, shown)
                }
            };
            if shown {
                let reason = format!("the answer broke off: {}", error.class.name());
                self.append(conversation, vec![Body::Tombstone { message, reason }]).await?;
            }
            let failure = Failure { class: error.class, attempt: failures, retry_after_ms: error.retry_after_ms };
            match decide(&self.limits, failure, self.kit.entropy.up_to(JITTER)) {
                Verdict::GiveUp => return Ok(Persisted::GaveUp(error)),
                Verdict::Retry { delay_ms } => {
                    if let Budget::Reached { spent, limit } = self.purse.after(bill.cost) {
                        return Ok(Persisted::OverBudget { spent, limit });
                    }
                    if let Err(cut) = self.wait(conversation, &error, failures, delay_ms).await {
                        tally.cut_short(*bill);
                        return Err(cut);
                    }
                }
            }
        }
        unreachable!("retries of every class are bounded")
    }

    fn request(&self, conversation: &Conversation, plan: CallPlan, tail: Tail) -> ModelRequest {
        let facts = catalog::look_up(self.model).0;
        let normalized = match tail {
            Tail::Users => normalize(conversation.said(), self.model),
            Tail::Paused => resend(conversation.said(), self.model),
        };
        if !normalized.repairs.is_empty() {
            tracing::info!(submission = %self.submission, repairs = %normalized.repairs, "the history was repaired for this request");
        }
        ModelRequest {
            model: self.model.to_owned(),
            system: Arc::clone(self.frame),
            tools: Arc::clone(&self.kit.specs),
            messages: normalized.messages,
            max_tokens: match plan.cap {
                OutputCap::Default => facts.default_cap(),
                OutputCap::Raised => facts.raised_cap(),
            },
            replies: conversation.replies,
        }
    }

    /// One attempt. Calls that may start while the model streams do; those of an attempt that came to nothing are discarded.
    async fn attempt(
        &self,
        request: &ModelRequest,
        message: MessageId,
        taken: Arc<HashSet<agentd_types::ToolUseId>>,
        executor: &mut Executor<'_>,
    ) -> Attempt {
        executor.discard();
        let attempt = self.stream(request, message, Folder::new(taken), executor).await;
        match attempt {
            Attempt::Whole(_) => {}
            Attempt::Broken { .. } | Attempt::Interrupted { .. } => executor.discard(),
        }
        attempt
    }

    async fn stream(&self, request: &ModelRequest, message: MessageId, mut folder: Folder, executor: &mut Executor<'_>) -> Attempt {
        let mut shown = false;
        let mut unrecorded = Unrecorded::new(message);
        let mut stream = match self.cancel.race(self.provider.send(request)).await {
            None => return Attempt::Interrupted { partial: folder.finish(), shown },
            Some(Err(error)) => return Attempt::Broken { error, shown, usage: Usage::default() },
            Some(Ok(stream)) => stream,
        };
        loop {
            let event = match self.cancel.race(beside(stream.next(), executor, &unrecorded)).await {
                None => return Attempt::Interrupted { partial: folder.finish(), shown },
                Some(Came::Due) => {
                    self.record(unrecorded.take()).await;
                    continue;
                }
                Some(Came::Next(None)) => break,
                Some(Came::Next(Some(event))) => event,
            };
            if let Ok(StreamEvent::BlockStop { index }) = &event {
                unrecorded.ended(*index, folder.is_text(*index));
            }
            let fed = event.and_then(|event| folder.feed(event));
            match fed {
                Ok(Some(delta)) => {
                    shown = true;
                    unrecorded.add(&delta);
                    self.feed.show(Ephemeral::Delta(as_delta(message, delta)));
                }
                Ok(None) => match folder.take_completed() {
                    Some(Completed::Call { id, name, input }) => executor.offer(Call { id, name, input }),
                    Some(Completed::Unsure) => executor.wait_for_the_end(),
                    None => {}
                },
                Err(error) => return Attempt::Broken { error, shown, usage: folder.usage() },
            }
        }
        let folded = folder.finish();
        match folded.end {
            FoldEnd::Whole => Attempt::Whole(folded),
            FoldEnd::Cut => {
                let message = "the answer broke off before its end".to_owned();
                let error = ModelError { class: ErrorClass::StreamCut, status: None, message, retry_after_ms: None };
                Attempt::Broken { error, shown, usage: folded.usage }
            }
        }
    }

    /// A part of an answer for the case of a crash. Where the store does not take it, the answer's own append says so.
    async fn record(&self, partial: Body) {
        if let Err(error) = self.ledger.append(vec![Entry::of(self.submission, partial)], Durability::Written).await {
            tracing::warn!(submission = %self.submission, %error, "a part of the answer was not recorded");
        }
    }

    /// What was shown of it is kept as text; a half thought or call is not.
    async fn interrupted(&self, conversation: &mut Conversation, message: MessageId, partial: Folded, shown: bool) -> Observed<Persisted> {
        let usage = partial.usage;
        let mut kept = self.as_message(message, partial);
        kept.content.retain(|block| matches!(block, Block::Text { text } if !text.trim().is_empty()));
        kept.stop_reason = None;
        kept.usage = usage;
        match (shown, kept.content.is_empty()) {
            (_, false) => self.append(conversation, vec![Body::Assistant(kept)]).await?,
            (true, true) => self.append(conversation, vec![Body::Tombstone { message, reason: "interrupted".to_owned() }]).await?,
            (false, true) => {}
        }
        Err(Cut::Interrupted)
    }

    /// The first word of each wait is durable, the countdown is not.
    async fn wait(&self, conversation: &mut Conversation, error: &ModelError, attempt: u32, delay_ms: u64) -> Result<(), Cut> {
        tracing::warn!(submission = %self.submission, attempt, delay_ms, class = error.class.name(), "the model request is repeated");
        let max_retries = retries_of(&self.limits, error.class);
        let retry = ApiRetry { attempt, max_retries, delay_ms, status: error.status, error: error.class.name().to_owned() };
        self.append(conversation, vec![Body::System(System::ApiRetry(retry))]).await?;
        let mut left_ms = delay_ms;
        while left_ms > 0 {
            // To the next whole second, so that the numbers shown are round.
            let step_ms = if left_ms.is_multiple_of(TICK_MS) { TICK_MS } else { left_ms % TICK_MS };
            let pause = tokio::time::sleep(Duration::from_millis(step_ms));
            self.cancel.race(pause).await.ok_or(Cut::Interrupted)?;
            left_ms -= step_ms;
            if left_ms > 0 {
                self.feed.show(Ephemeral::Countdown(RetryCountdown { attempt, max_retries, left_ms }));
            }
        }
        Ok(())
    }

    /// Each attempt is paid by itself: a price may depend on its size.
    fn pay(&self, bill: &mut Bill, tally: &mut Tally, usage: &Usage) {
        let spent = Bill { usage: *usage, cost: price::cost(self.model, usage).0 };
        *bill += spent;
        tally.paid(self.model, spent);
    }

    fn as_message(&self, message: MessageId, folded: Folded) -> AssistantMessage {
        let model = if folded.model.is_empty() { self.model.to_owned() } else { folded.model };
        AssistantMessage {
            message,
            api_id: folded.api_id,
            model,
            content: folded.blocks,
            stop_reason: folded.stop_reason,
            usage: folded.usage,
        }
    }

    async fn append(&self, conversation: &mut Conversation, bodies: Vec<Body>) -> Result<(), Cut> {
        let entries = bodies.into_iter().map(|body| Entry::of(self.submission, body)).collect();
        let receipt = self.ledger.append(entries, Durability::Written).await.map_err(Cut::StoreFailed)?;
        receipt.iter().for_each(|event| conversation.fold(event));
        Ok(())
    }
}

fn notice(text: String) -> Body {
    Body::System(System::Notice { text })
}

enum Came<T> {
    Next(T),
    /// There is text to be recorded.
    Due,
}

/// `next`, while the calls that have started go on. Cancel-safe if `next` is.
async fn beside<T>(next: impl Future<Output = T>, executor: &mut Executor<'_>, unrecorded: &Unrecorded) -> Came<T> {
    tokio::pin!(next);
    loop {
        tokio::select! {
            came = &mut next => return Came::Next(came),
            () = unrecorded.is_due() => return Came::Due,
            () = executor.work() => {}
        }
    }
}

fn as_delta(message: MessageId, delta: FoldDelta) -> Delta {
    Delta { message, block: delta.block, offset: delta.offset, kind: delta.kind, text: delta.text }
}
