//! A subscription over a link that breaks: every durable event once, in order; what was not acknowledged is sent again.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use agentd_proto::server::admin_server::{Admin, AdminServer};
use agentd_proto::server::events_server::{Events, EventsServer};
use agentd_proto::server::permissions_server::{Permissions, PermissionsServer};
use agentd_proto::server::queue_server::{Queue, QueueServer};
use agentd_proto::{CLIENT_METADATA, PROTOCOL, frame};
use agentd_types::queue::{Batching, Priority, RunOptions};
use agentd_types::system::System;
use agentd_types::{AbsPath, Block, Body, CommandId, SessionId, Timestamp};
use futures_util::stream;
use tokio::net::UnixListener;
use tonic::{Request, Response, Status};

use super::*;
use crate::requests::Submission;

const SESSION: &str = "00000000-0000-0000-0000-000000000001";

/// What one subscription gets, and whether its link then breaks.
type Part = (Vec<Item>, Option<Status>);

/// Answers as its script says.
#[derive(Clone, Default)]
struct Fake {
    parts: Arc<Mutex<VecDeque<Part>>>,
    asked_from: Arc<Mutex<Vec<Option<u64>>>>,
    /// Submits that are taken but not answered.
    unanswered: Arc<Mutex<u32>>,
    commands: Arc<Mutex<HashMap<String, CommandId>>>,
    clients: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn note<T>(&self, request: &Request<T>) {
        let client = request.metadata().get(CLIENT_METADATA).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        self.clients.lock().unwrap().push(client);
    }
}

#[tonic::async_trait]
impl Permissions for Fake {
    async fn answer_question(&self, _: Request<v1::AnswerQuestionRequest>) -> Result<Response<v1::AnswerQuestionResponse>, Status> {
        Err(Status::unimplemented("no test asks"))
    }

    async fn list_questions(&self, _: Request<v1::ListQuestionsRequest>) -> Result<Response<v1::ListQuestionsResponse>, Status> {
        Err(Status::unimplemented("no test asks"))
    }

    async fn list_permissions(&self, _: Request<v1::ListPermissionsRequest>) -> Result<Response<v1::ListPermissionsResponse>, Status> {
        let request = v1::PermissionRequest { input_json: "x".repeat(5 << 20), ..Default::default() };
        let row = v1::PermissionRow { request: Some(request), ..Default::default() };
        Ok(Response::new(v1::ListPermissionsResponse { permissions: vec![row] }))
    }

    async fn respond_permission(
        &self,
        _: Request<v1::RespondPermissionRequest>,
    ) -> Result<Response<v1::RespondPermissionResponse>, Status> {
        Err(Status::unimplemented("respond"))
    }
}

#[tonic::async_trait]
impl Admin for Fake {
    async fn get_daemon_info(&self, request: Request<v1::GetDaemonInfoRequest>) -> Result<Response<v1::GetDaemonInfoResponse>, Status> {
        self.note(&request);
        let path = "/x".to_owned();
        Ok(Response::new(v1::GetDaemonInfoResponse { protocol: PROTOCOL, socket: path.clone(), data_dir: path, ..Default::default() }))
    }

    async fn drain(&self, _: Request<v1::DrainRequest>) -> Result<Response<v1::DrainResponse>, Status> {
        Err(Status::unimplemented("drain"))
    }

    async fn get_store_status(&self, _: Request<v1::GetStoreStatusRequest>) -> Result<Response<v1::GetStoreStatusResponse>, Status> {
        Err(Status::unimplemented("store"))
    }

    async fn rebuild_store(&self, _: Request<v1::RebuildStoreRequest>) -> Result<Response<v1::RebuildStoreResponse>, Status> {
        Err(Status::unimplemented("rebuild"))
    }
}

#[tonic::async_trait]
impl Events for Fake {
    type SubscribeStream = Pin<Box<dyn futures_util::Stream<Item = Result<frame::SubscribeFrame, Status>> + Send>>;

    async fn subscribe(&self, request: Request<v1::SubscribeRequest>) -> Result<Response<Self::SubscribeStream>, Status> {
        self.note(&request);
        self.asked_from.lock().unwrap().push(request.get_ref().from_seq);
        let (items, end) = self.parts.lock().unwrap().pop_front().ok_or_else(|| Status::permission_denied("the script is over"))?;
        let frames: Vec<_> = items.into_iter().map(|item| Ok(frame::SubscribeFrame::typed(item))).chain(end.map(Err)).collect();
        Ok(Response::new(Box::pin(stream::iter(frames))))
    }

    async fn read_events(&self, _: Request<v1::ReadEventsRequest>) -> Result<Response<frame::EventPage>, Status> {
        Err(Status::unimplemented("read"))
    }
}

#[tonic::async_trait]
impl Queue for Fake {
    async fn submit(&self, request: Request<v1::SubmitRequest>) -> Result<Response<v1::SubmitResponse>, Status> {
        let key = request.into_inner().idempotency_key.ok_or_else(|| Status::invalid_argument("no key"))?;
        let mut commands = self.commands.lock().unwrap();
        let number = commands.len() as u128 + 1;
        let command = *commands.entry(key).or_insert(CommandId::from_u128(number));
        let mut unanswered = self.unanswered.lock().unwrap();
        if *unanswered > 0 {
            *unanswered -= 1;
            return Err(Status::unavailable("the link broke after it was taken"));
        }
        Ok(Response::new(v1::SubmitResponse { command_id: command.to_string(), seq: 1 }))
    }

    async fn list_queue(&self, _: Request<v1::ListQueueRequest>) -> Result<Response<v1::ListQueueResponse>, Status> {
        Err(Status::unimplemented("list"))
    }

    async fn interrupt(&self, _: Request<v1::InterruptRequest>) -> Result<Response<v1::InterruptResponse>, Status> {
        Err(Status::unimplemented("interrupt"))
    }
}

async fn connected(fake: &Fake) -> (Connection, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let incoming = stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    let server = tonic::transport::Server::builder()
        .add_service(AdminServer::new(fake.clone()))
        .add_service(EventsServer::new(fake.clone()))
        .add_service(PermissionsServer::new(fake.clone()).max_encoding_message_size(LARGEST))
        .add_service(QueueServer::new(fake.clone()));
    tokio::spawn(server.serve_with_incoming(Box::pin(incoming)));
    (Connection::open(&AbsPath::new(path).unwrap(), "cli on pts/7").await.unwrap(), folder)
}

fn event(seq: u64) -> Item {
    let event = Event {
        session: SESSION.parse::<SessionId>().unwrap(),
        seq: Seq(seq),
        time: Timestamp(0),
        submission: None,
        agent: None,
        parent_tool_use: None,
        origin: None,
        body: Body::System(System::Notice { text: format!("n{seq}") }),
    };
    Item::Event(v1::Event::from(&event))
}

/// The seqs of the events until the script is over, and how often the link was lost.
async fn drained(mut attach: Attach) -> (Vec<u64>, usize, ClientError) {
    let (mut seqs, mut lost) = (Vec::new(), 0);
    loop {
        match attach.next().await {
            Ok(Update::Event(event)) => seqs.push(event.seq.0),
            Ok(Update::Link(LinkState::Lost { .. })) => lost += 1,
            Ok(_) => {}
            Err(error) => return (seqs, lost, error),
        }
    }
}

fn fake(parts: Vec<Part>) -> Fake {
    Fake { parts: Arc::new(Mutex::new(parts.into())), ..Fake::default() }
}

#[tokio::test]
async fn it_resumes_after_what_it_delivered_and_delivers_nothing_twice() {
    let fake = fake(vec![
        (vec![event(1), event(2)], Some(Status::unavailable("gone"))),
        (vec![event(2), event(3)], None),
        (vec![event(4)], Some(Status::internal("torn"))),
    ]);
    let (connection, _folder) = connected(&fake).await;
    let (seqs, lost, error) = drained(connection.attach(SESSION, Some(Seq::ZERO), false).await.unwrap()).await;
    assert_eq!((seqs, lost), (vec![1, 2, 3, 4], 3));
    assert_eq!(*fake.asked_from.lock().unwrap(), [Some(0), Some(2), Some(3), Some(4)]);
    assert_eq!(error.kind, Kind::Denied, "a refusal is no lost link");
    connection.daemon_info().await.unwrap();
    let clients = fake.clients.lock().unwrap();
    assert!(clients.len() == 6 && clients.iter().all(|it| it == "cli on pts/7"), "{clients:?}");
}

#[tokio::test]
async fn a_draining_daemon_may_come_back() {
    let draining = crate::error::tests::status(tonic::Code::Unavailable, agentd_proto::reason::DRAINING);
    let fake =
        fake(vec![(vec![event(1), Item::Draining(v1::Draining {})], None), (vec![event(2)], Some(draining)), (vec![event(3)], None)]);
    let (connection, _folder) = connected(&fake).await;
    let (seqs, lost, _) = drained(connection.attach(SESSION, Some(Seq::ZERO), false).await.unwrap()).await;
    assert_eq!((seqs, lost), (vec![1, 2, 3], 3));
}

#[tokio::test]
async fn what_was_not_acknowledged_is_one_command() {
    let fake = fake(Vec::new());
    *fake.unanswered.lock().unwrap() = 2;
    let (connection, _folder) = connected(&fake).await;
    let submission = Submission {
        content: vec![Block::text("hello")],
        priority: Priority::Next,
        origin: None,
        idempotency_key: None,
        batching: Batching::Fold,
        options: RunOptions::default(),
    };
    let receipt = connection.submit(SESSION, submission).await.unwrap();
    assert_eq!(receipt.command, CommandId::from_u128(1));
    assert_eq!(fake.commands.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_above_four_mebibytes_is_read() {
    let (connection, _folder) = connected(&Fake::default()).await;
    let error = connection.permissions(SESSION, true).await.unwrap_err();
    assert_eq!(error.kind, Kind::Protocol, "read, then judged: {error}");
}
