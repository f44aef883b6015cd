//! How events read.

use agentd_types::event::{UserKind, UserMessage};
use agentd_types::permission::Decision;
use agentd_types::system::InterruptReason;
use agentd_types::{MessageId, Origin, RequestId, Seq, SessionId, Timestamp, ToolUseId};

use super::*;

fn line(body: Body) -> Option<String> {
    describe(&Event {
        session: SessionId::from_u128(1),
        seq: Seq(1),
        time: Timestamp(0),
        submission: None,
        agent: None,
        parent_tool_use: None,
        origin: Some(Origin::Person { client: "cli on pts/3".to_owned() }),
        body,
    })
}

fn user(block: Block) -> Body {
    Body::User(UserMessage { message: MessageId::from_u128(1), kind: UserKind::Prompt, content: vec![block], commands: Vec::new() })
}

fn failed(text: &str) -> Body {
    let content = vec![ResultPart::Text { text: text.to_owned() }];
    user(Block::ToolResult { tool_use_id: ToolUseId::new("t"), content, is_error: true })
}

#[test]
fn they_name_who_spoke_and_who_decided() {
    assert_eq!(line(user(Block::text("hi"))).as_deref(), Some("> (cli on pts/3) hi"));
    let resolved = PermissionResolved {
        id: RequestId::from_u128(1),
        tool_use: ToolUseId::new("t"),
        decision: Decision::Deny { message: None },
        by: Origin::Person { client: "tui on pts/4".to_owned() },
        rule: None,
    };
    assert_eq!(line(Body::PermissionResolved(resolved)).as_deref(), Some("· deny by tui on pts/4"));
    let by = Some(Origin::Person { client: "cli pid 7".to_owned() });
    let interrupted = Body::System(System::Interrupted { reason: InterruptReason::UserCancel, by });
    assert_eq!(line(interrupted).as_deref(), Some("· interrupted by cli pid 7 (user-cancel)"));
}

#[test]
fn results_are_short_and_safe() {
    assert_eq!(line(failed("one\ntwo\n")).as_deref(), Some("  ✗ one⏎ two"));
    let long = line(failed(&"é".repeat(1000))).expect("a line");
    assert_eq!(long.chars().count(), "  ✗ ".chars().count() + SHOWN + 1);
    assert_eq!(line(failed("\u{1b}[31mred")).as_deref(), Some("  ✗ ␛[31mred"));
}

#[test]
fn what_only_programs_care_about_is_left_out() {
    assert_eq!(line(Body::Queue(QueueChange::Delivered { id: agentd_types::CommandId::from_u128(1) })), None);
}
