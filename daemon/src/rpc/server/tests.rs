//! The services over a real socket, with a registry that is played.

use std::sync::Arc;
use std::time::Duration;

use agentd_proto::v1::admin_client::AdminClient;
use agentd_proto::v1::queue_client::QueueClient;
use agentd_proto::v1::sessions_client::SessionsClient;
use agentd_proto::{reason, v1};
use agentd_types::permission::PermissionMode;
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::{AbsPath, CommandId, Money, Origin, Seq, SessionId, Timestamp};
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, oneshot, watch};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

use super::{Facts, Rpc, ServeError, serve};
use crate::clock::SystemClock;
use crate::listen::{SocketFile, bind};
use crate::lock::Lock;
use crate::rpc::Stage;
use crate::sessions::handle::Call;
use crate::sessions::registry::Ask;
use crate::sessions::request::{Listed, StoreStatus, SubmitReceipt, Weight};
use crate::sessions::{Registry, SessionError, SessionHandle};

const ID: SessionId = SessionId::from_u128(0x0198_c0de);

/// A served socket and the daemon's ends of it.
struct World {
    _folder: tempfile::TempDir,
    _lock: Lock,
    _file: SocketFile,
    channel: Channel,
    stage: watch::Sender<Stage>,
    drains: mpsc::Receiver<Duration>,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<Result<(), ServeError>>,
}

impl World {
    async fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let socket = AbsPath::new(folder.path().join("s")).unwrap();
        let lock = Lock::take(&socket).unwrap();
        let (bound, file) = bind(&lock).unwrap();
        let facts = Facts {
            version: "0.1.0".into(),
            pid: 77,
            started_at: Timestamp(1),
            socket: socket.clone(),
            data_dir: AbsPath::new("/data").unwrap(),
            default_model: "claude".into(),
            provider_key_source: "settings".into(),
            provider: "anthropic".into(),
            provider_base_url: "https://example.org".into(),
            provider_problem: String::new(),
        };
        let (stage, staged) = watch::channel(Stage::Opening);
        let (drain, drains) = mpsc::channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        let rpc = Rpc::new(staged, facts, Arc::new(SystemClock), drain);
        let served = tokio::spawn(serve(rpc, bound.incoming(), async {
            let _ = stopped.await;
        }));
        let connect = tower::service_fn(move |_| {
            let socket = socket.clone();
            async move { std::io::Result::Ok(TokioIo::new(tokio::net::UnixStream::connect(socket).await?)) }
        });
        let channel = Endpoint::from_static("http://localhost").connect_with_connector(connect).await.unwrap();
        World { _folder: folder, _lock: lock, _file: file, channel, stage, drains, stop, served }
    }

    /// Opens the daemon with a registry whose asks come out here.
    fn ready(&self) -> mpsc::Receiver<Ask> {
        let (asks, asked) = mpsc::channel(8);
        self.stage.send_replace(Stage::Ready(Registry::new(asks)));
        asked
    }

    async fn health(&self) -> i32 {
        let answer = HealthClient::new(self.channel.clone()).check(tonic_health::pb::HealthCheckRequest::default()).await;
        answer.unwrap().into_inner().status
    }

    async fn info(&self) -> v1::GetDaemonInfoResponse {
        AdminClient::new(self.channel.clone()).get_daemon_info(v1::GetDaemonInfoRequest {}).await.unwrap().into_inner()
    }
}

fn row(id: u128) -> SessionInfo {
    SessionInfo {
        id: SessionId::from_u128(id),
        name: None,
        state: SessionState::Idle,
        cwd: AbsPath::new("/work").unwrap(),
        model: "claude".into(),
        permission_mode: PermissionMode::Default,
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
        cost: Money(3),
        queued: 0,
        tasks_running: 0,
        permissions_open: 0,
        last_text: String::new(),
        last_seq: Seq(1),
    }
}

fn reason_of(status: &Status) -> String {
    status.get_error_details().error_info().unwrap().reason.clone()
}

#[tokio::test]
async fn info_and_health_answer_while_the_store_opens() {
    let world = World::new().await;
    assert_eq!(world.health().await, i32::from(ServingStatus::NotServing));
    let info = world.info().await;
    assert_eq!((info.state(), info.protocol, info.pid), (v1::DaemonState::Opening, agentd_proto::PROTOCOL, 77));
}

#[tokio::test]
async fn calls_wait_until_the_daemon_is_ready() {
    let world = World::new().await;
    let mut sessions = SessionsClient::new(world.channel.clone());
    let listing = tokio::spawn(async move { sessions.list_sessions(v1::ListSessionsRequest::default()).await });
    // The call is on its way or waits already; either way it is answered only after the registry is there.
    let mut asked = world.ready();
    let Some(Ask::List { reply, .. }) = asked.recv().await else { panic!("not a list") };
    reply.send(Ok(Listed { rows: vec![row(2), row(1)], more: false })).unwrap();
    assert_eq!(listing.await.unwrap().unwrap().into_inner().sessions.len(), 2);
}

#[tokio::test]
async fn the_callers_deadline_ends_the_wait() {
    let world = World::new().await;
    let mut request = Request::new(v1::GetSessionRequest { session_id: "foo".into() });
    request.set_timeout(Duration::from_millis(20));
    let status = SessionsClient::new(world.channel.clone()).get_session(request).await.unwrap_err();
    assert!(matches!(status.code(), Code::Cancelled | Code::DeadlineExceeded), "{status:?}");
}

#[tokio::test]
async fn a_daemon_that_never_opened_says_that_it_goes_down() {
    let world = World::new().await;
    world.stage.send_replace(Stage::Draining(None));
    let request = v1::GetSessionRequest { session_id: "foo".into() };
    let status = SessionsClient::new(world.channel.clone()).get_session(request).await.unwrap_err();
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::Unavailable, reason::DRAINING));
    assert_eq!(world.info().await.state(), v1::DaemonState::Draining);
}

#[tokio::test]
async fn pages_follow_each_other() {
    let world = World::new().await;
    let mut asked = world.ready();
    let registry = tokio::spawn(async move {
        while let Some(Ask::List { slice, reply, .. }) = asked.recv().await {
            let rows = [3, 2, 1].map(row).into_iter().filter(|row| slice.after.is_none_or(|after| row.id < after));
            let rows: Vec<_> = rows.collect();
            let more = rows.len() > slice.size;
            reply.send(Ok(Listed { rows: rows.into_iter().take(slice.size).collect(), more })).unwrap();
        }
    });
    let mut sessions = SessionsClient::new(world.channel.clone());
    let mut request = v1::ListSessionsRequest { page_size: 2, ..Default::default() };
    let first = sessions.list_sessions(request.clone()).await.unwrap().into_inner();
    assert_eq!((first.sessions.len(), first.next_page_token.as_str()), (2, row(2).id.to_string().as_str()));

    request.page_token = first.next_page_token;
    let second = sessions.list_sessions(request.clone()).await.unwrap().into_inner();
    assert_eq!((second.sessions[0].id.clone(), second.next_page_token), (row(1).id.to_string(), String::new()));

    request.page_token = "no id".into();
    assert_eq!(reason_of(&sessions.list_sessions(request).await.unwrap_err()), reason::PAGE_EXPIRED);
    drop(world);
    registry.await.unwrap();
}

#[tokio::test]
async fn a_missing_session_and_a_missing_field_are_told_apart() {
    let world = World::new().await;
    let mut asked = world.ready();
    let registry = tokio::spawn(async move {
        let Some(Ask::Find { what, reply }) = asked.recv().await else { panic!("not a find") };
        reply.send(Err(SessionError::NotFound { what, near: vec!["foo".into()] })).unwrap();
    });
    let mut sessions = SessionsClient::new(world.channel.clone());
    let unnamed = sessions.get_session(v1::GetSessionRequest::default()).await.unwrap_err();
    assert_eq!(unnamed.get_error_details().bad_request().unwrap().field_violations[0].field, "session_id");

    let unknown = sessions.get_session(v1::GetSessionRequest { session_id: "fo".into() }).await.unwrap_err();
    assert_eq!((unknown.code(), unknown.message()), (Code::NotFound, "no session `fo`; did you mean foo?"));
    registry.await.unwrap();
}

/// Answers one Find, one Open and one Submit.
async fn take_submit(mut asked: mpsc::Receiver<Ask>) -> crate::sessions::request::Submit {
    let Some(Ask::Find { reply, .. }) = asked.recv().await else { panic!("not a find") };
    reply.send(Ok(ID)).unwrap();
    let Some(Ask::Open { reply, .. }) = asked.recv().await else { panic!("not an open") };
    let (calls, mut called) = mpsc::channel(1);
    assert!(reply.send(Ok(SessionHandle::new(ID, calls))).is_ok());
    let Some(Call::Submit { submit, reply }) = called.recv().await else { panic!("not a submit") };
    reply.send(Ok(SubmitReceipt { command: CommandId::from_u128(5), seq: Seq(8) })).unwrap();
    submit
}

fn text(text: &str) -> v1::Block {
    (&agentd_types::Block::text(text)).into()
}

#[tokio::test]
async fn a_submit_carries_its_caller_and_gets_a_receipt() {
    let world = World::new().await;
    let session = tokio::spawn(take_submit(world.ready()));
    let mut request = Request::new(v1::SubmitRequest { session_id: "foo".into(), content: vec![text("hi")], ..Default::default() });
    request.metadata_mut().insert(agentd_proto::CLIENT_METADATA, "cli on pts/3".parse().unwrap());
    let receipt = QueueClient::new(world.channel.clone()).submit(request).await.unwrap().into_inner();
    assert_eq!((receipt.command_id, receipt.seq), (CommandId::from_u128(5).to_string(), 8));

    let submit = session.await.unwrap();
    assert_eq!(submit.origin, Origin::Person { client: "cli on pts/3".into() });
    assert_eq!(submit.content, [agentd_types::Block::text("hi")]);
}

#[tokio::test]
async fn nobody_submits_as_a_task_or_nothing_or_in_an_unknown_mode() {
    let world = World::new().await;
    let mut queue = QueueClient::new(world.channel.clone());
    let good = v1::SubmitRequest { session_id: "foo".into(), content: vec![text("hi")], ..Default::default() };
    let task = (&Origin::Task { id: "7".into() }).into();
    let table = [
        ("origin", v1::SubmitRequest { origin: Some(task), ..good.clone() }),
        ("content", v1::SubmitRequest { content: vec![], ..good.clone() }),
        ("content.kind", v1::SubmitRequest { content: vec![v1::Block { kind: None }], ..good.clone() }),
        ("mode", v1::SubmitRequest { mode: v1::CommandMode::TaskNotification.into(), ..good.clone() }),
        ("mode", v1::SubmitRequest { mode: 99, ..good.clone() }),
        ("idempotency_key", v1::SubmitRequest { idempotency_key: Some("k".repeat(257)), ..good }),
    ];
    for (field, request) in table {
        let status = queue.submit(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{field}");
        assert_eq!(status.get_error_details().bad_request().unwrap().field_violations[0].field, field);
    }
}

#[tokio::test]
async fn a_message_of_ten_mebibytes_passes() {
    let world = World::new().await;
    let session = tokio::spawn(take_submit(world.ready()));
    let long = "x".repeat(10 << 20);
    let request = v1::SubmitRequest { session_id: "foo".into(), content: vec![text(&long)], ..Default::default() };
    QueueClient::new(world.channel.clone()).submit(request).await.unwrap();
    assert_eq!(session.await.unwrap().content, [agentd_types::Block::text(long)]);
}

#[tokio::test]
async fn a_drain_is_handed_on_and_may_be_repeated() {
    let mut world = World::new().await;
    let mut admin = AdminClient::new(world.channel.clone());
    for _ in 0..3 {
        assert_eq!(admin.drain(v1::DrainRequest { deadline_ms: 1_500 }).await.unwrap().into_inner().pid, 77);
    }
    assert_eq!(world.drains.recv().await, Some(Duration::from_millis(1_500)));
    let status = admin.drain(v1::DrainRequest { deadline_ms: u64::MAX }).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn health_follows_the_daemon_and_serving_ends() {
    let world = World::new().await;
    let request = tonic_health::pb::HealthCheckRequest { service: "agent.v1.Sessions".into() };
    let mut watched = HealthClient::new(world.channel.clone()).watch(request).await.unwrap().into_inner();
    assert_eq!(watched.message().await.unwrap().unwrap().status, i32::from(ServingStatus::NotServing));
    let _asked = world.ready();
    assert_eq!(watched.message().await.unwrap().unwrap().status, i32::from(ServingStatus::Serving));

    drop((watched, world.channel));
    world.stop.send(()).unwrap();
    world.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_that_a_client_keeps_open_does_not_keep_the_daemon() {
    let world = World::new().await;
    let request = tonic_health::pb::HealthCheckRequest::default();
    let mut watched = HealthClient::new(world.channel.clone()).watch(request).await.unwrap().into_inner();
    watched.message().await.unwrap().unwrap();

    tokio::time::pause();
    world.stop.send(()).unwrap();
    world.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_api_describes_itself_in_both_versions() {
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient as AlphaClient;
    use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest as AlphaMessage;
    use tonic_reflection::pb::{v1 as new, v1alpha as old};

    let world = World::new().await;
    let ask = new::ServerReflectionRequest { message_request: Some(MessageRequest::ListServices(String::new())), ..Default::default() };
    let answers = ServerReflectionClient::new(world.channel.clone()).server_reflection_info(tokio_stream::iter([ask])).await;
    let answer = format!("{:?}", answers.unwrap().into_inner().message().await.unwrap().unwrap());

    let ask = old::ServerReflectionRequest { message_request: Some(AlphaMessage::ListServices(String::new())), ..Default::default() };
    let answers = AlphaClient::new(world.channel.clone()).server_reflection_info(tokio_stream::iter([ask])).await;
    let alpha = format!("{:?}", answers.unwrap().into_inner().message().await.unwrap().unwrap());
    for service in ["agent.v1.Sessions", "agent.v1.Events", "agent.v1.Admin", "grpc.health.v1.Health"] {
        assert!(answer.contains(service) && alpha.contains(service), "{service}");
    }
}

#[tokio::test]
async fn a_rebuilt_store_says_how_it_is() {
    let world = World::new().await;
    let mut asked = world.ready();
    let registry = tokio::spawn(async move {
        let Some(Ask::RebuildStore { reply }) = asked.recv().await else { panic!("not a rebuild") };
        reply.send(Ok(())).unwrap();
        let Some(Ask::StoreStatus { reply }) = asked.recv().await else { panic!("not a status") };
        let happened = vec![crate::store::Happened { at: Timestamp(7), weight: Weight::Attention, text: "it was lost".into() }];
        let quarantined = vec![(ID, "damaged".to_owned())];
        let aside = vec!["/data/db.damaged-1".into()];
        reply.send(Ok(StoreStatus { trouble: None, happened, quarantined, aside, sessions: 3, segments: 1, database_bytes: 9 })).unwrap();
    });
    let answer = AdminClient::new(world.channel.clone()).rebuild_store(v1::RebuildStoreRequest {}).await.unwrap().into_inner();
    let status = answer.status.unwrap();
    assert_eq!((status.trouble.as_str(), status.sessions, status.segments, status.database_bytes), ("", 3, 1, 9));
    assert_eq!(status.events, [v1::StoreEvent { at_ms: 7, text: "it was lost".into(), attention: true }]);
    assert_eq!(status.quarantined[0].session_id, ID.to_string());
    assert_eq!(status.set_aside, ["/data/db.damaged-1"]);
    registry.await.unwrap();
}
