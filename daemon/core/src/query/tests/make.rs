//! Short names for observations and limits, for tests. Nothing here is random.

use agentd_types::{Money, ToolUseId, Usage};

use crate::query::{
    Abilities, Act, AutoCompact, Blocker, Budget, CompactBoundary, Compaction, CompactionEnd, Cut, Drained, FailureKind, Gathered,
    HookMessage, Limits, LoopState, ModelFailure, Next, OpenCalls, Prepared, Reply, ReplyEnd, Room, Seen, Step, StopVerdict, StoreFailure,
    Terminal, ToolBatch, ToolEnd, ToolRun, Withheld, next,
};

pub const BOUNDARY: CompactBoundary = CompactBoundary { tokens_before: 180_000, tokens_after: 12_000 };

/// Everything is built and allowed.
pub fn able() -> Limits {
    Limits { abilities: Abilities { compact: true, collapse: true, stop_hooks: true, escalate: true }, ..Limits::default() }
}

/// Nothing is built: recoveries, hooks and compaction are absent.
pub fn bare() -> Limits {
    Limits::default()
}

pub fn decide(state: &LoopState, limits: &Limits, seen: Seen) -> Next {
    next(state, limits, seen)
}

pub fn act(act: Act) -> Next {
    Next::Do(act)
}

pub fn stop(terminal: Terminal) -> Next {
    Next::Go(Step::Stop(terminal))
}

pub fn batch(ids: &[&str]) -> ToolBatch {
    ToolBatch { calls: ids.iter().map(|id| ToolUseId::new(*id)).collect() }
}

pub fn open(ids: &[&str]) -> OpenCalls {
    OpenCalls(batch(ids).calls)
}

pub fn prepared(room: Room, budget: Budget) -> Seen {
    Seen::Prepared(Ok(Prepared { room, budget, auto_compact: AutoCompact::NotNeeded }))
}

pub fn auto_compacted(auto_compact: AutoCompact) -> Seen {
    Seen::Prepared(Ok(Prepared { room: Room::Fits, budget: Budget::Reserved, auto_compact }))
}

/// A reply of `output` tokens that cost as many nano-dollars.
pub fn reply(output: u64, end: ReplyEnd) -> Seen {
    Seen::Replied(Ok(Reply { end, usage: Usage { output, ..Usage::default() }, cost: Money(output) }))
}

pub fn text(output: u64) -> Seen {
    reply(output, ReplyEnd::Whole { calls: ToolBatch::default() })
}

pub fn asks(ids: &[&str]) -> Seen {
    reply(100, ReplyEnd::Whole { calls: batch(ids) })
}

pub fn cut_at_limit(ids: &[&str]) -> Seen {
    reply(8_000, ReplyEnd::OutputLimit { calls: batch(ids) })
}

pub fn withheld(what: Withheld) -> Seen {
    reply(0, ReplyEnd::Withheld(what))
}

pub fn drained(committed: u32) -> Seen {
    Seen::Drained(Ok(Drained { committed, withheld: Withheld::PromptTooLong }))
}

pub fn compacted(end: CompactionEnd, withheld: Withheld) -> Seen {
    let usage = Usage { input: 1_000, output: 50, ..Usage::default() };
    Seen::Compacted(Ok(Compaction { end, withheld, usage, cost: Money(7) }))
}

pub fn hooks(verdict: StopVerdict) -> Seen {
    Seen::HooksRan(Ok(verdict))
}

pub fn blocked(by: Blocker) -> Seen {
    hooks(StopVerdict::Blocked { by, errors: vec![HookMessage("run the tests first".to_owned())] })
}

pub fn tools(end: ToolEnd) -> Seen {
    Seen::ToolsRan(Ok(ToolRun::of(end)))
}

pub fn collected(commands: u32) -> Seen {
    Seen::Collected(Ok(Gathered { commands, attachments: 0 }))
}

pub fn failure(kind: FailureKind) -> ModelFailure {
    ModelFailure { kind, status: None, message: "no usable answer".to_owned() }
}

pub fn disk_full() -> StoreFailure {
    StoreFailure { reason: "no space left on device".to_owned() }
}

/// The observation of every act that can be cut, cut for this reason; those of the streaming part first.
pub fn cut_everywhere(why: &Cut) -> ([Seen; 5], [Seen; 2]) {
    let streaming = [
        Seen::Prepared(Err(why.clone())),
        Seen::Replied(Err(why.clone())),
        Seen::Drained(Err(why.clone())),
        Seen::Compacted(Err(why.clone())),
        Seen::HooksRan(Err(why.clone())),
    ];
    (streaming, [Seen::ToolsRan(Err(why.clone())), Seen::Collected(Err(why.clone()))])
}
