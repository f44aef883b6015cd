use agentd_types::content::Block;
use agentd_types::event::{UserKind, UserMessage};
use agentd_types::session::{Limits, NotesMode, SessionMeta, SessionState};
use agentd_types::system::System;
use agentd_types::{AbsPath, Body, Entry, Json, MessageId, SessionId, SubmissionId, Timestamp, ToolUseId};
use proptest::prelude::*;

use super::*;
use crate::rpc::WireCodec;

fn projector() -> SessionProjector {
    SessionProjector::new(Arc::new(WireCodec))
}

fn bytes(entry: Entry, seq: u64) -> Bytes {
    WireCodec.event(&entry.number(SessionId::from_u128(1), Seq(seq), Timestamp(1_000 + seq as i64)))
}

fn created(name: &str) -> Bytes {
    let meta = SessionMeta {
        name: Some(name.into()),
        cwd: AbsPath::new("/work").unwrap(),
        model: "m".into(),
        permission_mode: agentd_types::permission::PermissionMode::Default,
        limits: Limits::default(),
        notes: NotesMode::default(),
        environment: vec![],
        append_system_prompt: None,
        allow: vec![],
        deny: vec![],
    };
    bytes(Entry::outside(Body::System(System::Created { meta, idempotency_key: Some("k".into()) })), 1)
}

fn said(content: Vec<Block>) -> Entry {
    let message = MessageId::from_u128(9);
    Entry::of(SubmissionId::from_u128(2), Body::User(UserMessage { message, kind: UserKind::Prompt, content, commands: vec![] }))
}

#[test]
fn a_row_goes_on_from_the_one_before_and_can_be_found() {
    let projector = projector();
    let folded = projector.fold(None, &[created("foo")]).unwrap();
    assert_eq!((folded.standing, folded.labels), (Standing::Settled, vec![name_label("foo"), key_label("k")]));
    let folded = projector.fold(Some(&folded.row), &[bytes(said(vec![Block::text("hi")]), 2)]).unwrap();
    assert_eq!(folded.standing, Standing::Unsettled);
    let row = Row { session: SessionId::from_u128(1), last: Seq(2), row: folded.row };
    let info = summary(&row).unwrap().info;
    assert_eq!((info.last_seq, info.state, info.name.as_deref()), (Seq(2), SessionState::Running, Some("foo")));
    assert!(projector.fold(None, &[bytes(said(vec![]), 1)]).unwrap_err().contains("created"));
    assert!(projector.fold(Some(b"{}"), &[created("foo")]).is_err());
}

#[test]
fn a_line_is_readable_json_and_gives_the_same_bytes_back() {
    let projector = projector();
    let event = created("line\nbreak");
    let line = projector.write_line(Seq(1), &event);
    let json: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!((json["seq"].as_u64(), json["body"]["subtype"].as_str(), json.get("raw")), (Some(1), Some("created"), None));
    assert_eq!(projector.read_line(&line), Ok((Seq(1), event)));
}

#[test]
fn bytes_that_are_no_event_come_back_too() {
    let projector = projector();
    let junk = Bytes::from_static(b"\xFF\xFE no event");
    assert_eq!(projector.read_line(&projector.write_line(Seq(7), &junk)), Ok((Seq(7), junk)));
}

proptest! {
    #[test]
    fn raw_json_comes_back_byte_for_byte(pad in "[ \n\t\r]{0,3}", text in ".{0,40}", number in "-?(0|[1-9][0-9]{0,18})(\\.[0-9]{1,9})?") {
        let projector = projector();
        let input = format!("{{{pad}\"b\":{pad}{number},{pad}\"a\":{}{pad}}}", serde_json::to_string(&text).unwrap());
        let call = Block::ToolUse { id: ToolUseId::new("t"), name: "Bash".into(), input: Json::parse(input).unwrap() };
        let event = bytes(said(vec![Block::text(text), call]), 3);
        let line = projector.write_line(Seq(3), &event);
        prop_assert!(!line.contains(&b'\n'));
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        prop_assert_eq!(projector.read_line(&line), Ok((Seq(3), event)));
    }
}
