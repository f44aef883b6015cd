//! The streaming executor: the calls of one message, started as early as they may, their results out in the order they came.
//! One owner drives it; nothing of it runs by itself. What a call may do is decided in its chain.

use std::pin::Pin;
use std::sync::Arc;

use agentd_core::query::{Cut, ModelFailure, Observed, OpenCalls, ToolEnd, ToolRun};
use agentd_core::queue::Waits;
use agentd_core::tools::{Batch, InterruptBehavior, Manner, Stage};
use agentd_types::content::ResultPart;
use agentd_types::{Block, ToolUseId};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::run::{Done, How, Means, OneCall};
use super::tool::{Call, ContextChange, Results, ToolContext};

/// The executor of a submission. A message's calls are offered while it streams, and finished when it is stored; what is not
/// finished can be discarded.
pub struct Executor<'a> {
    means: Arc<Means<'a>>,
    /// As of the results that are out.
    context: Arc<ToolContext>,
    batch: Batch,
    slots: Vec<Slot>,
    running: FuturesUnordered<Running<'a>>,
    siblings: CancellationToken,
    /// Whether calls of this message may still start while it streams.
    early: Early,
    /// Counts messages: what an earlier one started is nobody's any more.
    message: u64,
}

type Running<'a> = Pin<Box<dyn Future<Output = (Place, Done)> + Send + 'a>>;

/// Which call of which message.
#[derive(Debug, Clone)]
struct Place {
    message: u64,
    call: ToolUseId,
}

struct Slot {
    call: Arc<Call>,
    token: CancellationToken,
    state: State,
}

enum State {
    /// Waits or runs.
    Open,
    Done(Done),
    /// Its result is out, or it stays open.
    Out,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Early {
    May,
    /// A call came whose input is not certain: nothing may overtake it.
    No,
}

/// What the batch came to so far.
#[derive(Default)]
struct SoFar {
    open: Vec<ToolUseId>,
    fatal: Option<ModelFailure>,
}

impl<'a> Executor<'a> {
    #[must_use]
    pub fn new(means: Means<'a>, context: ToolContext) -> Executor<'a> {
        let siblings = means.cancel.child_token();
        Executor {
            means: Arc::new(means),
            context: Arc::new(context),
            batch: Batch::new(Stage::Streaming),
            slots: Vec::new(),
            running: FuturesUnordered::new(),
            siblings,
            early: Early::May,
            message: 0,
        }
    }

    /// As of the results that are out.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// A call's block is complete. It starts at once if it changes nothing, runs beside others and needs no question.
    pub fn offer(&mut self, call: Call) {
        if self.early == Early::No || self.batch.stage() == Stage::Stored {
            return;
        }
        self.add(call);
        self.start_what_may();
    }

    /// A call came whose input is certain only at the message's end: what comes after it waits.
    pub fn wait_for_the_end(&mut self) {
        self.early = Early::No;
    }

    /// Lets what runs go on until a call has ended; never returns while nothing runs. Cancel-safe.
    pub async fn work(&mut self) {
        match self.running.next().await {
            Some((place, done)) => {
                self.take(&place, done);
                self.start_what_may();
            }
            None => std::future::pending().await,
        }
    }

    /// The attempt is abandoned: calls are cancelled, results dropped.
    pub fn discard(&mut self) {
        self.siblings.cancel();
        self.siblings = self.means.cancel.child_token();
        self.running = FuturesUnordered::new();
        self.slots.clear();
        self.batch = Batch::new(Stage::Streaming);
        self.early = Early::May;
        self.message += 1;
    }

    /// The message is in the journal and these are its calls: runs them to their end. Results go out in order, each as soon as
    /// all before it are out. Every call has its result then, or stays open for an answer.
    ///
    /// # Errors
    /// [`Cut`] when interrupted (each call has a result that says so) or when the store failed.
    pub async fn finish(&mut self, calls: Vec<Call>, results: &mut dyn Results) -> Observed<ToolRun> {
        self.stored(calls);
        let mut so_far = SoFar::default();
        let ran = self.run(results, &mut so_far).await;
        self.discard();
        ran?;
        if self.means.cancel.is_cancelled() || so_far.fatal.is_some() {
            self.withdraw(results, &so_far.open).await?;
            so_far.open.clear();
        }
        if self.means.cancel.is_cancelled() {
            return Err(Cut::Interrupted);
        }
        let end = match (so_far.fatal, so_far.open.is_empty()) {
            (Some(failure), _) => ToolEnd::Fatal(failure),
            (None, false) => ToolEnd::Open(OpenCalls(so_far.open)),
            (None, true) => ToolEnd::Done,
        };
        Ok(ToolRun::of(end))
    }

    /// Calls that waited for an answer when the submission was ended: nobody will give it any more.
    async fn withdraw(&mut self, results: &mut dyn Results, open: &[ToolUseId]) -> Result<(), Cut> {
        let blocks: Vec<Block> = open
            .iter()
            .map(|id| Block::ToolResult {
                tool_use_id: id.clone(),
                content: vec![ResultPart::Text { text: self.means.withdrawn() }],
                is_error: true,
            })
            .collect();
        if blocks.is_empty() { Ok(()) } else { results.finished(blocks).await.map_err(Cut::StoreFailed) }
    }

    /// The calls as they are stored; of those that started early, only the same call counts.
    fn stored(&mut self, calls: Vec<Call>) {
        let mut early: Vec<(Slot, usize)> = std::mem::take(&mut self.slots).into_iter().zip(0..).collect();
        let before = std::mem::replace(&mut self.batch, Batch::new(Stage::Stored));
        for call in calls {
            self.add(call);
            let at = self.slots.len() - 1;
            let Some(found) = early.iter().position(|(slot, _)| slot.call == self.slots[at].call) else { continue };
            let (slot, was) = early.swap_remove(found);
            match &slot.state {
                State::Done(_) | State::Out => self.batch.over(at),
                State::Open if before.is_running(was) => self.batch.started(at),
                State::Open => {}
            }
            self.slots[at] = slot;
        }
        early.iter().for_each(|(slot, _)| slot.token.cancel());
    }

    async fn run(&mut self, results: &mut dyn Results, so_far: &mut SoFar) -> Result<(), Cut> {
        let mut waits = self.means.tasks.waits();
        loop {
            self.hand_out(results, so_far).await?;
            self.start_what_may();
            if self.batch.is_over() && self.slots.iter().all(|slot| matches!(slot.state, State::Out)) {
                return Ok(());
            }
            let next = tokio::select! {
                biased;
                next = self.running.next() => next,
                () = typed(&mut waits), if self.gives_way() => {
                    (self.means.give_way)();
                    continue;
                }
            };
            let Some((place, done)) = next else { unreachable!("what is not over runs, or may start") };
            self.take(&place, done);
            // What has ended meanwhile goes out in the same record.
            while let Some(Some((place, done))) = self.running.next().now_or_never() {
                self.take(&place, done);
            }
        }
    }

    /// Whether every call that runs gives way to a prompt, and nobody ended them yet.
    fn gives_way(&self) -> bool {
        let mut running = self.slots.iter().enumerate().filter(|(at, _)| self.batch.is_running(*at)).peekable();
        running.peek().is_some()
            && !self.means.cancel.is_cancelled()
            && running.all(|(_, slot)| {
                let tool = self.means.tools.find(&slot.call.name);
                tool.is_some_and(|tool| tool.traits(&slot.call.input).interrupt == InterruptBehavior::Cancel)
            })
    }

    fn add(&mut self, call: Call) {
        // What cannot be found or read has no effects: it says so beside others.
        let manner = self.means.tools.find(&call.name).map_or(Manner::Early, |tool| tool.traits(&call.input).into());
        self.batch.push(manner);
        self.slots.push(Slot { call: Arc::new(call), token: self.siblings.child_token(), state: State::Open });
    }

    fn start_what_may(&mut self) {
        while let Some(at) = self.batch.next() {
            self.batch.started(at);
            let slot = &self.slots[at];
            let one = OneCall {
                call: Arc::clone(&slot.call),
                context: Arc::clone(&self.context),
                stage: self.batch.stage(),
                siblings: self.siblings.clone(),
                token: slot.token.clone(),
            };
            let place = Place { message: self.message, call: slot.call.id.clone() };
            let means = Arc::clone(&self.means);
            self.running.push(Box::pin(async move { (place, means.one(one).await) }));
        }
    }

    fn take(&mut self, place: &Place, done: Done) {
        let found = self.slots.iter().position(|slot| place.message == self.message && slot.call.id == place.call);
        let Some(at) = found.filter(|at| self.batch.is_running(*at)) else { return };
        match &done {
            Done::WouldAsk => return self.batch.held(at),
            Done::Fatal { .. } => self.siblings.cancel(),
            // What a shell failed to do, those after it may depend on.
            Done::Result { how: How::Badly, .. } if self.is_shell(at) => self.siblings.cancel(),
            Done::Result { .. } | Done::Denied { .. } | Done::Open | Done::StoreFailed(_) => {}
        }
        self.slots[at].state = State::Done(done);
        self.batch.over(at);
    }

    fn is_shell(&self, at: usize) -> bool {
        self.means.tools.find(&self.slots[at].call.name).is_some_and(|tool| tool.spec().name == "Bash")
    }

    /// Results that all before them are out go out, in one record.
    async fn hand_out(&mut self, results: &mut dyn Results, so_far: &mut SoFar) -> Result<(), Cut> {
        let mut blocks = Vec::new();
        let first = self.slots.iter().position(|slot| !matches!(slot.state, State::Out)).unwrap_or(self.slots.len());
        for slot in &mut self.slots[first..] {
            let done = match std::mem::replace(&mut slot.state, State::Out) {
                State::Done(done) => done,
                waits @ State::Open => {
                    slot.state = waits;
                    break;
                }
                State::Out => continue,
            };
            match done {
                Done::Result { parts, how, changes } => {
                    apply(Arc::make_mut(&mut self.context), changes);
                    blocks.push(result(&slot.call, parts, how));
                }
                Done::Denied { message } => {
                    results.denied(&slot.call);
                    blocks.push(result(&slot.call, vec![ResultPart::Text { text: message }], How::NotRun));
                }
                Done::Fatal { message, failure } => {
                    so_far.fatal.get_or_insert(failure);
                    blocks.push(result(&slot.call, vec![ResultPart::Text { text: message }], How::Badly));
                }
                Done::Open => so_far.open.push(slot.call.id.clone()),
                Done::StoreFailed(failure) => return Err(Cut::StoreFailed(failure)),
                Done::WouldAsk => slot.state = State::Open,
            }
        }
        if blocks.is_empty() { Ok(()) } else { results.finished(blocks).await.map_err(Cut::StoreFailed) }
    }
}

/// Returns when a prompt waits that somebody typed. Cancel-safe.
async fn typed(waits: &mut watch::Receiver<Waits>) {
    if waits.wait_for(|waits| waits.typed).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn result(call: &Call, content: Vec<ResultPart>, how: How) -> Block {
    Block::ToolResult { tool_use_id: call.id.clone(), content, is_error: how != How::Well }
}

fn apply(context: &mut ToolContext, changes: Vec<ContextChange>) {
    for change in changes {
        match change {
            ContextChange::Cwd(cwd) => context.cwd = cwd,
            ContextChange::Seen(seen) => context.read_cache.put(seen),
        }
    }
}

#[cfg(test)]
mod tests;
