//! Only the daemon's user and root are let in, and everyone has a name.

use agentd_types::Origin;
use tonic::Request;
use tonic::metadata::MetadataValue;

use super::{Caller, Peer, start_time, start_time_in};

fn peer(uid: u32) -> Peer {
    Peer { uid, pid: Some(42), start_time: None }
}

#[test]
fn the_owner_and_root_may_connect() {
    assert_eq!(peer(1000).admit(1000), Ok(()));
    assert_eq!(peer(0).admit(1000), Ok(()));
    let stranger = peer(1001).admit(1000).unwrap_err();
    assert_eq!(stranger.to_string(), "the connection is from uid 1001 (pid 42), this daemon serves uid 1000 and root only");
}

#[test]
fn a_start_time_is_read_past_an_odd_name() {
    let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11";
    assert_eq!(start_time_in(stat), Some(987_654));
    assert_eq!(start_time_in("42 (cut"), None);
    assert_eq!(start_time_in("42 (cut) S 1"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn our_own_start_time_is_known() {
    assert!(start_time(std::process::id()).is_some());
}

#[test]
fn a_client_names_itself_or_is_named() {
    let mut request = Request::new(());
    assert_eq!(Caller::of(&request).name, "client");

    request.extensions_mut().insert(peer(1000));
    assert_eq!(Caller::of(&request), Caller { name: "client pid 42".into(), pid: Some(42) });

    request.metadata_mut().insert("agent-client", MetadataValue::from_static("cli on pts/3"));
    assert_eq!(Caller::of(&request).origin(), Origin::Person { client: "cli on pts/3".into() });

    request.metadata_mut().insert("agent-client", MetadataValue::try_from("x".repeat(1_000)).unwrap());
    assert_eq!(Caller::of(&request).name.len(), 128);
}
