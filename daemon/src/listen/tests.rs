//! The socket is private, replaces only the dead, and is removed only while it is ours.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::pin;

use agentd_types::AbsPath;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic::transport::server::Connected;

use super::{ListenError, bind, check_length};
use crate::lock::Lock;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn socket(&self) -> AbsPath {
        AbsPath::new(self.folder.path().join("s")).unwrap()
    }

    fn lock(&self) -> Lock {
        Lock::take(&self.socket()).unwrap()
    }
}

#[tokio::test]
async fn the_socket_is_for_us_alone_and_goes_with_its_file() {
    let place = Place::new();
    let lock = place.lock();
    let (bound, file) = bind(&lock).unwrap();
    let mode = fs::metadata(place.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    drop(bound);
    assert!(place.socket().as_path().exists());
    drop(file);
    assert!(!place.socket().as_path().exists());
}

#[tokio::test]
async fn a_connection_is_known_by_its_process() {
    let place = Place::new();
    let lock = place.lock();
    let (bound, _file) = bind(&lock).unwrap();
    let mut incoming = pin!(bound.incoming());

    let mut client = tokio::net::UnixStream::connect(place.socket()).await.unwrap();
    let mut io = incoming.next().await.unwrap().unwrap();
    let peer = io.connect_info();
    assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
    if cfg!(target_os = "linux") {
        assert_eq!(peer.pid, Some(std::process::id()));
    }

    client.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    io.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    assert!(tokio::io::AsyncWrite::is_write_vectored(&io));
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let place = Place::new();
    drop(UnixListener::bind(place.socket()).unwrap());
    assert!(place.socket().as_path().exists());

    let lock = place.lock();
    let (_bound, _file) = bind(&lock).unwrap();
    UnixStream::connect(place.socket()).unwrap();
}

#[tokio::test]
async fn a_socket_that_answers_is_left_alone() {
    let place = Place::new();
    let _other = UnixListener::bind(place.socket()).unwrap();
    let lock = place.lock();
    assert!(matches!(bind(&lock), Err(ListenError::Answered { .. })));
    UnixStream::connect(place.socket()).unwrap();
}

#[tokio::test]
async fn a_file_in_the_way_is_left_alone() {
    let place = Place::new();
    fs::write(place.socket(), "notes").unwrap();
    let lock = place.lock();
    assert!(matches!(bind(&lock), Err(ListenError::InTheWay { .. })));
    assert_eq!(fs::read(place.socket()).unwrap(), b"notes");
}

#[tokio::test]
async fn a_path_that_is_somebody_elses_by_now_is_not_removed() {
    let place = Place::new();
    let lock = place.lock();
    let (bound, file) = bind(&lock).unwrap();
    // The other one is bound before the first is gone: the same inode number cannot come back.
    let aside = place.folder.path().join("aside");
    let _other = UnixListener::bind(&aside).unwrap();
    fs::rename(&aside, place.socket()).unwrap();

    drop(bound);
    drop(file);
    UnixStream::connect(place.socket()).unwrap();
}

#[test]
fn a_long_path_is_named_with_its_length() {
    let long = AbsPath::new(format!("/{}", "x".repeat(107))).unwrap();
    let said = check_length(&long).unwrap_err().to_string();
    assert!(said.starts_with("the socket's path has 108 bytes, at most "), "{said}");
    assert!(said.contains("AGENT_SOCKET"), "{said}");
    check_length(&AbsPath::new("/run/agentd.sock").unwrap()).unwrap();
}
