//! Service `Sessions`. Paging is done here; everything else is the registry's.

use agentd_proto::server::sessions_server::Sessions;
use agentd_proto::{reason, required, v1};
use agentd_types::AbsPath;
use agentd_types::session::{SessionInfo, SessionMeta};
use agentd_types::system::SessionChanges;
use tonic::{Code, Request, Response, Status};

use super::peer::Caller;
use super::server::Rpc;
use super::status::{bad_field, invalid, refusal};
use crate::sessions::request::{CreateSession, ListFilter};

/// Most rows of a page, and the default.
const PAGE: usize = 1_000;

#[tonic::async_trait]
impl Sessions for Rpc {
    async fn create_session(&self, request: Request<v1::CreateSessionRequest>) -> Result<Response<v1::CreateSessionResponse>, Status> {
        let by = Caller::of(&request).origin();
        let v1::CreateSessionRequest { meta, idempotency_key } = request.into_inner();
        let meta = SessionMeta::try_from(required("meta", meta).map_err(bad_field)?).map_err(bad_field)?;
        let info = self.registry().await?.create(CreateSession { meta, idempotency_key, by }).await?;
        Ok(Response::new(v1::CreateSessionResponse { session: Some((&info).into()) }))
    }

    async fn list_sessions(&self, request: Request<v1::ListSessionsRequest>) -> Result<Response<v1::ListSessionsResponse>, Status> {
        let v1::ListSessionsRequest { cwd, all, text, page_size, page_token } = request.into_inner();
        let cwd = cwd.map(AbsPath::new).transpose().map_err(|error| invalid("cwd", error.to_string()))?;
        let rows = self.registry().await?.list(ListFilter { cwd, all, text }).await?;
        page(&rows, page_size, &page_token).map(Response::new)
    }

    async fn get_session(&self, request: Request<v1::GetSessionRequest>) -> Result<Response<v1::GetSessionResponse>, Status> {
        let info = self.session(&request.get_ref().session_id).await?.info().await?;
        Ok(Response::new(v1::GetSessionResponse { session: Some((&info).into()) }))
    }

    async fn update_session(&self, request: Request<v1::UpdateSessionRequest>) -> Result<Response<v1::UpdateSessionResponse>, Status> {
        let by = Caller::of(&request).origin();
        let v1::UpdateSessionRequest { session_id, changes } = request.into_inner();
        let changes = SessionChanges::try_from(required("changes", changes).map_err(bad_field)?).map_err(bad_field)?;
        let registry = self.registry().await?;
        let id = registry.find(&*session_id).await?;
        let info = registry.update(id, changes, by).await?;
        Ok(Response::new(v1::UpdateSessionResponse { session: Some((&info).into()) }))
    }

    async fn delete_session(&self, request: Request<v1::DeleteSessionRequest>) -> Result<Response<v1::DeleteSessionResponse>, Status> {
        let by = Caller::of(&request).origin();
        self.session(&request.get_ref().session_id).await?.delete(by).await?;
        Ok(Response::new(v1::DeleteSessionResponse {}))
    }
}

/// The page after the row that `token` names. A token is the id of a page's last row: rows that come or go elsewhere do not shift it.
fn page(rows: &[SessionInfo], size: u32, token: &str) -> Result<v1::ListSessionsResponse, Status> {
    let start = match token {
        "" => 0,
        token => rows.iter().position(|row| row.id.to_string() == token).map(|at| at + 1).ok_or_else(|| {
            refusal(
                Code::InvalidArgument,
                reason::PAGE_EXPIRED,
                "page_token: the session it points at is gone; list from the beginning",
                vec![("page_token", token.to_owned())],
            )
        })?,
    };
    let size = match usize::try_from(size) {
        Ok(0) | Err(_) => PAGE,
        Ok(size) => size.min(PAGE),
    };
    let rest = &rows[start..];
    let rows = &rest[..rest.len().min(size)];
    let next_page_token = match rows.last() {
        Some(last) if rows.len() < rest.len() => last.id.to_string(),
        Some(_) | None => String::new(),
    };
    Ok(v1::ListSessionsResponse { sessions: rows.iter().map(Into::into).collect(), next_page_token })
}
