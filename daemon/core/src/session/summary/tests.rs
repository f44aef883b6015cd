//! The row always says what the whole state says.

use agentd_types::event::{AssistantMessage, UserMessage};
use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::permission::{Decision, PermissionMode, PermissionRequest, PermissionResolved};
use agentd_types::queue::{Batching, CommandMode, Priority, QueuedCommand, RunOptions};
use agentd_types::session::{Limits, NotesMode, SessionMeta};
use agentd_types::system::InterruptReason;
use agentd_types::{
    AbsPath, AgentId, Block, Entry, Json, MessageId, Money, Origin, Seq, SessionId, SubmissionId, Timestamp, ToolUseId, Usage,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::session::Projection;

fn created() -> Event {
    let meta = SessionMeta {
        name: Some("foo".into()),
        cwd: AbsPath::new("/work").unwrap(),
        model: "m".into(),
        permission_mode: PermissionMode::Default,
        limits: Limits::default(),
        notes: NotesMode::Start,
        environment: vec![],
        append_system_prompt: None,
        allow: vec![],
        deny: vec![],
    };
    let body = Body::System(System::Created { meta, idempotency_key: Some("key".into()) });
    Entry::outside(body).number(SessionId::from_u128(1), Seq(1), Timestamp(1))
}

fn command(id: u128) -> QueuedCommand {
    QueuedCommand {
        id: CommandId::from_u128(id),
        version: 1,
        mode: CommandMode::Prompt,
        priority: Priority::Next,
        content: vec![Block::text("do")],
        origin: Origin::Person { client: "c".into() },
        agent: None,
        idempotency_key: None,
        batching: Batching::Fold,
        options: RunOptions::default(),
        enqueued_at: Timestamp(1),
    }
}

fn result(terminal: TerminalName, cost: u64) -> SubmissionResult {
    SubmissionResult {
        submission: SubmissionId::from_u128(1),
        terminal,
        detail: String::new(),
        error_kind: None,
        error_status: None,
        text: String::new(),
        stop_reason: None,
        num_turns: 1,
        duration_ms: 1,
        duration_api_ms: 1,
        usage: Usage::default(),
        cost: Money(cost),
        session_cost: Money(cost),
        models: vec![],
        denials: vec![],
        answered: vec![],
    }
}

fn resolved(id: u128) -> PermissionResolved {
    let by = Origin::Person { client: "c".into() };
    let (id, tool_use) = (RequestId::from_u128(id), ToolUseId::new("t"));
    PermissionResolved { id, tool_use, decision: Decision::Deny { message: None }, by, rule: None }
}

fn request(id: u128) -> PermissionRequest {
    PermissionRequest {
        id: RequestId::from_u128(id),
        agent: None,
        tool_use: ToolUseId::new("t"),
        tool_name: "Bash".into(),
        input: Json::empty_object(),
        reason: String::new(),
        suggestions: vec![],
        asked_at: Timestamp(1),
    }
}

fn said(text: &str) -> AssistantMessage {
    AssistantMessage {
        message: MessageId::from_u128(1),
        api_id: String::new(),
        model: "m".into(),
        content: vec![Block::text(text)],
        stop_reason: Some("end_turn".into()),
        usage: Usage::default(),
    }
}

fn system() -> impl Strategy<Value = System> {
    let changes =
        (prop::option::of(select(vec!["", "bar", "baz"])), prop::option::of(select(vec!["m2", "m3"]))).prop_map(|(name, model)| {
            let (name, model) = (name.map(str::to_owned), model.map(str::to_owned));
            System::SessionUpdated {
                changes: SessionChanges { name, model, permission_mode: Some(PermissionMode::Plan), ..Default::default() },
            }
        });
    let outcome = select(vec![RecoveryOutcome::Continued, RecoveryOutcome::Dropped, RecoveryOutcome::Waiting]);
    prop_oneof![
        changes,
        Just(System::Interrupted { reason: InterruptReason::UserCancel, by: None }),
        outcome.prop_map(|outcome| System::Recovered { submission: SubmissionId::from_u128(1), outcome }),
        Just(System::Failed { reason: "x".into() }),
        Just(System::Parked { open: vec![] }),
        Just(System::Notice { text: "n".into() }),
        Just(System::Deleted),
    ]
}

fn queue() -> impl Strategy<Value = QueueChange> {
    let id = || (0..4_u128).prop_map(CommandId::from_u128);
    prop_oneof![
        3 => (0..4_u128).prop_map(|id| QueueChange::Enqueued { command: command(id) }),
        1 => id().prop_map(|id| QueueChange::Delivered { id }),
        1 => id().prop_map(|id| QueueChange::Returned { id }),
        1 => id().prop_map(|id| QueueChange::Removed { id }),
        1 => id().prop_map(|id| QueueChange::Refused { id, reason: String::new() }),
        1 => id().prop_map(|id| QueueChange::Promoted { id, priority: Priority::Now }),
        1 => id().prop_map(|id| QueueChange::Edited { id, version: 2, content: vec![] }),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    let kind = select(vec![UserKind::Prompt, UserKind::ToolResults, UserKind::Meta]);
    prop_oneof![
        kind.prop_map(|kind| Body::User(UserMessage { message: MessageId::from_u128(1), kind, content: vec![], commands: vec![] })),
        ".{0,5}|[a-z]{300}".prop_map(|text| Body::Assistant(said(&text))),
        system().prop_map(Body::System),
        (0..3_u128).prop_map(|id| Body::PermissionRequest(request(id))),
        (0..3_u128).prop_map(|id| Body::PermissionResolved(resolved(id))),
        queue().prop_map(Body::Queue),
        (select(TerminalName::ALL.to_vec()), 0..9_u64).prop_map(|(terminal, cost)| Body::Result(result(terminal, cost))),
        Just(Body::Tombstone { message: MessageId::from_u128(1), reason: String::new() }),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    (body(), prop::bool::weighted(0.8), prop::bool::weighted(0.2)).prop_map(|(body, inside, agent)| Entry {
        submission: inside.then(|| SubmissionId::from_u128(1)),
        agent: agent.then(|| AgentId::from_u128(5)),
        ..Entry::outside(body)
    })
}

proptest! {
    #[test]
    fn the_row_equals_what_the_whole_state_says(entries in prop::collection::vec(entry(), 0..40)) {
        let first = created();
        let (mut summary, mut projection) = (Summary::open(&first).unwrap(), Projection::open(&first).unwrap());
        prop_assert_eq!(&summary.info, &projection.info());
        for (entry, at) in entries.into_iter().zip(2..) {
            let event = entry.number(first.session, Seq(at), Timestamp(at as i64 * 10));
            // Stored and read back between any two.
            summary = serde_json::from_slice(&serde_json::to_vec(&summary).unwrap()).unwrap();
            summary.fold(&event);
            projection.fold(&event);
            prop_assert_eq!(&summary.info, &projection.info());
            prop_assert_eq!(summary.wants_to_run(), projection.run.is_some() || !projection.queue.commands().is_empty());
            prop_assert_eq!(summary.is_deleted(), projection.ending == Ending::Deleted);
        }
        prop_assert_eq!(summary.creation_key.as_deref(), Some("key"));
    }
}

#[test]
fn a_row_begins_with_created() {
    let event = Entry::outside(Body::System(System::Deleted)).number(SessionId::from_u128(1), Seq(1), Timestamp(1));
    assert_eq!(Summary::open(&event), Err(Unfoldable { found: "system" }));
}
