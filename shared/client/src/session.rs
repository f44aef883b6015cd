//! Typed calls: one method a call, wire types in and out here only.

use std::time::Duration;

use agentd_proto::v1;
use agentd_proto::v1::admin_client::AdminClient;
use agentd_proto::v1::events_client::EventsClient;
use agentd_proto::v1::permissions_client::PermissionsClient;
use agentd_proto::v1::queue_client::QueueClient;
use agentd_proto::v1::sessions_client::SessionsClient;
use agentd_types::permission::{Decision, PermissionResolved};
use agentd_types::question::Answered;
use agentd_types::queue::{CommandMode, QueuedCommand};
use agentd_types::session::SessionInfo;
use agentd_types::system::SessionChanges;
use agentd_types::{AbsPath, Event, RequestId, Seq, SubmissionId, Timestamp};

use crate::connect::{Connection, LARGEST, field};
use crate::error::{ClientError, Kind};
use crate::patience::{Again, Patience};
use crate::requests::{InterruptOutcome, NewSession, PermissionRow, QuestionRow, Receipt, StoreEvent, StoreStatus, Submission, Weight};

type Result<T> = std::result::Result<T, ClientError>;

fn bad(what: &str, error: impl std::fmt::Display) -> ClientError {
    ClientError::new(Kind::Protocol, format!("{what}: {error}"))
}

impl Connection {
    fn sessions(&self) -> SessionsClient<tonic::transport::Channel> {
        SessionsClient::new(self.channel.clone()).max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST)
    }

    fn queues(&self) -> QueueClient<tonic::transport::Channel> {
        QueueClient::new(self.channel.clone()).max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST)
    }

    fn asking(&self) -> PermissionsClient<tonic::transport::Channel> {
        PermissionsClient::new(self.channel.clone()).max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST)
    }

    /// Makes a session; returns after it is durable.
    pub async fn create(&self, new: NewSession) -> Result<SessionInfo> {
        let request = v1::CreateSessionRequest { meta: Some((&new.meta).into()), idempotency_key: new.idempotency_key };
        let answer = self.sessions().create_session(self.request(request)).await?.into_inner();
        Ok(SessionInfo::try_from(field("session", answer.session)?)?)
    }

    /// All sessions, newest first, page by page.
    pub async fn list(&self, cwd: Option<AbsPath>, all: bool) -> Result<Vec<SessionInfo>> {
        let cwd = cwd.map(|cwd| cwd.to_string());
        let mut infos = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = v1::ListSessionsRequest { cwd: cwd.clone(), all, text: None, page_size: 0, page_token };
            let answer = self.sessions().list_sessions(self.request(request)).await?.into_inner();
            for info in answer.sessions {
                infos.push(SessionInfo::try_from(info)?);
            }
            if answer.next_page_token.is_empty() {
                return Ok(infos);
            }
            page_token = answer.next_page_token;
        }
    }

    /// One session, by name, id or an id's unique beginning.
    pub async fn session(&self, what: &str) -> Result<SessionInfo> {
        let request = v1::GetSessionRequest { session_id: what.to_owned() };
        let answer = self.sessions().get_session(self.request(request)).await?.into_inner();
        Ok(SessionInfo::try_from(field("session", answer.session)?)?)
    }

    pub async fn update(&self, what: &str, changes: SessionChanges) -> Result<SessionInfo> {
        let request = v1::UpdateSessionRequest { session_id: what.to_owned(), changes: Some((&changes).into()) };
        let answer = self.sessions().update_session(self.request(request)).await?.into_inner();
        Ok(SessionInfo::try_from(field("session", answer.session)?)?)
    }

    /// Ends what runs, then deletes.
    pub async fn delete(&self, what: &str) -> Result<()> {
        let request = v1::DeleteSessionRequest { session_id: what.to_owned() };
        self.sessions().delete_session(self.request(request)).await?;
        Ok(())
    }

    /// Enqueues; returns after the command is durable. What was not acknowledged when the link went is sent again under the same
    /// key, for 30 seconds: it is one command whatever happened.
    pub async fn submit(&self, what: &str, submission: Submission) -> Result<Receipt> {
        let request = v1::SubmitRequest {
            session_id: what.to_owned(),
            content: submission.content.iter().map(Into::into).collect(),
            priority: v1::Priority::from(submission.priority).into(),
            mode: v1::CommandMode::from(CommandMode::Prompt).into(),
            origin: submission.origin.as_ref().map(Into::into),
            // With a key, a repeat after a lost link is the same command.
            idempotency_key: Some(submission.idempotency_key.unwrap_or_else(|| uuid::Uuid::now_v7().to_string())),
            batching: v1::Batching::from(submission.batching).into(),
            options: Some((&submission.options).into()),
        };
        let mut patience = Patience::new();
        let answer = loop {
            match self.queues().submit(self.request(request.clone())).await.map_err(ClientError::from) {
                Ok(answer) => break answer.into_inner(),
                Err(error) if error.is_lost_link() && patience.wait().await == Again::Try => {}
                Err(error) => return Err(error),
            }
        };
        let command = answer.command_id.parse().map_err(|error| bad("command_id", error))?;
        Ok(Receipt { command, seq: Seq(answer.seq) })
    }

    /// What waits, in order of delivery.
    pub async fn queue(&self, what: &str) -> Result<Vec<QueuedCommand>> {
        let request = v1::ListQueueRequest { session_id: what.to_owned() };
        let answer = self.queues().list_queue(self.request(request)).await?.into_inner();
        answer.commands.into_iter().map(|it| QueuedCommand::try_from(it).map_err(Into::into)).collect()
    }

    /// Ends `submission`, or whatever runs; returns when it has ended.
    pub async fn interrupt(&self, what: &str, submission: Option<SubmissionId>) -> Result<InterruptOutcome> {
        let submission_id = submission.map(|id| id.to_string());
        let request = v1::InterruptRequest { session_id: what.to_owned(), submission_id, ..v1::InterruptRequest::default() };
        let answer = self.queues().interrupt(self.request(request)).await?.into_inner();
        match answer.outcome() {
            v1::InterruptOutcome::Ended => {
                let submission = field("submission_id", answer.submission_id.clone())?;
                let submission = submission.parse().map_err(|error| bad("submission_id", error))?;
                Ok(InterruptOutcome::Ended { submission, seq: Seq(answer.seq.unwrap_or_default()) })
            }
            v1::InterruptOutcome::AlreadyEnded => Ok(InterruptOutcome::AlreadyEnded),
            v1::InterruptOutcome::NothingRunning => Ok(InterruptOutcome::NothingRunning),
            v1::InterruptOutcome::Unspecified => Err(bad("outcome", "not said")),
        }
    }

    /// Open requests, or all.
    pub async fn permissions(&self, what: &str, all: bool) -> Result<Vec<PermissionRow>> {
        let request = v1::ListPermissionsRequest { session_id: what.to_owned(), all };
        let answer = self.asking().list_permissions(self.request(request)).await?.into_inner();
        answer.permissions.into_iter().map(row).collect()
    }

    /// Answers a request; the first answer wins.
    pub async fn respond(&self, what: &str, request: RequestId, decision: Decision) -> Result<PermissionResolved> {
        let request = v1::RespondPermissionRequest {
            session_id: what.to_owned(),
            request_id: request.to_string(),
            decision: Some((&decision).into()),
        };
        let answer = self.asking().respond_permission(self.request(request)).await?.into_inner();
        Ok(PermissionResolved::try_from(field("resolved", answer.resolved)?)?)
    }

    /// Open questions, or all.
    pub async fn questions(&self, what: &str, all: bool) -> Result<Vec<QuestionRow>> {
        let request = v1::ListQuestionsRequest { session_id: what.to_owned(), all };
        let answer = self.asking().list_questions(self.request(request)).await?.into_inner();
        answer.questions.into_iter().map(question_row).collect()
    }

    /// Answers a question: each choice an option's number or label, or a text. The first answer wins.
    pub async fn answer(&self, what: &str, question: RequestId, choices: Vec<String>) -> Result<Answered> {
        let request = v1::AnswerQuestionRequest { session_id: what.to_owned(), question_id: question.to_string(), choices };
        let answer = self.asking().answer_question(self.request(request)).await?.into_inner();
        Ok(Answered::try_from(field("answered", answer.answered)?)?)
    }

    /// Events with seq > `after`, and the session's last seq. A page may be shorter than `limit`.
    pub async fn read_after(&self, what: &str, after: Seq, limit: u32) -> Result<(Vec<Event>, Seq)> {
        self.read(what, v1::read_events_request::From::AfterSeq(after.0), limit).await
    }

    /// The newest events with seq < `before` (or of all), ascending, and the session's last seq.
    pub async fn read_before(&self, what: &str, before: Option<Seq>, limit: u32) -> Result<(Vec<Event>, Seq)> {
        self.read(what, v1::read_events_request::From::BeforeSeq(before.map_or(u64::MAX, |seq| seq.0)), limit).await
    }

    async fn read(&self, what: &str, from: v1::read_events_request::From, limit: u32) -> Result<(Vec<Event>, Seq)> {
        let request = v1::ReadEventsRequest { session_id: what.to_owned(), from: Some(from), limit };
        let mut events = EventsClient::new(self.channel.clone()).max_decoding_message_size(LARGEST);
        let answer = events.read_events(self.request(request)).await?.into_inner();
        let events = answer.events.into_iter().map(|it| Event::try_from(it).map_err(ClientError::from)).collect::<Result<_>>()?;
        Ok((events, Seq(answer.last_seq)))
    }

    /// How the daemon's store is.
    pub async fn store_status(&self) -> Result<StoreStatus> {
        let request = self.request(v1::GetStoreStatusRequest {});
        Ok(store_status(AdminClient::new(self.channel.clone()).get_store_status(request).await?.into_inner()))
    }

    /// Has the store's database built anew; returns when that is done, which may take a while.
    pub async fn rebuild_store(&self) -> Result<StoreStatus> {
        let answer = AdminClient::new(self.channel.clone()).rebuild_store(self.request(v1::RebuildStoreRequest {})).await?;
        Ok(store_status(field("status", answer.into_inner().status)?))
    }

    /// Asks the daemon to go down, giving running rounds `grace`.
    pub async fn drain(&self, grace: Duration) -> Result<()> {
        let deadline_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        AdminClient::new(self.channel.clone()).drain(self.request(v1::DrainRequest { deadline_ms })).await?;
        Ok(())
    }
}

fn store_status(answer: v1::GetStoreStatusResponse) -> StoreStatus {
    let v1::GetStoreStatusResponse { trouble, events, quarantined, set_aside, sessions, segments, database_bytes } = answer;
    let event = |event: v1::StoreEvent| StoreEvent {
        at: Timestamp(event.at_ms),
        weight: if event.attention { Weight::Attention } else { Weight::Note },
        text: event.text,
    };
    let events = events.into_iter().map(event).collect();
    let quarantined = quarantined.into_iter().map(|it| (it.session_id, it.reason)).collect();
    StoreStatus { trouble, events, quarantined, set_aside, sessions, segments, database_bytes }
}

fn question_row(row: v1::QuestionRow) -> Result<QuestionRow> {
    let answered = row.answered.map(Answered::try_from).transpose()?;
    let at = Timestamp(row.answered_at_ms.unwrap_or_default());
    Ok(QuestionRow { question: field("question", row.question)?.try_into()?, answered: answered.map(|it| (it, at)) })
}

fn row(row: v1::PermissionRow) -> Result<PermissionRow> {
    let resolved = row.resolved.map(PermissionResolved::try_from).transpose()?;
    let at = Timestamp(row.resolved_at_ms.unwrap_or_default());
    Ok(PermissionRow { request: field("request", row.request)?.try_into()?, resolved: resolved.map(|it| (it, at)) })
}
