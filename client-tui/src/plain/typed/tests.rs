//! An answer is for the request that was meant, or for none.

use agentd_types::{Json, Timestamp, ToolUseId};

use super::*;

fn asked(id: &str) -> PermissionRequest {
    PermissionRequest {
        id: id.parse().expect("an id"),
        agent: None,
        tool_use: ToolUseId::new("t"),
        tool_name: "Bash".to_owned(),
        input: Json::empty_object(),
        reason: "it asks".to_owned(),
        suggestions: Vec::new(),
        asked_at: Timestamp(0),
    }
}

fn asks(ids: &[&str]) -> Open {
    Open { requests: ids.iter().map(|id| asked(id)).collect(), questions: Vec::new() }
}

const A: &str = "aaaa0000-0000-0000-0000-000000000001";
const B: &str = "bbbb0000-0000-0000-0000-000000000002";

fn denied(id: &str, message: Option<&str>) -> Typed {
    Typed::Answer { request: id.parse().expect("an id"), decision: Decision::Deny { message: message.map(str::to_owned) } }
}

fn allowed(id: &str) -> Typed {
    Typed::Answer { request: id.parse().expect("an id"), decision: Decision::Allow { scope: AllowScope::Once, updated_input: None } }
}

#[test]
fn the_only_open_request_needs_no_id() {
    let open = asks(&[A]);
    assert_eq!(read("/allow", &open), allowed(A));
    assert_eq!(read("  /deny  ", &open), denied(A, None));
    assert_eq!(read("/deny please use the other file", &open), denied(A, Some("please use the other file")));
    assert_eq!(read("/deny aaaa please", &open), denied(A, Some("please")));
}

#[test]
fn among_several_one_must_be_named() {
    let open = asks(&[A, B]);
    assert!(matches!(read("/allow", &open), Typed::Wrong(why) if why.contains(A) && why.contains(B)));
    assert_eq!(read("/allow BBBB", &open), allowed(B));
    assert_eq!(read(&format!("/deny {B} no"), &open), denied(B, Some("no")));
}

#[test]
fn a_slip_never_allows_another_request() {
    assert!(matches!(read("/allow cccc0000", &asks(&[A])), Typed::Wrong(why) if why.contains("cccc0000")));
    assert!(matches!(read("/allow", &Open::default()), Typed::Wrong(why) if why == "nothing is asked"));
    assert_eq!(read(&format!("/allow {B}"), &asks(&[A])), allowed(B), "the daemon says that it is answered or unknown");
}

#[test]
fn the_rest_is_said_or_done() {
    assert_eq!(read("", &Open::default()), Typed::Nothing);
    assert_eq!(read("fix it ", &Open::default()), Typed::Say("fix it".to_owned()));
    assert_eq!(read("/etc/hosts is wrong", &Open::default()), Typed::Say("/etc/hosts is wrong".to_owned()));
    assert_eq!(read("/interrupt", &Open::default()), Typed::Interrupt);
    assert_eq!(read("/detach", &Open::default()), Typed::Detach);
    assert!(matches!(read("/alow", &Open::default()), Typed::Wrong(_)));
}

#[test]
fn a_choice_is_for_a_question_and_never_for_a_request() {
    let question = Question {
        id: B.parse().expect("an id"),
        agent: None,
        asks: agentd_types::question::Asks::Resume,
        header: "h".to_owned(),
        question: "q?".to_owned(),
        options: Vec::new(),
        multi_select: false,
        asked_at: Timestamp(0),
    };
    let open = Open { questions: vec![question], ..asks(&[A]) };
    let chosen = |choice: &str| Typed::Choose { question: B.parse().expect("an id"), choice: choice.to_owned() };
    assert_eq!(read("/answer 2", &open), chosen("2"));
    assert_eq!(read("/answer bbbb in my own words", &open), chosen("in my own words"));
    assert!(matches!(read("/answer", &open), Typed::Wrong(_)));
    assert!(matches!(read("/answer 2", &asks(&[A])), Typed::Wrong(why) if why == "nothing is asked"));
}
