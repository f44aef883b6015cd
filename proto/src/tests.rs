//! What crosses the wire comes back the same, and what is not whole is refused by name.

use agentd_types::event::ToolProgress;
use agentd_types::live::{Delta, Snapshot};
use agentd_types::permission::PermissionMode;
use agentd_types::queue::{Priority, QueuedCommand};
use agentd_types::session::{SessionInfo, SessionMeta};
use agentd_types::system::SessionChanges;
use agentd_types::{Event, SessionId};
use proptest::prelude::*;
use prost::Message;

use crate::{WireError, arbitrary, enum_of, enum_or_default, v1};

/// To the wire, to bytes, and back.
fn there_and_back<T, W>(ours: &T) -> Result<T, WireError>
where
    W: Message + Default + for<'a> From<&'a T>,
    T: TryFrom<W, Error = WireError>,
{
    T::try_from(W::decode(W::from(ours).encode_to_vec().as_slice()).unwrap())
}

proptest! {
    #[test]
    fn events_come_back_the_same(event in arbitrary::event()) {
        prop_assert_eq!(there_and_back::<Event, v1::Event>(&event), Ok(event));
    }

    #[test]
    fn snapshots_come_back_the_same(snapshot in arbitrary::snapshot()) {
        prop_assert_eq!(there_and_back::<Snapshot, v1::Snapshot>(&snapshot), Ok(snapshot));
    }

    #[test]
    fn deltas_come_back_the_same(delta in arbitrary::delta(), progress in arbitrary::progress()) {
        prop_assert_eq!(there_and_back::<Delta, v1::Delta>(&delta), Ok(delta));
        prop_assert_eq!(ToolProgress::from(v1::ToolProgress::from(&progress)), progress);
    }

    #[test]
    fn sessions_come_back_the_same(info in arbitrary::info(), meta in arbitrary::meta(), changes in arbitrary::changes()) {
        prop_assert_eq!(there_and_back::<SessionInfo, v1::SessionInfo>(&info), Ok(info));
        prop_assert_eq!(there_and_back::<SessionMeta, v1::SessionMeta>(&meta), Ok(meta));
        prop_assert_eq!(there_and_back::<SessionChanges, v1::SessionChanges>(&changes), Ok(changes));
    }

    #[test]
    fn commands_come_back_the_same(command in arbitrary::queued()) {
        prop_assert_eq!(there_and_back::<QueuedCommand, v1::QueuedCommand>(&command), Ok(command));
    }

    #[test]
    fn foreign_bytes_are_an_error_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(event) = v1::Event::decode(bytes.as_slice()) {
            let _ = Event::try_from(event);
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let event = v1::Event { session_id: SessionId::from_u128(1).to_string(), ..Default::default() };
    assert_eq!(Event::try_from(event), Err(WireError::Missing { field: "event.body" }));

    let meta = v1::SessionMeta { cwd: "here".into(), ..Default::default() };
    let error = SessionMeta::try_from(meta).unwrap_err();
    assert_eq!(error.to_string(), "`meta.cwd` cannot be read: `here` is not an absolute path");
}

#[test]
fn unknown_and_unspecified_enum_values_are_named() {
    assert_eq!(enum_of::<v1::Priority, Priority>("priority", 2), Ok(Priority::Next));
    assert_eq!(enum_of::<v1::Priority, Priority>("priority", 0), Err(WireError::Unknown { field: "priority", value: 0 }));
    assert_eq!(enum_of::<v1::Priority, Priority>("priority", 99), Err(WireError::Unknown { field: "priority", value: 99 }));
    assert_eq!(enum_or_default::<v1::Priority, Priority>("priority", 0), Ok(Priority::Next));
    assert_eq!(enum_or_default::<v1::PermissionMode, PermissionMode>("mode", -1), Err(WireError::Unknown { field: "mode", value: -1 }));
}

#[test]
fn unknown_fields_are_ignored() {
    // Field 100, a string: what a later version might add.
    let mut bytes = v1::TextBlock { text: "now".into() }.encode_to_vec();
    prost::encoding::string::encode(100, &"later".to_owned(), &mut bytes);
    assert_eq!(v1::TextBlock::decode(bytes.as_slice()).unwrap().text, "now");
}

#[test]
fn every_message_field_and_rpc_is_in_the_descriptor_set() {
    let set = String::from_utf8_lossy(crate::FILE_DESCRIPTOR_SET);
    for name in ["agent/v1/events.proto", "SubscribeResponse", "RespondPermission", "GetDaemonInfo", "Interrupt"] {
        assert!(set.contains(name), "{name}");
    }
}
