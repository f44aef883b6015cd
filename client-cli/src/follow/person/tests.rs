//! One question after the other; an answer is for the one that was shown.

use agentd_types::{Json, Timestamp, ToolUseId};

use super::*;

fn request(id: u128) -> PermissionRequest {
    PermissionRequest {
        id: RequestId::from_u128(id),
        agent: None,
        tool_use: ToolUseId::new("t"),
        tool_name: "Bash".to_owned(),
        input: Json::empty_object(),
        reason: "it asks".to_owned(),
        suggestions: Vec::new(),
        asked_at: Timestamp(0),
    }
}

/// A person, and their keyboard.
fn person() -> (Person, mpsc::Sender<String>) {
    let (to, from) = mpsc::channel(TYPED);
    (Person { lines: Lines::Typed(from), ..Person::new() }, to)
}

async fn typed(to: &mpsc::Sender<String>, line: &str) {
    to.send(line.to_owned()).await.expect("somebody reads");
}

#[tokio::test]
async fn what_was_typed_before_answers_nothing() {
    let (mut person, keyboard) = person();
    typed(&keyboard, "y").await;
    person.ask(Pending::Permission(request(1)));
    typed(&keyboard, "perhaps").await;
    typed(&keyboard, " No ").await;
    assert_eq!(person.answer().await, Answer::Decided { request: RequestId::from_u128(1), decision: Decision::Deny { message: None } });
}

#[tokio::test]
async fn the_second_question_waits_and_takes_no_answer_of_the_first() {
    let (mut person, keyboard) = person();
    person.ask(Pending::Permission(request(1)));
    person.ask(Pending::Permission(request(2)));
    typed(&keyboard, "y").await;
    typed(&keyboard, "y").await;
    assert!(matches!(person.answer().await, Answer::Decided { request, .. } if request == RequestId::from_u128(1)));
    typed(&keyboard, "n").await;
    let second = Answer::Decided { request: RequestId::from_u128(2), decision: Decision::Deny { message: None } };
    assert_eq!(person.answer().await, second, "the second y came before its question");
}

#[tokio::test]
async fn what_somebody_else_answered_is_not_asked_any_more() {
    let (mut person, keyboard) = person();
    person.ask(Pending::Permission(request(1)));
    person.ask(Pending::Permission(request(2)));
    person.settled(RequestId::from_u128(1));
    typed(&keyboard, "y").await;
    assert!(matches!(person.answer().await, Answer::Decided { request, .. } if request == RequestId::from_u128(2)));
}

#[tokio::test]
async fn a_closed_terminal_decides_nothing() {
    let (mut person, keyboard) = person();
    person.ask(Pending::Permission(request(1)));
    drop(keyboard);
    assert_eq!(person.answer().await, Answer::Gone);
}
