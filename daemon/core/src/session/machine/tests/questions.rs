//! A call's questions wait like a permission request: the first answer wins, over restarts too.

use agentd_types::RequestId;
use agentd_types::question::{Asks, Choice, Question};
use agentd_types::session::SessionState;

use super::*;

/// Asks `count` questions by call `t1`.
fn asks(world: &mut World, from: SubmissionId, ticket: u64, count: u32, on_ask: OnAsk) -> (Vec<RequestId>, Vec<String>) {
    let option = |label: &str| Choice { label: label.into(), description: String::new() };
    let questions: Vec<Question> = (0..count)
        .map(|place| Question {
            id: RequestId::from_u128(world.id()),
            agent: None,
            asks: Asks::Call { tool_use: ToolUseId::new("t1"), place },
            header: "Colour".into(),
            question: format!("Which, {place}?"),
            options: vec![option("Red"), option("Blue")],
            multi_select: false,
            asked_at: agentd_types::Timestamp(world.now),
        })
        .collect();
    let ids = questions.iter().map(|question| question.id).collect();
    (ids, world.apply(Event::AskedPerson { from, ticket: Ticket(ticket), questions, on_ask }))
}

fn says(world: &mut World, ticket: u64, question: RequestId, choice: &str) -> Vec<String> {
    world.apply(Event::Answer { ticket: Ticket(ticket), question, choices: vec![choice.into()], by: person() })
}

#[test]
fn the_call_goes_on_when_all_its_questions_are_answered() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    let (ids, lines) = asks(&mut world, running, 1, 2, OnAsk::Wait);
    assert_eq!(lines, ["append synced [question, question]"]);
    world.sync();
    assert_eq!(world.machine.committed().state(), SessionState::WaitingAnswer);
    assert_eq!(says(&mut world, 2, ids[1], "2"), ["append synced [answer]"]);
    assert_eq!(says(&mut world, 3, ids[1], "1"), ["refuse 3 AlreadyReplied"]);
    assert_eq!(says(&mut world, 4, ids[0], " "), ["refuse 4 BadChoice"]);
    assert_eq!(world.sync(), ["publish 8", "answer 2 Answered"]);
    says(&mut world, 5, ids[0], "neither");
    assert_eq!(world.sync(), ["publish 9", "answer 5 Answered", "settle 1 Replied"]);
    assert_eq!(world.machine.committed().state(), SessionState::Running);
    assert_eq!(says(&mut world, 6, RequestId::from_u128(1), "1"), ["refuse 6 NoSuchRequest"]);
}

#[test]
fn a_parked_question_resumes_its_call_over_a_restart() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1"]);
    let (ids, _) = asks(&mut world, running, 1, 2, OnAsk::Park);
    assert_eq!(world.sync().last().unwrap(), "settle 1 Open");
    hand(&mut world, running, Body::System(System::Parked { open: vec![ToolUseId::new("t1")] }));
    world.apply(Event::Ended { from: running, how: TaskEnd::Parked });
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), [""; 0]);
    says(&mut world, 2, ids[0], "Red");
    assert_eq!(world.sync()[1..], ["answer 2 Answered"], "one is still open");
    says(&mut world, 3, ids[1], "Blue");
    assert_eq!(world.sync()[1..], ["answer 3 Answered", "reopen calls=1 asking"]);
    assert_eq!(asks(&mut world, running, 4, 2, OnAsk::Park).1, ["settle 4 Replied"], "it is not asked again");
}

#[test]
fn killed_while_it_waits_the_question_is_open_again() {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1", "t2"]);
    let (ids, _) = asks(&mut world, running, 1, 1, OnAsk::Wait);
    world.sync();
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [user, recovered]"], "the call behind it did not start");
    world.sync();
    assert_eq!(world.machine.committed().questions.len(), 1);
    says(&mut world, 2, ids[0], "Red");
    assert_eq!(world.sync()[1..], ["answer 2 Answered", "reopen calls=1 results"]);
}

#[test]
fn a_cancel_withdraws_it_and_a_deny_run_asks_nobody() {
    let mut world = World::new();
    let running = world.running();
    assert_eq!(asks(&mut world, running, 1, 1, OnAsk::Deny).1, ["settle 1 Denied"]);
    asks(&mut world, running, 2, 1, OnAsk::Wait);
    world.sync();
    world.apply(Event::Interrupt { ticket: Ticket(3), submission: None, by: person() });
    assert_eq!(world.sync()[1..], ["settle 2 Withdrawn"]);
    assert!(world.machine.committed().questions.is_empty());
    assert_eq!(asks(&mut world, running, 4, 1, OnAsk::Wait).1, ["settle 4 Withdrawn"]);
}
