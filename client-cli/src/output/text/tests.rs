//! What a crash left of an answer is shown once, marked, and nothing of a whole one.

use agentd_types::event::AssistantMessage;
use agentd_types::question::Question;
use agentd_types::system::{Partial, PartialPiece};
use agentd_types::{Block, RequestId, Seq, SessionId, Timestamp, Usage};

use super::*;

fn event(body: Body) -> Event {
    let (session, time) = (SessionId::from_u128(1), Timestamp(0));
    Event { session, seq: Seq(1), time, submission: None, agent: None, parent_tool_use: None, origin: None, body }
}

fn streamed(message: u128, pieces: &[(u32, &str, bool)]) -> Event {
    let piece = |(block, text, complete): &(u32, &str, bool)| PartialPiece { block: *block, text: (*text).into(), complete: *complete };
    let partial = Partial { message: MessageId::from_u128(message), pieces: pieces.iter().map(piece).collect() };
    event(Body::System(System::Partial(partial)))
}

fn said(message: u128, text: &str, stop_reason: Option<&str>) -> Event {
    event(Body::Assistant(AssistantMessage {
        message: MessageId::from_u128(message),
        api_id: String::new(),
        model: "m".into(),
        content: vec![Block::text(text)],
        stop_reason: stop_reason.map(str::to_owned),
        usage: Usage::default(),
    }))
}

fn asked() -> Event {
    event(Body::Question(Question {
        id: RequestId::from_u128(2),
        agent: None,
        asks: Asks::Resume,
        header: String::new(),
        question: "Go on?".into(),
        options: Vec::new(),
        multi_select: false,
        asked_at: Timestamp(0),
    }))
}

fn shown(events: &[Event]) -> String {
    let mut transcript = Transcript::default();
    events.iter().flat_map(|event| transcript.lines(event)).collect::<Vec<_>>().join("|")
}

#[test]
fn a_whole_answer_is_shown_once() {
    assert_eq!(shown(&[streamed(1, &[(0, "Hel", false)]), said(1, "Hello.", Some("end_turn"))]), "Hello.");
}

#[test]
fn of_a_cut_one_complete_blocks_and_the_rest_marked() {
    let events = [streamed(1, &[(0, "All.", true), (1, "Ha", false)]), streamed(1, &[(1, "lf", false)]), said(1, "All.", None), asked()];
    let text = shown(&events);
    assert!(text.starts_with("All.|Half\n· cut off there: partial, not sent|? Go on?"), "{text}");
}
