//! Scripts for the loop: who answers each act, written out or chosen. A script answers an act with its own observation and no other.

use agentd_types::{Money, ToolUseId, Usage};

use crate::query::act::AutoCompactPlan;
use crate::query::{
    Abilities, Act, AutoCompact, Blocker, Budget, CompactBoundary, Compaction, CompactionEnd, Cut, Drained, FailureKind, Gathered, Limits,
    ModelFailure, OpenCalls, Prepared, Reply, ReplyEnd, Resume, Room, Seen, StopVerdict, StoreFailure, ToolBatch, ToolEnd, ToolRun,
    Withheld,
};

/// Chooses. Zero is always the choice that ends soonest.
pub trait Choose {
    /// Below `n`, which is not zero.
    fn below(&mut self, n: u32) -> u32;
}

/// SplitMix64: small, seeded, good enough to wander everywhere.
pub struct Seeded(pub u64);

impl Choose for Seeded {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from(((bits >> 32) * u64::from(n)) >> 32).unwrap()
    }
}

/// Choices written out; zero from then on.
pub struct Written(pub std::vec::IntoIter<u32>);

impl Choose for Written {
    fn below(&mut self, n: u32) -> u32 {
        self.0.next().unwrap_or(0) % n
    }
}

/// Limits under which every script ends: rounds are few, ceilings are the design's or lower.
pub fn limits(choose: &mut impl Choose) -> Limits {
    let flags = choose.below(16);
    let abilities = Abilities { compact: flags & 1 != 0, collapse: flags & 2 != 0, stop_hooks: flags & 4 != 0, escalate: flags & 8 != 0 };
    let max_turns = Some(1 + choose.below(4));
    let token_budget = [None, None, Some(2_000), Some(100_000)][choose.below(4) as usize];
    let max_budget = [None, None, None, Some(Money(5_000))][choose.below(4) as usize];
    let design = Limits { abilities, max_turns, token_budget, max_budget, ..Limits::default() };
    if choose.below(4) != 0 {
        return design;
    }
    let mut low = |of: u8| u8::try_from(choose.below(u32::from(of) + 1)).unwrap();
    Limits {
        output_recoveries: low(design.output_recoveries),
        stop_hook_blocks: low(design.stop_hook_blocks),
        structured_output_tries: low(design.structured_output_tries),
        budget_nudges: low(design.budget_nudges),
        auto_compact_failures: low(design.auto_compact_failures),
        ..design
    }
}

/// How a submission begins, or goes on.
pub fn first(choose: &mut impl Choose) -> Seen {
    match choose.below(8) {
        0..=4 => Seen::Opened,
        5 => Seen::Reopened(Resume::Nothing),
        6 => Seen::Reopened(Resume::Answered),
        _ => Seen::Reopened(Resume::Calls(some_calls(choose.below(3)))),
    }
}

/// A well-typed observation of this act.
pub fn answer(choose: &mut impl Choose, act: &Act) -> Seen {
    match choose.below(96) {
        94 => return cut(act, Cut::Interrupted),
        95 => return cut(act, Cut::StoreFailed(StoreFailure { reason: String::new() })),
        _ => {}
    }
    match act {
        Act::Prepare(plan) => Seen::Prepared(Ok(prepare(choose, plan.auto_compact))),
        Act::CallModel(_) => Seen::Replied(Ok(reply(choose))),
        Act::DrainCollapses(withheld) => Seen::Drained(Ok(Drained { committed: choose.below(3), withheld: *withheld })),
        Act::Compact(plan) => Seen::Compacted(Ok(compact(choose, plan.withheld))),
        Act::RunStopHooks => Seen::HooksRan(Ok(verdict(choose))),
        Act::RunTools(batch) => Seen::ToolsRan(Ok(ToolRun::of(tools(choose, batch)))),
        Act::Gather => Seen::Collected(Ok(Gathered { commands: choose.below(2), attachments: choose.below(2) })),
    }
}

/// The observation of this act, cut short.
pub fn cut(act: &Act, why: Cut) -> Seen {
    match act {
        Act::Prepare(_) => Seen::Prepared(Err(why)),
        Act::CallModel(_) => Seen::Replied(Err(why)),
        Act::DrainCollapses(_) => Seen::Drained(Err(why)),
        Act::Compact(_) => Seen::Compacted(Err(why)),
        Act::RunStopHooks => Seen::HooksRan(Err(why)),
        Act::RunTools(_) => Seen::ToolsRan(Err(why)),
        Act::Gather => Seen::Collected(Err(why)),
    }
}

fn prepare(choose: &mut impl Choose, plan: AutoCompactPlan) -> Prepared {
    let auto_compact = match (plan, choose.below(6)) {
        (AutoCompactPlan::Off, _) | (AutoCompactPlan::Allowed, 0..=3) => AutoCompact::NotNeeded,
        (AutoCompactPlan::Allowed, 4) => AutoCompact::Done,
        (AutoCompactPlan::Allowed, _) => AutoCompact::Failed,
    };
    match choose.below(40) {
        38 => Prepared { room: Room::Full, budget: Budget::Reserved, auto_compact },
        39 => Prepared { room: Room::Fits, budget: Budget::Reached { spent: Money(2), limit: Money(1) }, auto_compact },
        _ => Prepared { room: Room::Fits, budget: Budget::Reserved, auto_compact },
    }
}

fn reply(choose: &mut impl Choose) -> Reply {
    let end = match choose.below(21) {
        0..=4 => ReplyEnd::Whole { calls: ToolBatch::default() },
        5..=9 => ReplyEnd::Whole { calls: some_calls(1) },
        10..=12 => ReplyEnd::OutputLimit { calls: ToolBatch::default() },
        13 => ReplyEnd::OutputLimit { calls: some_calls(1) },
        14..=16 => ReplyEnd::Withheld(Withheld::PromptTooLong),
        17 => ReplyEnd::Withheld(Withheld::MediaTooLarge),
        18 => ReplyEnd::Withheld(Withheld::OutputLimit),
        19 => ReplyEnd::OverBudget { spent: Money(2), limit: Money(1) },
        _ => ReplyEnd::Failed(model_failure(FailureKind::Api(String::new()))),
    };
    let output = u64::from(choose.below(1_000));
    Reply { end, usage: Usage { output, ..Usage::default() }, cost: Money(output) }
}

fn compact(choose: &mut impl Choose, withheld: Withheld) -> Compaction {
    let end = match choose.below(3) {
        0 => CompactionEnd::Failed,
        _ => CompactionEnd::Shrunk(CompactBoundary { tokens_before: 2, tokens_after: 1 }),
    };
    Compaction { end, withheld, usage: Usage { output: 10, ..Usage::default() }, cost: Money(10) }
}

fn verdict(choose: &mut impl Choose) -> StopVerdict {
    match choose.below(12) {
        0..=5 => StopVerdict::Passed,
        6..=8 => StopVerdict::Blocked { by: Blocker::Hook, errors: Vec::new() },
        9..=10 => StopVerdict::Blocked { by: Blocker::StructuredOutput, errors: Vec::new() },
        _ => StopVerdict::Prevented { reason: String::new() },
    }
}

fn tools(choose: &mut impl Choose, batch: &ToolBatch) -> ToolEnd {
    match choose.below(24) {
        21 => ToolEnd::HookStopped { reason: String::new() },
        22 => ToolEnd::Fatal(model_failure(FailureKind::ToolFatal)),
        23 if !batch.calls.is_empty() => ToolEnd::Open(OpenCalls(batch.calls.clone())),
        _ => ToolEnd::Done,
    }
}

fn model_failure(kind: FailureKind) -> ModelFailure {
    ModelFailure { kind, status: None, message: String::new() }
}

fn some_calls(count: u32) -> ToolBatch {
    ToolBatch { calls: (0..count).map(|_| ToolUseId(String::new())).collect() }
}
