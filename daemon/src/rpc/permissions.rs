//! Service `Permissions`. Who answers is the caller; whether in time is the session's to say.

use agentd_proto::server::permissions_server::Permissions;
use agentd_proto::{required, v1};
use agentd_types::RequestId;
use agentd_types::permission::Decision;
use tonic::{Request, Response, Status};

use super::peer::Caller;
use super::server::Rpc;
use super::status::{bad_field, invalid};
use crate::sessions::SessionError;
use crate::sessions::request::{AnswerQuestion, PermissionRow, QuestionRow, Respond};

#[tonic::async_trait]
impl Permissions for Rpc {
    async fn respond_permission(
        &self,
        request: Request<v1::RespondPermissionRequest>,
    ) -> Result<Response<v1::RespondPermissionResponse>, Status> {
        let by = Caller::of(&request).origin();
        let v1::RespondPermissionRequest { session_id, request_id, decision } = request.into_inner();
        let decision = decision_of(decision)?;
        // What is no id at all is no request of this session either.
        let request: RequestId = request_id.parse().map_err(|_| SessionError::NoSuchRequest { id: request_id })?;
        let resolved = self.session(&session_id).await?.respond(Respond { request, decision, by }).await?;
        Ok(Response::new(v1::RespondPermissionResponse { resolved: Some((&resolved).into()) }))
    }

    async fn list_permissions(
        &self,
        request: Request<v1::ListPermissionsRequest>,
    ) -> Result<Response<v1::ListPermissionsResponse>, Status> {
        let v1::ListPermissionsRequest { session_id, all } = request.into_inner();
        let rows = self.session(&session_id).await?.permissions(all).await?;
        Ok(Response::new(v1::ListPermissionsResponse { permissions: rows.iter().map(row).collect() }))
    }

    async fn answer_question(&self, request: Request<v1::AnswerQuestionRequest>) -> Result<Response<v1::AnswerQuestionResponse>, Status> {
        let by = Caller::of(&request).origin();
        let v1::AnswerQuestionRequest { session_id, question_id, choices } = request.into_inner();
        let question: RequestId = question_id.parse().map_err(|_| SessionError::NoSuchRequest { id: question_id })?;
        let answered = self.session(&session_id).await?.answer(AnswerQuestion { question, choices, by }).await?;
        Ok(Response::new(v1::AnswerQuestionResponse { answered: Some((&answered).into()) }))
    }

    async fn list_questions(&self, request: Request<v1::ListQuestionsRequest>) -> Result<Response<v1::ListQuestionsResponse>, Status> {
        let v1::ListQuestionsRequest { session_id, all } = request.into_inner();
        let rows = self.session(&session_id).await?.questions(all).await?;
        Ok(Response::new(v1::ListQuestionsResponse { questions: rows.iter().map(question_row).collect() }))
    }
}

/// Allow or deny: only the daemon withdraws.
fn decision_of(decision: Option<v1::Decision>) -> Result<Decision, Status> {
    let decision = Decision::try_from(required("decision", decision).map_err(bad_field)?).map_err(bad_field)?;
    match &decision {
        Decision::Allow { updated_input: Some(input), .. } if !input.is_object() => {
            Err(invalid("decision.allow.updated_input_json", "a tool's arguments are a JSON object"))
        }
        Decision::Allow { .. } | Decision::Deny { .. } => Ok(decision),
        Decision::Withdrawn => Err(invalid("decision", "answer allow or deny; only the daemon withdraws a request")),
    }
}

fn question_row(row: &QuestionRow) -> v1::QuestionRow {
    let answered = row.answered.as_ref();
    v1::QuestionRow {
        question: Some((&row.question).into()),
        answered: answered.map(|(answered, _)| answered.into()),
        answered_at_ms: answered.map(|(_, at)| at.0),
    }
}

fn row(row: &PermissionRow) -> v1::PermissionRow {
    let resolved = row.resolved.as_ref();
    v1::PermissionRow {
        request: Some((&row.request).into()),
        resolved: resolved.map(|(resolved, _)| resolved.into()),
        resolved_at_ms: resolved.map(|(_, at)| at.0),
    }
}
