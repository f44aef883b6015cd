//! One model call, retries and all: the loop sees only the final reply. When to retry is decided in core.

use std::collections::HashSet;
use std::sync::Arc;

use agentd_core::context::normalize;
use agentd_core::model::fold::{Completed, FoldDelta, FoldEnd, Folded, Folder};
use agentd_core::model::retry::{JITTER, MAX_RETRIES, Verdict, decide};
use agentd_core::model::{ErrorClass, ModelError, ModelRequest, StreamEvent, SystemPart, catalog, price};
use agentd_core::query::{CallPlan, Cut, FailureKind, ModelFailure, Observed, OutputCap, Reply, ReplyEnd, ToolBatch, Withheld};
use agentd_types::event::AssistantMessage;
use agentd_types::live::{Delta, Ephemeral};
use agentd_types::system::{ApiRetry, System};
use agentd_types::{Block, Body, Entry, MessageId, Money, SubmissionId, Usage};
use futures_util::StreamExt;

use super::cancel::Cancel;
use super::conversation::Conversation;
use super::kit::Kit;
use super::ledger::{Durability, Feed, Ledger};
use super::partial::Unrecorded;
use super::tally::Tally;
use crate::models::provider::Provider;
use crate::tools::executor::Executor;
use crate::tools::tool::Call;

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
}

/// A call's end.
pub struct Called {
    pub reply: Reply,
    /// An answer that was cut at the output limit without a call: not stored yet.
    pub withheld: Option<AssistantMessage>,
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
    /// Asks until there is an answer, or retries are used up. The answer's message is appended before this returns.
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
        let request = self.request(conversation, plan);
        let taken = conversation.call_ids();
        let mut spent = Usage::default();
        for failures in 1.. {
            let message = MessageId::from_u128(self.kit.entropy.id());
            let before = self.kit.clock.now();
            let attempt = self.attempt(&request, message, Arc::clone(&taken), executor).await;
            tally.waited_for_model(self.kit.clock.now().since(before));
            let (error, shown) = match attempt {
                Attempt::Whole(folded) => return self.answered(conversation, message, folded, spent, tally).await,
                Attempt::Interrupted { partial, shown } => return self.interrupted(conversation, message, partial, shown).await,
                Attempt::Broken { error, shown, usage } => {
                    spent += usage;
                    (error, shown)
                }
            };
            if shown {
                let reason = format!("the answer broke off: {}", error.class.name());
                self.append(conversation, Body::Tombstone { message, reason }).await?;
            }
            let jitter = self.kit.entropy.up_to(JITTER);
            match decide(error.class, failures, error.retry_after_ms, jitter) {
                Verdict::GiveUp => return Ok(self.gave_up(error, spent)),
                Verdict::Retry { delay_ms } => self.wait(conversation, &error, failures, delay_ms).await?,
            }
        }
        unreachable!("retries of every class are bounded")
    }

    fn request(&self, conversation: &Conversation, plan: CallPlan) -> ModelRequest {
        let facts = catalog::look_up(self.model).0;
        let normalized = normalize(conversation.said(), self.model);
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

    async fn answered(
        &self,
        conversation: &mut Conversation,
        message: MessageId,
        folded: Folded,
        spent: Usage,
        tally: &mut Tally,
    ) -> Observed<Called> {
        for repair in &folded.repairs {
            self.append(conversation, Body::System(System::Notice { text: repair.to_string() })).await?;
        }
        let usage = spent + folded.usage;
        let cost = self.cost(&usage);
        let calls = ToolBatch { calls: folded.calls().map(|(id, _, _)| id.clone()).collect() };
        let (at_limit, refusal) = (folded.is_at_limit(), folded.refusal.clone());
        let refused = folded.stop_reason.as_deref() == Some("refusal");
        let window = folded.stop_reason.as_deref() == Some("model_context_window_exceeded");
        let assistant = self.as_message(message, folded);
        tally.said(agentd_types::content::plain_text(&assistant.content), assistant.stop_reason.clone());
        let end = match (calls.calls.is_empty(), at_limit) {
            _ if refused => ReplyEnd::Failed(ModelFailure {
                kind: FailureKind::Refusal(refusal.clone()),
                status: None,
                message: format!("the model refused to answer{}", refusal.map(|it| format!(" ({it})")).unwrap_or_default()),
            }),
            (true, _) if window => ReplyEnd::Withheld(Withheld::PromptTooLong),
            (_, true) => ReplyEnd::OutputLimit { calls: calls.clone() },
            (_, false) => ReplyEnd::Whole { calls: calls.clone() },
        };
        let hold_back = at_limit && calls.calls.is_empty();
        let withheld = if hold_back {
            Some(assistant)
        } else {
            self.append(conversation, Body::Assistant(assistant)).await?;
            None
        };
        Ok(Called { reply: Reply { end, usage, cost }, withheld })
    }

    /// What was shown of it is kept as text; a half thought or call is not.
    async fn interrupted(&self, conversation: &mut Conversation, message: MessageId, partial: Folded, shown: bool) -> Observed<Called> {
        let usage = partial.usage;
        let mut kept = self.as_message(message, partial);
        kept.content.retain(|block| matches!(block, Block::Text { text } if !text.trim().is_empty()));
        kept.stop_reason = None;
        kept.usage = usage;
        match (shown, kept.content.is_empty()) {
            (_, false) => self.append(conversation, Body::Assistant(kept)).await?,
            (true, true) => self.append(conversation, Body::Tombstone { message, reason: "interrupted".to_owned() }).await?,
            (false, true) => {}
        }
        Err(Cut::Interrupted)
    }

    async fn wait(&self, conversation: &mut Conversation, error: &ModelError, attempt: u32, delay_ms: u64) -> Result<(), Cut> {
        tracing::warn!(submission = %self.submission, attempt, delay_ms, class = error.class.name(), "the model request is repeated");
        let retry = ApiRetry { attempt, max_retries: MAX_RETRIES, delay_ms, status: error.status, error: error.class.name().to_owned() };
        self.append(conversation, Body::System(System::ApiRetry(retry))).await?;
        let pause = tokio::time::sleep(std::time::Duration::from_millis(delay_ms));
        self.cancel.race(pause).await.ok_or(Cut::Interrupted)
    }

    fn gave_up(&self, error: ModelError, usage: Usage) -> Called {
        let cost = self.cost(&usage);
        let end = match error.class {
            ErrorClass::PromptTooLong | ErrorClass::RequestTooLarge => ReplyEnd::Withheld(Withheld::PromptTooLong),
            ErrorClass::MediaTooLarge => ReplyEnd::Withheld(Withheld::MediaTooLarge),
            ErrorClass::ExpectFailed => failed(FailureKind::ExpectFailed, error),
            class @ (ErrorClass::InvalidRequest
            | ErrorClass::Authentication
            | ErrorClass::Billing
            | ErrorClass::Permission
            | ErrorClass::NotFound
            | ErrorClass::RateLimit
            | ErrorClass::SpendLimit
            | ErrorClass::Server
            | ErrorClass::Overloaded
            | ErrorClass::Timeout
            | ErrorClass::Connect
            | ErrorClass::StreamCut
            | ErrorClass::Silence
            | ErrorClass::Protocol) => failed(FailureKind::Api(class.name().to_owned()), error),
        };
        Called { reply: Reply { end, usage, cost }, withheld: None }
    }

    fn cost(&self, usage: &Usage) -> Money {
        price::cost(self.model, usage).0
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

    async fn append(&self, conversation: &mut Conversation, body: Body) -> Result<(), Cut> {
        let entry = Entry::of(self.submission, body);
        let receipt = self.ledger.append(vec![entry], Durability::Written).await.map_err(Cut::StoreFailed)?;
        receipt.iter().for_each(|event| conversation.fold(event));
        Ok(())
    }
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

fn failed(kind: FailureKind, error: ModelError) -> ReplyEnd {
    ReplyEnd::Failed(ModelFailure { kind, status: error.status, message: error.message })
}

fn as_delta(message: MessageId, delta: FoldDelta) -> Delta {
    Delta { message, block: delta.block, offset: delta.offset, kind: delta.kind, text: delta.text }
}
