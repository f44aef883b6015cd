use agentd_types::queue::{Batching, CommandMode, Priority, QueueChange, QueuedCommand, RunOptions};
use agentd_types::{AgentId, Block, CommandId, Origin, Timestamp};
use proptest::prelude::*;

use super::*;

fn command(n: u128, priority: Priority, mode: CommandMode, text: &str) -> QueuedCommand {
    QueuedCommand {
        id: CommandId::from_u128(n),
        version: 1,
        mode,
        priority,
        content: vec![Block::text(text)],
        origin: Origin::Person { client: "cli".into() },
        agent: None,
        idempotency_key: None,
        batching: Batching::Fold,
        options: RunOptions::default(),
        enqueued_at: Timestamp(0),
    }
}

fn prompt(n: u128, priority: Priority) -> QueuedCommand {
    command(n, priority, CommandMode::Prompt, "hello")
}

fn queue(commands: impl IntoIterator<Item = QueuedCommand>) -> Pending {
    let mut pending = Pending::default();
    for command in commands {
        pending.fold(&QueueChange::Enqueued { command });
    }
    pending
}

fn ids(pending: &Pending) -> Vec<u128> {
    pending.commands().iter().map(|it| u128::from_be_bytes(*it.id.as_bytes())).collect()
}

fn numbers(ids: &[CommandId]) -> Vec<u128> {
    ids.iter().map(|it| u128::from_be_bytes(*it.as_bytes())).collect()
}

use Priority::{Later, Next, Now};

#[test]
fn delivered_order_is_now_next_later_and_first_in_first_out() {
    let pending = queue([prompt(1, Later), prompt(2, Next), prompt(3, Now), prompt(4, Next), prompt(5, Now)]);
    assert_eq!(ids(&pending), [3, 5, 2, 4, 1]);
}

fn main(command: &QueuedCommand) -> bool {
    command.agent.is_none()
}

#[test]
fn gate_a_takes_next_and_after_a_sleep_later() {
    let pending = queue([
        prompt(1, Now),
        prompt(2, Next),
        prompt(3, Later),
        command(4, Next, CommandMode::Prompt, "/clear"),
        command(5, Next, CommandMode::Shell, "ls"),
    ]);
    assert_eq!(numbers(&pending.gate_a(main, Slept::No)), [2]);
    assert_eq!(numbers(&pending.gate_a(main, Slept::Yes)), [2, 3]);
    assert_eq!(pending.gate_a(|it| it.agent == Some(AgentId::from_u128(9)), Slept::Yes), []);
}

#[test]
fn gate_b_takes_the_most_urgent_with_its_like() {
    let note = command(3, Later, CommandMode::TaskNotification, "done");
    let pending = queue([prompt(1, Next), note, prompt(2, Next), command(4, Next, CommandMode::Prompt, "/clear")]);
    assert_eq!(numbers(&pending.gate_b(|_| true)), [1, 2]);
    assert_eq!(queue([]).gate_b(|_| true), []);
}

#[test]
fn gate_b_never_folds_what_must_be_alone() {
    let alone = QueuedCommand { batching: Batching::Alone, ..prompt(1, Next) };
    let pending = queue([alone, prompt(2, Next)]);
    assert_eq!(numbers(&pending.gate_b(|_| true)), [1]);
    let pending = queue([prompt(2, Next), QueuedCommand { batching: Batching::Alone, ..prompt(1, Next) }, prompt(3, Next)]);
    assert_eq!(numbers(&pending.gate_b(|_| true)), [2, 3]);
}

#[test]
fn promoting_moves_behind_those_that_were_there() {
    let mut pending = queue([prompt(1, Now), prompt(2, Next), prompt(3, Later)]);
    pending.fold(&QueueChange::Promoted { id: CommandId::from_u128(3), priority: Now });
    assert_eq!(ids(&pending), [1, 3, 2]);
}

#[test]
fn bounds_are_named() {
    let big = command(1, Next, CommandMode::Prompt, &"x".repeat(MAX_BYTES));
    let pending = queue([big]);
    assert_eq!(pending.admits(&prompt(2, Next)), Err(Bound::Bytes { have: MAX_BYTES, more: 5 }));
    let pending = queue((0..1000).map(|n| prompt(n, Next)));
    assert_eq!(pending.admits(&prompt(2000, Next)), Err(Bound::Commands));
    assert_eq!(pending.admits(&command(2001, Later, CommandMode::TaskNotification, "x")), Ok(()));
}

fn any_priority() -> impl Strategy<Value = Priority> {
    prop_oneof![Just(Now), Just(Next), Just(Later)]
}

fn any_change() -> impl Strategy<Value = QueueChange> {
    let id = (0u128..12).prop_map(CommandId::from_u128);
    prop_oneof![
        (0u128..12, any_priority()).prop_map(|(n, p)| QueueChange::Enqueued { command: prompt(n, p) }),
        id.clone().prop_map(|id| QueueChange::Delivered { id }),
        id.clone().prop_map(|id| QueueChange::Removed { id }),
        (id.clone(), any_priority()).prop_map(|(id, priority)| QueueChange::Promoted { id, priority }),
        (id, "[a-z]{0,20}").prop_map(|(id, text)| QueueChange::Edited { id, version: 2, content: vec![Block::text(text)] }),
    ]
}

proptest! {
    #[test]
    fn any_history_keeps_order_and_count(changes in proptest::collection::vec(any_change(), 0..60)) {
        let mut pending = Pending::default();
        for change in &changes {
            pending.fold(change);
            let priorities: Vec<Priority> = pending.commands().iter().map(|it| it.priority).collect();
            prop_assert!(priorities.is_sorted());
            let bytes: usize = pending.commands().iter().map(|it| size_of_content(&it.content)).sum();
            prop_assert_eq!(pending.bytes, bytes);
            let batch = pending.gate_b(|_| true);
            prop_assert_eq!(batch.is_empty(), pending.commands().is_empty());
            prop_assert!(batch.first().is_none_or(|first| *first == pending.commands()[0].id));
        }
    }
}
