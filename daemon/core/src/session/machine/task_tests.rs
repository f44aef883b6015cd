//! Tasks at the session's machine, row by row: durable before they run, one note each, held and silenced notes, confirmed ends.

use agentd_types::event::{AssistantMessage, UserKind, UserMessage};
use agentd_types::outcome::TerminalName;
use agentd_types::question::{Asks, Choice, Question};
use agentd_types::queue::{CommandMode, OnAsk, Priority};
use agentd_types::session::NotesMode;
use agentd_types::system::{SessionChanges, System, ToolStarted};
use agentd_types::task::{TaskEnd as End, TaskOutcome};
use agentd_types::{Block, Body, CommandId, Entry, Json, MessageId, Origin, RequestId, SubmissionId, TaskId, Timestamp, ToolUseId, Usage};

use super::schedules::finished;
use super::world::{World, person};
use crate::queue::{Slept, Waits};
use crate::session::tasks::MAX_COMMANDS;
use crate::session::{DrainStage, Durability, Event, TaskEnd, TaskScope, Ticket};

/// A session with a background task, its submission over.
fn idle_with_task() -> (World, TaskId) {
    let mut world = World::new();
    let from = world.running();
    let (id, _) = world.task(from, 1, "call");
    world.sync();
    ends(&mut world, from);
    (world, id)
}

/// The submission ends by itself.
fn ends(world: &mut World, from: SubmissionId) {
    hand(world, from, Body::Result(finished(from, TerminalName::Completed)));
    world.apply(Event::Ended { from, how: TaskEnd::Stopped });
    world.sync();
}

fn over(world: &mut World, task: TaskId, outcome: TaskOutcome) -> Vec<String> {
    world.apply(Event::TaskOver { task, end: End::of(outcome) })
}

fn hand(world: &mut World, from: SubmissionId, body: Body) {
    world.apply(Event::Handed { from, ticket: Ticket(800), entries: vec![Entry::of(from, body)], durability: Durability::Synced });
    world.sync();
}

fn calls(world: &mut World, from: SubmissionId, id: &str, name: &str) {
    let content = vec![Block::ToolUse { id: ToolUseId::new(id), name: name.into(), input: Json::empty_object() }];
    let message = AssistantMessage {
        message: MessageId::from_u128(5),
        api_id: "m".into(),
        model: "rehearsal".into(),
        content,
        stop_reason: Some("tool_use".into()),
        usage: Usage::default(),
    };
    hand(world, from, Body::Assistant(message));
    let started = ToolStarted { tool_use: ToolUseId::new(id), name: name.into(), effective_input: None, changed_by: None };
    hand(world, from, Body::System(System::ToolStarted(started)));
}

fn result(world: &mut World, from: SubmissionId, id: &str) {
    let block = Block::ToolResult { tool_use_id: ToolUseId::new(id), content: Vec::new(), is_error: false };
    let message = UserMessage { message: MessageId::from_u128(6), kind: UserKind::ToolResults, content: vec![block], commands: Vec::new() };
    hand(world, from, Body::User(message));
}

fn interrupt(world: &mut World, from: SubmissionId) {
    world.apply(Event::Interrupt { ticket: Ticket(50), submission: None, by: person() });
    hand(world, from, Body::System(System::Interrupted { reason: agentd_types::system::InterruptReason::UserCancel, by: Some(person()) }));
    hand(world, from, Body::Result(finished(from, TerminalName::AbortedTools)));
    world.apply(Event::Ended { from, how: TaskEnd::Stopped });
    world.sync();
}

#[test]
fn a_task_is_on_disk_before_its_work_is_taken_over() {
    let mut world = World::new();
    let from = world.running();
    assert_eq!(world.task(from, 1, "call").1, ["append synced [task]"]);
    assert_eq!(world.sync(), ["publish 5", "task starts 1"]);
    assert_eq!(world.machine.committed().info().tasks_running, 1);
}

#[test]
fn a_store_that_does_not_take_it_starts_none() {
    let mut world = World::new();
    let from = world.running();
    world.task(from, 1, "call");
    assert_eq!(world.fail(), ["no task 1 Store", "reload"]);
    assert_eq!(world.machine.committed().info().tasks_running, 0);
}

#[test]
fn a_submission_that_has_ended_starts_none() {
    let (mut world, _) = idle_with_task();
    assert_eq!(world.task(SubmissionId::from_u128(3), 2, "late").1, ["no task 2 Ended"]);
}

#[test]
fn more_than_the_bound_are_refused() {
    let mut world = World::new();
    let from = world.running();
    for ticket in 0..MAX_COMMANDS as u64 {
        world.task(from, ticket, "call");
    }
    assert_eq!(world.task(from, 999, "call").1, ["no task 999 TooMany"]);
}

#[test]
fn an_idle_session_starts_with_the_note_in_one_record() {
    let (mut world, task) = idle_with_task();
    assert_eq!(over(&mut world, task, TaskOutcome::Completed), ["append synced [task, enqueued, delivered, user]"]);
    assert!(world.sync().contains(&"start".to_owned()));
    let last = world.disk.iter().rev().find(|event| matches!(event.body, Body::User(_))).unwrap();
    assert_eq!(last.origin, Some(Origin::Task { id: task.to_string() }));
}

#[test]
fn while_the_model_runs_the_note_waits_for_the_end() {
    let mut world = World::new();
    let from = world.running();
    let (task, _) = world.task(from, 1, "call");
    world.sync();
    assert_eq!(over(&mut world, task, TaskOutcome::Completed), ["append synced [task, enqueued]"]);
    world.sync();
    assert_eq!(world.apply(Event::Lease { from, ticket: Ticket(2), slept: Slept::No }), ["leased 2 0"]);
    assert_eq!(world.apply(Event::Lease { from, ticket: Ticket(3), slept: Slept::Yes }), ["leased 3 1"]);
    assert_eq!(world.machine.waits(None), Waits { typed: false, noted: true });
    world.apply(Event::Ended { from, how: TaskEnd::Stopped });
    assert!(world.sync().contains(&"start".to_owned()));
}

#[test]
fn a_prompt_goes_before_a_note_that_came_first() {
    let mut world = World::new();
    let from = world.running();
    let (task, _) = world.task(from, 1, "call");
    over(&mut world, task, TaskOutcome::Completed);
    world.submit(2, Priority::Next, "typed");
    world.apply(Event::Ended { from, how: TaskEnd::Stopped });
    world.sync();
    let prompt = world.disk.iter().rev().find(|event| matches!(event.body, Body::User(_))).unwrap();
    assert_eq!(prompt.origin, Some(person()));
}

#[test]
fn an_open_question_holds_the_note_and_does_not_wake_a_sleep() {
    let mut world = World::new();
    let from = world.running();
    let (task, _) = world.task(from, 1, "call");
    world.asked(from, 2, "asks", OnAsk::Wait);
    world.sync();
    over(&mut world, task, TaskOutcome::Completed);
    world.sync();
    assert_eq!(world.machine.waits(None), Waits { typed: false, noted: false });
    assert_eq!(world.starts.len(), 1);
}

#[test]
fn a_note_does_not_answer_whether_a_cut_submission_goes_on() {
    let mut world = World::new();
    let from = world.running();
    let (task, _) = world.task(from, 1, "other");
    calls(&mut world, from, "call", "Bash");
    let mut world = world.killed();
    world.apply(Event::Loaded);
    world.sync();
    // The task was lost, its note is queued; the question stands.
    let committed = world.machine.committed();
    assert!(committed.queue.get(CommandId::from_bytes(*task.as_bytes())).is_some());
    assert_eq!(committed.questions.len(), 1);
    assert!(world.starts.is_empty());
    // A person's prompt drops it.
    world.submit(9, Priority::Next, "new");
    world.sync();
    assert_eq!(world.starts.len(), 1);
}

#[test]
fn after_a_persons_cancel_notes_wait_until_one_speaks() {
    let mut world = World::new();
    let from = world.running();
    let (task, _) = world.task(from, 1, "call");
    world.sync();
    interrupt(&mut world, from);
    assert_eq!(over(&mut world, task, TaskOutcome::Completed), ["append synced [task, enqueued]"]);
    world.sync();
    let mut world = world.killed();
    world.apply(Event::Loaded);
    assert!(world.starts.is_empty(), "the flag is durable");
    world.submit(2, Priority::Next, "hello");
    world.sync();
    let from = *world.starts.last().unwrap();
    ends(&mut world, from);
    assert_eq!(world.starts.len(), 2, "now the note starts one");
}

#[test]
fn recorded_notes_start_nothing_until_a_person_speaks() {
    let (mut world, task) = idle_with_task();
    let changes = SessionChanges { notes: Some(NotesMode::Record), ..SessionChanges::default() };
    world.apply(Event::Update { ticket: Ticket(2), changes, by: person() });
    world.sync();
    assert_eq!(over(&mut world, task, TaskOutcome::Completed), ["append synced [task, enqueued]"]);
    world.sync();
    assert_eq!(world.starts.len(), 1);
    world.submit(3, Priority::Next, "hello");
    world.sync();
    assert_eq!(world.starts.len(), 2);
}

#[test]
fn a_stop_is_answered_when_nothing_runs_and_names_who() {
    let (mut world, task) = idle_with_task();
    let stop = |ticket| Event::StopTasks { ticket: Ticket(ticket), scope: TaskScope::One(task), by: person() };
    assert_eq!(world.apply(stop(2)), ["stop task"]);
    assert_eq!(world.apply(stop(3)), [""; 0], "told once");
    over(&mut world, task, TaskOutcome::Killed);
    let lines = world.sync();
    assert!(lines.contains(&"answer 2 Tasks".to_owned()) && lines.contains(&"answer 3 Tasks".to_owned()), "{lines:?}");
    let end = world.machine.committed().task(task).unwrap().end.clone().unwrap().0;
    assert_eq!((end.outcome, end.by), (TaskOutcome::Killed, Some(person())));
    // One that has ended already is fine.
    assert_eq!(world.apply(stop(4)), ["answer 4 Tasks"]);
    let unknown = TaskScope::One(TaskId::from_u128(77));
    assert_eq!(world.apply(Event::StopTasks { ticket: Ticket(5), scope: unknown, by: person() }), ["refuse 5 NoSuchTask"]);
}

#[test]
fn who_stops_his_own_task_gets_no_note() {
    let (mut world, task) = idle_with_task();
    let by = Origin::Session { id: world.machine.committed().id };
    world.apply(Event::StopTasks { ticket: Ticket(2), scope: TaskScope::All, by });
    assert_eq!(over(&mut world, task, TaskOutcome::Killed), ["append synced [task]"]);
}

#[test]
fn tasks_of_a_killed_daemon_are_lost_and_told_of_once() {
    let (world, task) = idle_with_task();
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [task, enqueued, delivered, user]"]);
    world.sync();
    let mut world = world.killed();
    let lines = world.apply(Event::Loaded);
    assert!(!lines.iter().any(|line| line.contains("task")), "{lines:?}");
    assert_eq!(world.machine.committed().task(task).unwrap().status(), "lost");
}

#[test]
fn an_end_that_the_store_did_not_take_is_handed_in_again() {
    let (mut world, task) = idle_with_task();
    over(&mut world, task, TaskOutcome::Completed);
    world.fail();
    assert!(world.machine.committed().task(task).unwrap().is_running());
    world.submit(2, Priority::Next, "hello");
    world.sync();
    assert_eq!(world.machine.committed().task(task).unwrap().status(), "completed");
}

#[test]
fn a_session_with_a_task_is_not_quiet() {
    let (mut world, task) = idle_with_task();
    assert!(!world.machine.is_quiet());
    world.apply(Event::Drain(DrainStage::Stop));
    assert!(!world.machine.is_quiet());
    assert_eq!(over(&mut world, task, TaskOutcome::Killed), ["append synced [task, enqueued]"]);
    world.sync();
    assert!(world.machine.is_quiet());
}

#[test]
fn a_deletion_waits_for_the_end_of_tasks() {
    let (mut world, task) = idle_with_task();
    assert_eq!(world.apply(Event::Delete { ticket: Ticket(2), by: person() }), ["stop task"]);
    let lines = over(&mut world, task, TaskOutcome::Killed);
    assert!(lines.iter().any(|line| line.contains("deleted")), "{lines:?}");
}

#[test]
fn a_running_call_moves_once_and_one_that_ended_does_not() {
    let mut world = World::new();
    let from = world.running();
    let move_call = |ticket, call: &str| Event::MoveCall { ticket: Ticket(ticket), tool_use: ToolUseId::new(call) };
    assert_eq!(world.apply(move_call(1, "call")), ["refuse 1 NotRunning"]);
    calls(&mut world, from, "call", "Bash");
    assert_eq!(world.apply(move_call(2, "call")), ["move call"]);
    world.task(from, 3, "call");
    let lines = world.sync();
    assert!(lines.contains(&"answer 2 Tasks".to_owned()), "{lines:?}");
    calls(&mut world, from, "slow", "Bash");
    assert_eq!(world.apply(move_call(4, "slow")), ["move slow"]);
    world.effects.clear();
    result(&mut world, from, "slow");
    let refused = |effect: &crate::session::Effect| matches!(effect, crate::session::Effect::Answer { ticket: Ticket(4), outcome: Err(_) });
    assert!(world.effects.iter().any(refused), "{:?}", world.effects);
    calls(&mut world, from, "reads", "Read");
    assert_eq!(world.apply(move_call(5, "reads")), ["refuse 5 NotRunning"]);
}

#[test]
fn a_typed_prompt_waits_too() {
    let mut world = World::new();
    world.running();
    world.submit(1, Priority::Later, "later");
    world.sync();
    assert_eq!(world.machine.waits(None), Waits::default());
    world.submit(2, Priority::Next, "typed");
    world.sync();
    assert_eq!(world.machine.waits(None), Waits { typed: true, noted: false });
}

#[test]
fn a_question_of_a_subagent_does_not_hold_the_notes_of_the_main_loop() {
    let (mut world, task) = idle_with_task();
    let question = Question {
        id: RequestId::from_u128(1),
        agent: Some(agentd_types::AgentId::from_u128(4)),
        asks: Asks::Call { tool_use: ToolUseId::new("q"), place: 0 },
        header: "h".into(),
        question: "q?".into(),
        options: vec![Choice { label: "a".into(), description: String::new() }],
        multi_select: false,
        asked_at: Timestamp(1),
    };
    let agent = question.agent;
    world.machine.append(vec![Entry { agent, ..Entry::outside(Body::Question(question)) }], Durability::Synced);
    assert!(over(&mut world, task, TaskOutcome::Completed)[0].ends_with("task, enqueued, delivered, user]"));
    let note = world.machine.head.queue.commands().iter().filter(|it| it.mode == CommandMode::TaskNotification).count();
    assert_eq!(note, 0);
}
