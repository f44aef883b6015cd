//! Tests of the driver with hands that play a script. They touch no store and no model.

use std::collections::VecDeque;

use agentd_core::query::{
    Abilities, AutoCompact, Blocker, Budget, CompactBoundary, CompactionEnd, Cut, HookMessage, ReplyEnd, Resume, Room, ToolEnd, trace,
};
use agentd_types::{Money, ToolUseId, Usage};
use insta::assert_snapshot;
use tokio::task::yield_now;

use super::*;

/// Plays replies, tool ends and verdicts in order; everything else goes well. Writes down what it was told to do.
#[derive(Default)]
struct Script {
    replies: VecDeque<Observed<ReplyEnd>>,
    tools: VecDeque<Observed<ToolEnd>>,
    verdicts: VecDeque<Observed<StopVerdict>>,
    drains: VecDeque<u32>,
    /// The record from which on the store takes nothing more.
    full_at: Option<usize>,
    acts: Vec<String>,
    names: Vec<&'static str>,
    records: Vec<LoopState>,
}

impl Hands for Script {
    async fn prepare(&mut self, plan: PreparePlan) -> Observed<Prepared> {
        self.did(format!("prepare {} {:?}", plan.round, plan.cap)).await;
        Ok(Prepared { room: Room::Fits, budget: Budget::Reserved, auto_compact: AutoCompact::NotNeeded })
    }

    async fn call_model(&mut self, plan: CallPlan) -> Observed<Reply> {
        self.did(format!("call_model {:?}", plan.cap)).await;
        let end = self.replies.pop_front().unwrap()?;
        Ok(Reply { end, usage: Usage { output: 100, ..Usage::default() }, cost: Money(7) })
    }

    async fn drain_collapses(&mut self, withheld: Withheld) -> Observed<Drained> {
        self.did("drain_collapses".to_owned()).await;
        Ok(Drained { committed: self.drains.pop_front().unwrap_or(0), withheld })
    }

    async fn compact(&mut self, plan: CompactPlan) -> Observed<Compaction> {
        self.did(format!("compact for {:?}", plan.withheld)).await;
        let end = CompactionEnd::Shrunk(CompactBoundary { tokens_before: 9, tokens_after: 1 });
        Ok(Compaction { end, withheld: plan.withheld, usage: Usage { output: 10, ..Usage::default() }, cost: Money(1) })
    }

    async fn run_stop_hooks(&mut self) -> Observed<StopVerdict> {
        self.did("run_stop_hooks".to_owned()).await;
        self.verdicts.pop_front().unwrap_or(Ok(StopVerdict::Passed))
    }

    async fn run_tools(&mut self, batch: ToolBatch) -> Observed<ToolRun> {
        let calls: Vec<&str> = batch.calls.iter().map(ToolUseId::as_str).collect();
        self.did(format!("run_tools {}", calls.join(" "))).await;
        self.tools.pop_front().unwrap_or(Ok(ToolEnd::Done)).map(ToolRun::of)
    }

    async fn gather(&mut self) -> Observed<Gathered> {
        self.did("gather".to_owned()).await;
        Ok(Gathered { commands: 1, attachments: 0 })
    }

    async fn absorb(&mut self, why: &Continue, state: &LoopState) -> Result<(), StoreFailure> {
        self.did(format!("absorb {}", why.name().as_str())).await;
        if self.full_at == Some(self.records.len()) {
            return Err(full());
        }
        self.names.push(why.name().as_str());
        self.records.push(state.clone());
        Ok(())
    }
}

impl Script {
    /// Really waits once, as a hand would.
    async fn did(&mut self, act: String) {
        yield_now().await;
        self.acts.push(act);
    }

    async fn play(&mut self, limits: &Limits) -> Ended {
        let ended = drive(LoopState::start(), Seen::Opened, limits, self).await;
        self.names.push(ended.name());
        ended
    }

    fn trace(&self) -> String {
        trace(self.names.iter().copied())
    }
}

fn able() -> Limits {
    Limits { abilities: Abilities { compact: true, collapse: true, stop_hooks: true, escalate: true }, ..Limits::default() }
}

fn full() -> StoreFailure {
    StoreFailure { reason: "no space left on device".to_owned() }
}

fn text() -> Observed<ReplyEnd> {
    Ok(ReplyEnd::Whole { calls: ToolBatch::default() })
}

fn asks(id: &str) -> Observed<ReplyEnd> {
    Ok(ReplyEnd::Whole { calls: ToolBatch { calls: vec![ToolUseId::new(id)] } })
}

fn cut_at_limit() -> Observed<ReplyEnd> {
    Ok(ReplyEnd::OutputLimit { calls: ToolBatch::default() })
}

fn too_long() -> Observed<ReplyEnd> {
    Ok(ReplyEnd::Withheld(Withheld::PromptTooLong))
}

/// Compiles only while a task may own the driven future, whatever the hands are.
#[test]
fn driving_is_send() {
    fn assert_send<T: Send>(it: T) -> T {
        it
    }
    fn of_any<'a, H: Hands>(limits: &'a Limits, hands: &'a mut H) -> impl Future<Output = Ended> + Send + 'a {
        assert_send(drive(LoopState::start(), Seen::Opened, limits, hands))
    }
    let (limits, mut hands) = (able(), Script::default());
    drop(of_any(&limits, &mut hands));
}

#[tokio::test]
async fn acts_are_performed_in_the_tables_order() {
    let mut script = Script { replies: [asks("glob"), cut_at_limit(), text()].into(), ..Script::default() };
    let ended = script.play(&able()).await;
    assert_snapshot!(script.trace(), @"next_turn > max_output_tokens_escalate > completed");
    assert_snapshot!(script.acts.join("\n"), @"
    prepare 1 Default
    call_model Default
    run_tools glob
    gather
    absorb next_turn
    prepare 2 Default
    call_model Default
    absorb max_output_tokens_escalate
    prepare 2 Raised
    call_model Raised
    run_stop_hooks
    ");
    let Ended::Stopped(Terminal::Completed, state) = ended else { panic!("{ended:?}") };
    assert_eq!((state.round, state.spend.usage.output, state.spend.cost), (2, 300, Money(21)), "the last reply is noted, too");
}

#[tokio::test]
async fn every_hand_gets_its_turn() {
    let blocked = StopVerdict::Blocked { by: Blocker::Hook, errors: vec![HookMessage("run the tests".to_owned())] };
    let replies = [too_long(), too_long(), text(), asks("test"), text()];
    let mut script = Script { replies: replies.into(), drains: [2].into(), verdicts: [Ok(blocked)].into(), ..Script::default() };
    script.play(&able()).await;
    assert_snapshot!(script.trace(), @"collapse_drain_retry > reactive_compact_retry > stop_hook_blocking > next_turn > completed");
    assert_snapshot!(script.acts.join("\n"), @"
    prepare 1 Default
    call_model Default
    drain_collapses
    absorb collapse_drain_retry
    prepare 1 Default
    call_model Default
    compact for PromptTooLong
    absorb reactive_compact_retry
    prepare 1 Default
    call_model Default
    run_stop_hooks
    absorb stop_hook_blocking
    prepare 1 Default
    call_model Default
    run_tools test
    gather
    absorb next_turn
    prepare 2 Default
    call_model Default
    run_stop_hooks
    ");
}

/// A restart reads this record: it must be the state that the next iteration begins with.
#[tokio::test]
async fn the_advanced_state_is_written() {
    let mut script = Script { replies: [asks("a"), asks("b"), text()].into(), ..Script::default() };
    script.play(&able()).await;
    let rounds: Vec<(u32, u64)> = script.records.iter().map(|it| (it.round, it.spend.usage.output)).collect();
    assert_eq!(rounds, [(2, 100), (3, 200)]);
}

#[tokio::test]
async fn parked_then_reopened_with_the_same_state() {
    let open = OpenCalls(vec![ToolUseId::new("b")]);
    let mut script = Script { replies: [asks("b"), text()].into(), tools: [Ok(ToolEnd::Open(open.clone()))].into(), ..Script::default() };
    let Ended::Parked(calls, state) = script.play(&able()).await else { panic!("a call waits") };
    assert_eq!(calls, open);
    assert_eq!(state.spend.usage.output, 100, "the reply that asked is noted");

    let resume = Seen::Reopened(Resume::Calls(ToolBatch { calls: calls.0 }));
    let ended = drive(state, resume, &able(), &mut script).await;
    script.names.push(ended.name());
    assert_snapshot!(script.trace(), @"parked > next_turn > completed");
}

#[tokio::test]
async fn an_interrupt_ends_it_where_it_is_seen() {
    let mut streaming = Script { replies: [asks("a"), Err(Cut::Interrupted)].into(), ..Script::default() };
    streaming.play(&able()).await;
    assert_snapshot!(streaming.trace(), @"next_turn > aborted_streaming");

    let mut tools = Script { replies: [asks("a")].into(), tools: [Err(Cut::Interrupted)].into(), ..Script::default() };
    tools.play(&able()).await;
    assert_snapshot!(tools.trace(), @"aborted_tools");
}

#[tokio::test]
async fn a_store_that_takes_nothing_fails_the_submission() {
    let mut at_append = Script { replies: [asks("a")].into(), tools: [Err(Cut::StoreFailed(full()))].into(), ..Script::default() };
    assert_eq!(at_append.play(&able()).await, Ended::Failed(full()));

    let mut at_absorb = Script { replies: [asks("a"), asks("b")].into(), full_at: Some(1), ..Script::default() };
    assert_eq!(at_absorb.play(&able()).await, Ended::Failed(full()));
    assert_snapshot!(at_absorb.trace(), @"next_turn > failed");
    assert_eq!(at_absorb.acts.last().unwrap(), "absorb next_turn", "nothing is done that is not durable");
}
