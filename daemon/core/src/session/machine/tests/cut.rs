//! What becomes of a submission that a crash cut: gone on with, asked about, dropped.

use agentd_types::RequestId;
use agentd_types::config::Interrupted;
use agentd_types::outcome::Denial;
use agentd_types::session::SessionState;
use agentd_types::system::{LoopRecord, Partial, PartialPiece};

use super::*;
use crate::query::LoopState;
use crate::session::standing::Standing;

/// What streams of message 6.
fn streams(world: &mut World, from: SubmissionId, pieces: &[(u32, &str, bool)]) {
    let pieces = pieces.iter().map(|(block, text, complete)| PartialPiece { block: *block, text: (*text).into(), complete: *complete });
    hand(world, from, Body::System(System::Partial(Partial { message: MessageId::from_u128(6), pieces: pieces.collect() })));
}

/// Cut in mid tool, killed and read back.
fn in_mid_tool() -> (World, RequestId) {
    let mut world = World::new();
    let running = world.running();
    says_calls(&mut world, running, &["t1", "t2"]);
    starts_tool(&mut world, running, "t1");
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [user, question, recovered]"]);
    world.sync();
    let committed = world.machine.committed();
    assert_eq!(committed.state(), SessionState::WaitingAnswer);
    let id = committed.questions[0].id;
    (world, id)
}

fn says(world: &mut World, question: RequestId, choice: &str) -> Vec<String> {
    world.apply(Event::Answer { ticket: Ticket(70), question, choices: vec![choice.into()], by: person() })
}

/// The result's texts of the newest message with results.
fn told(world: &World) -> Vec<String> {
    let Some(Body::User(user)) = world.disk.iter().rev().map(|event| &event.body).find(|body| matches!(body, Body::User(_))) else {
        panic!("no message")
    };
    user.content.iter().map(|block| format!("{block:?}")).collect()
}

#[test]
fn an_unknown_outcome_is_told_and_a_person_says_go_on() {
    let (mut world, question) = in_mid_tool();
    let told = told(&world);
    assert!(told[0].contains("outcome is unknown") && told[1].contains("before it started"), "{told:?}");
    assert_eq!(says(&mut world, question, "maybe"), ["refuse 70 BadChoice"]);
    assert_eq!(says(&mut world, question, "continue"), ["append synced [answer, recovered]"]);
    assert_eq!(world.sync()[1..], ["answer 70 Answered", "reopen calls=0 results"]);
}

#[test]
fn or_drops_it_and_the_session_is_interrupted() {
    let (mut world, question) = in_mid_tool();
    assert_eq!(says(&mut world, question, "drop"), ["append synced [answer, recovered, result]"]);
    world.sync();
    assert_eq!(world.machine.committed().state(), SessionState::Interrupted);
    assert_eq!(world.submit(1, Priority::Next, "on"), ["append synced [enqueued, delivered, user]"]);
}

#[test]
fn the_question_outlives_another_crash() {
    let (world, question) = in_mid_tool();
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), [""; 0]);
    says(&mut world, question, "continue");
    assert_eq!(world.sync()[1..], ["answer 70 Answered", "reopen calls=0 results"]);
}

#[test]
fn a_message_that_comes_instead_drops_it() {
    let (mut world, _) = in_mid_tool();
    let lines = world.submit(1, Priority::Next, "never mind");
    assert_eq!(lines, ["append synced [enqueued, answer, recovered, result, delivered, user]"]);
    assert_eq!(world.sync().last().unwrap(), "start");
}

#[test]
fn cut_in_mid_stream_the_request_is_repeated_and_what_was_shown_taken_back() {
    let mut world = World::new();
    let running = world.running();
    streams(&mut world, running, &[(0, "Hel", false)]);
    streams(&mut world, running, &[(0, "lo.", true), (1, "And", false)]);
    let mut world = world.killed();
    assert_eq!(world.apply(Event::Loaded), ["append synced [recovered, tombstone]"]);
    assert_eq!(world.sync().last().unwrap(), "reopen calls=0 asking");
}

#[test]
fn where_it_asks_complete_blocks_are_kept_until_it_goes_on() {
    let mut world = World::new();
    let running = world.running();
    streams(&mut world, running, &[(0, "Hello.", true), (1, "And", false)]);
    let mut world = world.killed();
    world.machine.resume = Interrupted::Ask;
    assert_eq!(world.apply(Event::Loaded), ["append synced [assistant, question, recovered]"]);
    world.sync();
    assert_eq!(world.machine.committed().last_text, "Hello.");
    let question = world.machine.committed().questions[0].id;
    assert_eq!(says(&mut world, question, "1"), ["append synced [answer, recovered, tombstone]"]);
    assert_eq!(world.sync().last().unwrap(), "reopen calls=0 asking");
}

#[test]
fn nothing_used_or_denied_is_lost_with_a_dropped_one() {
    let mut world = World::new();
    let running = world.running();
    let mut state = LoopState::start();
    state.spend.usage.output = 100;
    let denial = Denial { tool_name: "Bash".into(), tool_use: ToolUseId::new("t0"), input: Json::empty_object() };
    let record = LoopRecord {
        round: 1,
        transition: None,
        state: Standing { state, seen: Vec::new(), cwd: None }.to_json(),
        denials: vec![denial.clone()],
    };
    hand(&mut world, running, Body::System(System::LoopState(record)));
    let content = vec![Block::ToolUse { id: ToolUseId::new("t1"), name: "Bash".into(), input: Json::empty_object() }];
    let message = AssistantMessage {
        message: MessageId::from_u128(5),
        api_id: "m".into(),
        model: "rehearsal".into(),
        content,
        stop_reason: Some("tool_use".into()),
        usage: Usage { output: 11, ..Usage::default() },
    };
    hand(&mut world, running, Body::Assistant(message));
    starts_tool(&mut world, running, "t1");
    let mut world = world.killed();
    world.apply(Event::Loaded);
    world.submit(1, Priority::Now, "stop");
    world.sync();
    let result = world.disk.iter().find_map(|event| match &event.body {
        Body::Result(result) => Some(result.clone()),
        _ => None,
    });
    let result = result.expect("a result");
    assert_eq!((result.usage.output, result.denials), (111, vec![denial]));
}
