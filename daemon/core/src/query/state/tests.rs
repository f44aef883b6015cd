//! Edge tests: what each transition keeps and resets, and what each observation folds in. Whole states are compared.

use agentd_types::{Money, Usage};

use crate::query::state::{AutoCompactState, Spend};
use crate::query::tests::make::{
    BOUNDARY, asks, auto_compacted, blocked, collected, compacted, cut_everywhere, drained, failure, hooks, open, reply, text, tools,
};
use crate::query::{
    AutoCompact, Blocker, CompactionEnd, Continue, ContinueName, Cut, FailureKind, Gathered, LoopState, Nudge, OutputCap, ReplyEnd, Resume,
    Seen, StopVerdict, ToolBatch, ToolEnd, Withheld,
};

/// Every field differs from its start, so that a reset shows.
fn busy() -> LoopState {
    LoopState {
        round: 4,
        transition: Some(ContinueName::MaxOutputTokensRecovery),
        output_cap: OutputCap::Raised,
        output_recoveries: 2,
        attempted_reactive_compact: true,
        stop_hook_active: true,
        stop_hook_blocks: 3,
        auto_compact: AutoCompactState { failures: 2, rounds_since: 5 },
        structured_output_tries: 1,
        budget_nudges: 6,
        last_yields: [700, 300],
        spend: Spend {
            usage: Usage { input: 1_000, output: 2_000, cache_read: 30, cache_write_5m: 4, cache_write_1h: 5 },
            cost: Money(900),
            last_output: 80,
            since_nudge: 250,
        },
    }
}

#[test]
fn a_submission_starts_with_nothing_spent() {
    let start = LoopState {
        round: 1,
        transition: None,
        output_cap: OutputCap::Default,
        output_recoveries: 0,
        attempted_reactive_compact: false,
        stop_hook_active: false,
        stop_hook_blocks: 0,
        auto_compact: AutoCompactState { failures: 0, rounds_since: 0 },
        structured_output_tries: 0,
        budget_nudges: 0,
        last_yields: [0, 0],
        spend: Spend { usage: Usage::default(), cost: Money::ZERO, last_output: 0, since_nudge: 0 },
    };
    assert_eq!(LoopState::start(), start);
}

#[test]
fn next_turn_forgets_recoveries_and_counts_the_round() {
    let after = LoopState {
        round: 5,
        transition: Some(ContinueName::NextTurn),
        output_cap: OutputCap::Default,
        output_recoveries: 0,
        attempted_reactive_compact: false,
        ..busy()
    };
    assert_eq!(busy().advance(&Continue::NextTurn { gathered: Gathered { commands: 1, attachments: 2 } }), after);
}

#[test]
fn collapse_drain_retry_keeps_everything() {
    let after = LoopState { transition: Some(ContinueName::CollapseDrainRetry), ..busy() };
    assert_eq!(busy().advance(&Continue::CollapseDrainRetry { committed: 2 }), after);
}

#[test]
fn reactive_compact_retry_marks_the_attempt() {
    let before = LoopState { attempted_reactive_compact: false, ..busy() };
    let after = LoopState { transition: Some(ContinueName::ReactiveCompactRetry), attempted_reactive_compact: true, ..busy() };
    assert_eq!(before.advance(&Continue::ReactiveCompactRetry { boundary: BOUNDARY }), after);
}

#[test]
fn max_output_tokens_escalate_raises_the_cap() {
    let before = LoopState { output_cap: OutputCap::Default, ..busy() };
    let after = LoopState { transition: Some(ContinueName::MaxOutputTokensEscalate), output_cap: OutputCap::Raised, ..busy() };
    assert_eq!(before.advance(&Continue::MaxOutputTokensEscalate { cap: OutputCap::Raised }), after);
}

#[test]
fn max_output_tokens_recovery_counts_one_and_keeps_the_cap() {
    let after = LoopState { transition: Some(ContinueName::MaxOutputTokensRecovery), output_recoveries: 3, ..busy() };
    assert_eq!(busy().advance(&Continue::MaxOutputTokensRecovery { attempt: 3 }), after);
}

#[test]
fn stop_hook_blocking_counts_by_its_blocker_and_keeps_the_compaction_attempt() {
    let after = LoopState {
        transition: Some(ContinueName::StopHookBlocking),
        output_cap: OutputCap::Default,
        output_recoveries: 0,
        stop_hook_active: true,
        ..busy()
    };
    let before = LoopState { stop_hook_active: false, ..busy() };
    let why = |by| Continue::StopHookBlocking { by, errors: Vec::new() };
    assert_eq!(before.clone().advance(&why(Blocker::Hook)), LoopState { stop_hook_blocks: 4, ..after.clone() });
    assert_eq!(before.advance(&why(Blocker::StructuredOutput)), LoopState { structured_output_tries: 2, ..after });
}

#[test]
fn token_budget_continuation_shifts_the_yields() {
    let after = LoopState {
        transition: Some(ContinueName::TokenBudgetContinuation),
        output_cap: OutputCap::Default,
        output_recoveries: 0,
        attempted_reactive_compact: false,
        budget_nudges: 7,
        last_yields: [300, 250],
        spend: Spend { since_nudge: 0, ..busy().spend },
        ..busy()
    };
    assert_eq!(busy().advance(&Continue::TokenBudgetContinuation { nudge: Nudge { spent: 1, left: 2 } }), after);
}

#[test]
fn counters_stop_at_their_types_end() {
    let full = LoopState {
        round: u32::MAX,
        stop_hook_blocks: u8::MAX,
        structured_output_tries: u8::MAX,
        budget_nudges: u8::MAX,
        output_recoveries: u8::MAX,
        ..busy()
    };
    assert_eq!(full.clone().advance(&Continue::NextTurn { gathered: Gathered::default() }).round, u32::MAX);
    assert_eq!(full.clone().advance(&Continue::MaxOutputTokensRecovery { attempt: 1 }).output_recoveries, u8::MAX);
    let blocked = |by| Continue::StopHookBlocking { by, errors: Vec::new() };
    assert_eq!(full.clone().advance(&blocked(Blocker::Hook)).stop_hook_blocks, u8::MAX);
    assert_eq!(full.clone().advance(&blocked(Blocker::StructuredOutput)).structured_output_tries, u8::MAX);
    assert_eq!(full.advance(&Continue::TokenBudgetContinuation { nudge: Nudge { spent: 0, left: 0 } }).budget_nudges, u8::MAX);
}

#[test]
fn a_reply_is_paid_for_and_measured_however_it_ended() {
    let ends = [
        ReplyEnd::Whole { calls: ToolBatch::default() },
        ReplyEnd::OutputLimit { calls: ToolBatch::default() },
        ReplyEnd::Withheld(Withheld::PromptTooLong),
        ReplyEnd::Failed(failure(FailureKind::Refusal(None))),
    ];
    let spend = Spend {
        usage: Usage { output: 2_040, ..busy().spend.usage },
        cost: Money(940),
        last_output: 40,
        since_nudge: 290, // what came since the nudge before counts with it
    };
    for end in ends {
        assert_eq!(busy().note(&reply(40, end)), LoopState { spend, ..busy() });
    }
}

#[test]
fn a_compaction_is_paid_for_but_is_no_answer() {
    let usage = Usage { input: 2_000, output: 2_050, ..busy().spend.usage };
    let spend = Spend { usage, cost: Money(907), ..busy().spend };
    let failed = compacted(CompactionEnd::Failed, Withheld::PromptTooLong);
    let shrunk = compacted(CompactionEnd::Shrunk(BOUNDARY), Withheld::PromptTooLong);
    assert_eq!(busy().note(&failed), LoopState { spend, ..busy() });
    let auto_compact = AutoCompactState { failures: 2, rounds_since: 0 };
    assert_eq!(busy().note(&shrunk), LoopState { spend, auto_compact, ..busy() });
}

#[test]
fn the_breaker_counts_failures_in_a_row() {
    let with = |failures, rounds_since| LoopState { auto_compact: AutoCompactState { failures, rounds_since }, ..busy() };
    assert_eq!(busy().note(&auto_compacted(AutoCompact::NotNeeded)), busy());
    assert_eq!(busy().note(&auto_compacted(AutoCompact::Failed)), with(3, 5));
    assert_eq!(busy().note(&auto_compacted(AutoCompact::Done)), with(0, 0));
}

#[test]
fn a_round_is_counted_when_all_its_calls_have_results() {
    let counted = LoopState { auto_compact: AutoCompactState { failures: 2, rounds_since: 6 }, ..busy() };
    assert_eq!(busy().note(&tools(ToolEnd::Done)), counted);
    let others = [
        ToolEnd::HookStopped { reason: String::new() },
        ToolEnd::Fatal(failure(FailureKind::ToolFatal)),
        ToolEnd::Open(open(&["a"])), // counted when the rest has run
    ];
    for end in others {
        assert_eq!(busy().note(&tools(end)), busy());
    }
}

#[test]
fn what_measures_nothing_changes_nothing() {
    let (streaming, in_tools) = cut_everywhere(&Cut::Interrupted);
    let quiet =
        [Seen::Opened, Seen::Reopened(Resume::Nothing), drained(3), hooks(StopVerdict::Passed), blocked(Blocker::Hook), collected(1)];
    for seen in streaming.iter().chain(&in_tools).chain(&quiet) {
        assert_eq!(busy().note(seen), busy(), "{seen:?}");
    }
}

#[test]
fn an_answer_after_a_nudge_yields_all_its_rounds() {
    let nudged = busy().advance(&Continue::TokenBudgetContinuation { nudge: Nudge { spent: 1, left: 2 } });
    let answered = nudged.note(&asks(&["a"])).advance(&Continue::NextTurn { gathered: Gathered::default() }).note(&text(30));
    assert_eq!(answered.yields(), [250, 130]);
    assert_eq!(answered.spend.last_output, 30);
}

/// The log holds this: a renamed field would lose the state of parked submissions.
#[test]
fn it_is_written_by_these_names() {
    let json = serde_json::to_string_pretty(&busy()).unwrap();
    insta::assert_snapshot!(json, @r#"
    {
      "round": 4,
      "transition": "max_output_tokens_recovery",
      "output_cap": "raised",
      "output_recoveries": 2,
      "attempted_reactive_compact": true,
      "stop_hook_active": true,
      "stop_hook_blocks": 3,
      "auto_compact": {
        "failures": 2,
        "rounds_since": 5
      },
      "structured_output_tries": 1,
      "budget_nudges": 6,
      "last_yields": [
        700,
        300
      ],
      "spend": {
        "usage": {
          "input": 1000,
          "output": 2000,
          "cache_read": 30,
          "cache_write_5m": 4,
          "cache_write_1h": 5
        },
        "cost": 900,
        "last_output": 80,
        "since_nudge": 250
      }
    }
    "#);
    assert_eq!(serde_json::from_str::<LoopState>(&json).unwrap(), busy());
}
