use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::permission::{AllowScope, Decision};
use agentd_types::queue::{OnAsk, Priority};
use agentd_types::system::{System, ToolStarted};
use agentd_types::{Block, Body, Entry, Json, MessageId, SubmissionId, ToolUseId, Usage};

use super::world::{World, person};
use crate::query::StoreFailure;
use crate::queue::Slept;
use crate::session::{Durability, Event, TaskEnd, Ticket};

fn ended(from: SubmissionId) -> Event {
    Event::Ended { from, how: TaskEnd::Stopped }
}

fn allow() -> Decision {
    Decision::Allow { scope: AllowScope::Once, updated_input: None }
}

fn says_calls(world: &mut World, from: SubmissionId, ids: &[&str]) {
    let content =
        ids.iter().map(|id| Block::ToolUse { id: ToolUseId::new(*id), name: "Bash".into(), input: Json::empty_object() }).collect();
    let message = AssistantMessage {
        message: MessageId::from_u128(5),
        api_id: "m".into(),
        model: "rehearsal".into(),
        content,
        stop_reason: Some("tool_use".into()),
        usage: Usage::default(),
    };
    hand(world, from, Body::Assistant(message));
}

fn hand(world: &mut World, from: SubmissionId, body: Body) {
    world.apply(Event::Handed { from, ticket: Ticket(800), entries: vec![Entry::of(from, body)], durability: Durability::Synced });
    world.sync();
}

fn starts_tool(world: &mut World, from: SubmissionId, id: &str) {
    let started = ToolStarted { tool_use: ToolUseId::new(id), name: "Bash".into(), effective_input: None, changed_by: None };
    hand(world, from, Body::System(System::ToolStarted(started)));
}

fn respond(world: &mut World, ticket: u64, request: agentd_types::RequestId) -> Vec<String> {
    world.apply(Event::Respond { ticket: Ticket(ticket), request, decision: allow(), by: person() })
}

#[test]
fn an_idle_session_takes_a_prompt_in_one_record_and_starts_when_it_is_on_disk() {
    let mut world = World::new();
    assert_eq!(world.submit(1, Priority::Next, "hi"), ["append synced [enqueued, delivered, user]"]);
    assert_eq!(world.sync(), ["publish 4", "answer 1 Accepted", "start"]);
}

#[test]
fn a_prompt_while_running_waits_for_the_end() {
    let mut world = World::new();
    let first = world.running();
    assert_eq!(world.submit(1, Priority::Next, "more"), ["append synced [enqueued]"]);
    assert_eq!(world.sync(), ["publish 5", "answer 1 Accepted"]);
    assert_eq!(world.apply(ended(first)), ["append synced [delivered, user]"]);
    assert_eq!(world.sync(), ["publish 7", "start"]);
    assert_eq!(world.starts.len(), 2);
}

#[test]
fn now_ends_the_running_submission_and_goes_first() {
    let mut world = World::new();
    let first = world.running();
    world.submit(1, Priority::Next, "later one");
    assert_eq!(world.submit(2, Priority::Now, "urgent"), ["cancel interrupt", "append synced [enqueued]"]);
    world.sync();
    world.apply(ended(first));
    world.sync();
    let queued = world.machine.committed().queue.commands();
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0].priority, Priority::Next);
}

#[test]
fn a_cancel_is_answered_when_the_submission_has_ended() {
    let mut world = World::new();
    let running = world.running();
    let cancel = |ticket, submission| Event::Interrupt { ticket: Ticket(ticket), submission, by: person() };
    assert_eq!(world.apply(cancel(1, None)), ["cancel user-cancel"]);
    assert_eq!(world.apply(cancel(2, Some(running))), [""; 0]);
    assert_eq!(world.apply(ended(running)), ["answer 1 Ended", "answer 2 Ended"]);
    assert_eq!(world.apply(cancel(3, Some(running))), ["answer 3 AlreadyEnded"]);
    assert_eq!(world.apply(cancel(4, None)), ["answer 4 NothingRunning"]);
}

#[test]
fn a_cancel_while_starting_reaches_the_task_at_its_start() {
    let mut world = World::new();
    world.submit(1, Priority::Next, "hi");
    assert_eq!(world.apply(Event::Interrupt { ticket: Ticket(2), submission: None, by: person() }), [""; 0]);
    assert_eq!(world.sync(), ["publish 4", "answer 1 Accepted", "start", "cancel user-cancel"]);
}

#[test]
fn the_first_answer_wins_and_is_on_disk_before_the_call_goes_on() {
    let mut world = World::new();
    let running = world.running();
    let (request, lines) = world.asked(running, 1, "t1", OnAsk::Wait);
    assert_eq!(lines, ["append synced [permission_request]"]);
    assert_eq!(world.sync(), ["publish 5"]);
    assert_eq!(respond(&mut world, 2, request), ["append synced [permission_resolved]"]);
    assert_eq!(respond(&mut world, 3, request), ["refuse 3 AlreadyAnswered"]);
    assert_eq!(world.sync(), ["publish 6", "answer 2 Resolved", "settle 1 Resolved"]);
    let unknown = agentd_types::RequestId::from_u128(1);
    assert_eq!(respond(&mut world, 4, unknown), ["refuse 4 NoSuchRequest"]);
}

#[test]
fn a_parked_run_resumes_at_its_call_when_somebody_answers() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    let (request, _) = world.asked(running, 1, "t1", OnAsk::Park);
    assert_eq!(world.sync().last().unwrap(), "settle 1 Open");
    hand(&mut world, running, Body::System(System::Parked { open: vec![ToolUseId::new("t1")] }));
    assert_eq!(world.apply(Event::Ended { from: running, how: TaskEnd::Parked }), [""; 0]);
    world.submit(2, Priority::Next, "waits behind the parked run");
    world.sync();
    assert_eq!(world.starts.len(), 1);
    respond(&mut world, 3, request);
    assert_eq!(world.sync()[1..], ["answer 3 Resolved", "reopen calls=1 asking"]);
    assert_eq!(world.asked(running, 4, "t1", OnAsk::Park).1, ["settle 4 Resolved"]);
}

#[test]
fn now_ends_a_parked_run_with_paired_calls() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    world.asked(running, 1, "t1", OnAsk::Park);
    world.sync();
    hand(&mut world, running, Body::System(System::Parked { open: vec![ToolUseId::new("t1")] }));
    world.apply(Event::Ended { from: running, how: TaskEnd::Parked });
    assert_eq!(
        world.submit(2, Priority::Now, "urgent"),
        ["append synced [enqueued, permission_resolved, interrupted, user, result, delivered, user]"]
    );
    assert_eq!(world.sync().last().unwrap(), "start");
}

#[test]
fn a_failed_append_is_taken_back_and_its_numbers_used_again() {
    let mut world = World::new();
    world.submit(1, Priority::Next, "hi");
    assert_eq!(world.fail(), ["refuse 1 Store", "reload"]);
    assert_eq!(world.machine.committed().last_seq.0, 1);
    world.submit(2, Priority::Next, "again");
    assert_eq!(world.sync(), ["publish 4", "answer 2 Accepted", "start"]);
}

#[test]
fn a_store_failure_in_a_round_ends_it_and_the_next_call_recovers() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    let entry = Entry::of(running, Body::System(System::Notice { text: "x".into() }));
    world.apply(Event::Handed { from: running, ticket: Ticket(1), entries: vec![entry], durability: Durability::Synced });
    assert_eq!(world.fail(), ["no receipt 1", "reload"]);
    world.apply(Event::Ended { from: running, how: TaskEnd::Failed(StoreFailure { reason: "disk full".into() }) });
    world.submit(2, Priority::Next, "there is room again");
    assert_eq!(world.sync().last().unwrap(), "reopen calls=0 results");
}

#[test]
fn the_same_key_gives_the_first_receipt_and_other_content_is_refused() {
    let mut world = World::new();
    let mut command = world.command(Priority::Next, "once");
    command.idempotency_key = Some("k".into());
    let again = agentd_types::queue::QueuedCommand { id: agentd_types::CommandId::from_u128(77), ..command.clone() };
    let other = agentd_types::queue::QueuedCommand { content: vec![Block::text("twice")], ..again.clone() };
    world.apply(Event::Submit { ticket: Ticket(1), command });
    world.sync();
    assert_eq!(world.apply(Event::Submit { ticket: Ticket(2), command: again }), ["answer 2 Accepted"]);
    assert_eq!(world.apply(Event::Submit { ticket: Ticket(3), command: other }), ["refuse 3 KeyReused"]);
    assert!(world.machine.committed().queue.commands().is_empty());
}

#[test]
fn killed_before_a_call_started_it_is_told_and_goes_on() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1", "t2"]);
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [user, recovered]"]);
    assert_eq!(world.sync().last().unwrap(), "reopen calls=0 results");
}

#[test]
fn killed_in_mid_tool_it_is_told_and_dropped_and_queued_input_is_delivered() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1", "t2"]);
    starts_tool(&mut world, running, "t1");
    world.submit(1, Priority::Next, "queued");
    world.sync();
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [user, question, recovered, answer, recovered, result, delivered, user]"]);
    assert_eq!(world.sync().last().unwrap(), "start");
}

#[test]
fn killed_with_an_open_request_it_still_waits_and_the_answer_resumes_it() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    let (request, _) = world.asked(running, 1, "t1", OnAsk::Wait);
    world.sync();
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [recovered]"]);
    world.sync();
    respond(&mut world, 2, request);
    assert_eq!(world.sync()[1..], ["answer 2 Resolved", "reopen calls=1 asking"]);
}

#[test]
fn what_joins_a_round_is_one_record_and_a_lease_alone_changes_nothing() {
    let mut world = World::new();
    let running = world.running();
    world.submit(1, Priority::Next, "by the way");
    world.sync();
    let lease = Event::Lease { from: running, ticket: Ticket(2), slept: Slept::No };
    assert_eq!(world.apply(lease), ["leased 2 1"]);
    let entries = vec![Entry::of(running, Body::System(System::Notice { text: "loop state".into() }))];
    let absorb = Event::Absorb { from: running, ticket: Ticket(3), attachments: vec![MessageId::from_u128(9)], entries };
    assert_eq!(world.apply(absorb), ["append synced [delivered, attachment, notice]"]);
    assert_eq!(world.sync(), ["publish 8", "receipt 3 3"]);
    assert!(world.machine.committed().queue.commands().is_empty());
}

#[test]
fn a_lease_of_a_submission_that_ends_goes_back() {
    let mut world = World::new();
    let running = world.running();
    world.submit(1, Priority::Next, "by the way");
    world.sync();
    world.apply(Event::Lease { from: running, ticket: Ticket(2), slept: Slept::No });
    assert_eq!(world.apply(ended(running)), ["append synced [delivered, user]"]);
}

#[test]
fn late_entries_never_enter() {
    let mut world = World::new();
    let old = world.running();
    world.apply(ended(old));
    let message = UserMessage { message: MessageId::from_u128(3), kind: UserKind::ToolResults, content: Vec::new(), commands: Vec::new() };
    let late =
        Event::Handed { from: old, ticket: Ticket(1), entries: vec![Entry::of(old, Body::User(message))], durability: Durability::Written };
    assert_eq!(world.apply(late), ["no receipt 1"]);
    assert_eq!(world.asked(old, 2, "t", OnAsk::Wait).1, ["settle 2 Withdrawn"]);
}

#[test]
fn deleting_ends_what_runs_and_is_the_last_event() {
    let mut world = World::new();
    let running = world.running();
    assert_eq!(world.apply(Event::Delete { ticket: Ticket(1), by: person() }), ["cancel user-cancel"]);
    assert_eq!(world.apply(ended(running)), ["append synced [deleted]"]);
    assert_eq!(world.submit(2, Priority::Next, "too late"), ["refuse 2 Precondition"]);
    assert_eq!(world.sync(), ["publish 5", "answer 1 Deleted", "close"]);
}

#[test]
fn a_deny_run_asks_nobody() {
    let mut world = World::new();
    let running = world.running();
    assert_eq!(world.asked(running, 1, "t", OnAsk::Deny).1, ["settle 1 Denied"]);
}

#[test]
fn draining_starts_nothing() {
    let mut world = World::new();
    let running = world.running();
    world.submit(1, Priority::Next, "queued");
    world.sync();
    world.apply(Event::Drain(crate::session::DrainStage::Stop));
    assert_eq!(world.apply(ended(running)), [""; 0]);
    assert_eq!(world.submit(2, Priority::Next, "no"), ["refuse 2 Draining"]);
    let mut world = world.killed();
    // The queue is delivered by the next daemon, after what was cut went on.
    world.apply(Event::Loaded);
    assert_eq!(world.machine.committed().queue.commands().len(), 1);
}

#[test]
fn draining_parks_what_waits_and_the_next_daemon_has_it_again() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    let (request, _) = world.asked(running, 1, "t1", OnAsk::Wait);
    world.sync();
    assert_eq!(world.apply(Event::Drain(crate::session::DrainStage::Stop)), ["settle 1 Open"]);
    hand(&mut world, running, Body::System(System::Parked { open: vec![ToolUseId::new("t1")] }));
    world.apply(Event::Ended { from: running, how: TaskEnd::Parked });
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), [""; 0]);
    respond(&mut world, 2, request);
    assert_eq!(world.sync()[1..], ["answer 2 Resolved", "reopen calls=1 asking"]);
}

#[test]
fn an_interrupt_of_a_start_that_the_store_refuses_is_answered() {
    let mut world = World::new();
    world.submit(1, Priority::Next, "hi");
    world.apply(Event::Interrupt { ticket: Ticket(2), submission: None, by: person() });
    assert_eq!(world.fail(), ["refuse 1 Store", "reload", "refuse 2 Store"]);
}

#[test]
fn a_call_whose_question_the_store_refused_is_told() {
    let mut world = World::new();
    let from = world.running();
    says_calls(&mut world, from, &["a"]);
    world.asked(from, 5, "a", OnAsk::Wait);
    assert_eq!(world.fail(), ["settle 5 StoreFailed", "reload"]);
}

mod cut;
mod questions;
