//! What an answer to the handshake means.

use super::*;

fn answer(protocol: u32, socket: &str) -> v1::GetDaemonInfoResponse {
    v1::GetDaemonInfoResponse {
        version: "9.9.9".to_owned(),
        protocol,
        pid: 7,
        socket: socket.to_owned(),
        data_dir: "/d".to_owned(),
        ..v1::GetDaemonInfoResponse::default()
    }
}

#[test]
fn our_protocol_is_ready() {
    let Ok(Probe::Ready { info }) = judge(answer(PROTOCOL, "/s")) else { panic!("not ready") };
    assert_eq!((info.version.as_str(), info.pid, info.state.as_str()), ("9.9.9", 7, "unknown"));
}

#[test]
fn another_protocol_needs_a_restart_whatever_the_rest_says() {
    let probe = judge(answer(PROTOCOL + 1, "not a path")).expect("only version and number count");
    assert_eq!(probe, Probe::NeedsRestart { version: "9.9.9".to_owned(), protocol: PROTOCOL + 1, pid: 7 });
    let error = needs_restart("9.9.9", PROTOCOL + 1, 7);
    assert_eq!(error.kind, Kind::Protocol);
    assert!(error.message.contains("9.9.9") && error.hints[0].contains("kill 7"), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = AbsPath::new(folder.path().join("none.sock")).expect("a path");
    let Probe::Unreachable { why } = probe(&socket).await else { panic!("somebody answered") };
    assert!(why.contains("none.sock"), "{why}");
}
