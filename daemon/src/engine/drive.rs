//! Drives the query loop: performs what the table decided and shows it what came of it. All waiting, no deciding.

use agentd_core::query::{
    Act, CallPlan, CompactPlan, Compaction, Continue, Drained, Gathered, Limits, LoopState, Next, Observed, OpenCalls, PreparePlan,
    Prepared, Reply, Seen, Step, StopVerdict, StoreFailure, Terminal, ToolBatch, ToolRun, Withheld, next,
};

/// Drives a submission to its end, from `Seen::Opened` or `Seen::Reopened`. What a transition brings is durable before the next
/// iteration begins. An interrupt is seen by the hands; this future is never dropped to stop it.
pub async fn drive(mut state: LoopState, first: Seen, limits: &Limits, hands: &mut impl Hands) -> Ended {
    let mut seen = first;
    loop {
        let (noted, step) = iterate(state, seen, limits, hands).await;
        tracing::debug!(round = noted.round, step = step.name(), "the loop goes");
        match step {
            Step::Continue(why) => {
                state = noted.advance(&why);
                if let Err(failure) = hands.absorb(&why, &state).await {
                    return Ended::Failed(failure);
                }
                seen = Seen::Opened;
            }
            Step::Park(calls) => return Ended::Parked(calls, noted),
            Step::Stop(terminal) => return Ended::Stopped(terminal, noted),
            Step::Fail(failure) => return Ended::Failed(failure),
        }
    }
}

/// How driving ended. The states hold all that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Stopped(Terminal, LoopState),
    /// Not an end: the state is to be written, and the submission goes on with `Seen::Reopened` when the calls are answered.
    Parked(OpenCalls, LoopState),
    /// The store cannot append; what was measured since the last record is lost with it.
    Failed(StoreFailure),
}

impl Ended {
    /// The terminal's name; `parked` and `failed` for the two others.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Ended::Stopped(terminal, _) => terminal.name().as_str(),
            Ended::Parked(..) => "parked",
            Ended::Failed(_) => "failed",
        }
    }
}

/// One method for each act. None fails: a failure is something seen. A method that is interrupted gives every call of a stored
/// message its result and says [`Cut::Interrupted`](agentd_core::query::Cut::Interrupted).
pub trait Hands: Send {
    /// Runs the context pipeline and reads the gauge.
    fn prepare(&mut self, plan: PreparePlan) -> impl Future<Output = Observed<Prepared>> + Send;

    /// Streams one answer: retries, fallback and calls that may start early are inside. Returns when the message is stored.
    fn call_model(&mut self, plan: CallPlan) -> impl Future<Output = Observed<Reply>> + Send;

    /// Commits the staged collapses. The observation carries `withheld` on.
    fn drain_collapses(&mut self, withheld: Withheld) -> impl Future<Output = Observed<Drained>> + Send;

    /// Replaces what came before the newest prompt by a summary. The observation carries `plan.withheld` on.
    fn compact(&mut self, plan: CompactPlan) -> impl Future<Output = Observed<Compaction>> + Send;

    /// Runs Stop hooks, the structured-output check among them; passes when there are none. A block at its ceiling is
    /// overruled (`completed`): who ran the hook tells it in a notice.
    fn run_stop_hooks(&mut self) -> impl Future<Output = Observed<StopVerdict>> + Send;

    /// Runs these calls, or waits for those that run already. Results are appended as they come. An empty batch is done at once.
    fn run_tools(&mut self, batch: ToolBatch) -> impl Future<Output = Observed<ToolRun>> + Send;

    /// Collects attachments and leases queued commands; appends nothing.
    fn gather(&mut self) -> impl Future<Output = Observed<Gathered>> + Send;

    /// Appends what the transition brings (attachments and leases, a hook's feedback, a nudge, …) and `state`, which is the
    /// advanced one, in one record; returns when that is durable.
    fn absorb(&mut self, why: &Continue, state: &LoopState) -> impl Future<Output = Result<(), StoreFailure>> + Send;
}

/// From what is seen to how the iteration ends, with the state that has seen it all.
async fn iterate(mut state: LoopState, mut seen: Seen, limits: &Limits, hands: &mut impl Hands) -> (LoopState, Step) {
    loop {
        state = state.note(&seen);
        match next(&state, limits, seen) {
            Next::Do(act) => seen = perform(hands, act).await,
            Next::Go(step) => return (state, step),
        }
    }
}

/// Each act has its own hand and its own observation: a wrong pair does not compile.
async fn perform(hands: &mut impl Hands, act: Act) -> Seen {
    match act {
        Act::Prepare(plan) => Seen::Prepared(hands.prepare(plan).await),
        Act::CallModel(plan) => Seen::Replied(hands.call_model(plan).await),
        Act::DrainCollapses(withheld) => Seen::Drained(hands.drain_collapses(withheld).await),
        Act::Compact(plan) => Seen::Compacted(hands.compact(plan).await),
        Act::RunStopHooks => Seen::HooksRan(hands.run_stop_hooks().await),
        Act::RunTools(batch) => Seen::ToolsRan(hands.run_tools(batch).await),
        Act::Gather => Seen::Collected(hands.gather().await),
    }
}

#[cfg(test)]
mod tests;
