//! Service `Sessions`. Paging is done here; everything else is the registry's.

use agentd_proto::server::sessions_server::Sessions;
use agentd_proto::{reason, required, v1};
use agentd_types::AbsPath;
use agentd_types::session::SessionMeta;
use agentd_types::system::SessionChanges;
use tonic::{Code, Request, Response, Status};

use super::peer::Caller;
use super::server::Rpc;
use super::status::{bad_field, invalid, refusal};
use crate::sessions::request::{CreateSession, ListFilter, Listed, Slice};

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
        let slice = slice(page_size, &page_token)?;
        let listed = self.registry().await?.list(ListFilter { cwd, all, text }, slice).await?;
        Ok(Response::new(page(&listed)))
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
        let registry = self.registry().await?;
        let id = registry.find(&*request.get_ref().session_id).await?;
        registry.delete(id, by).await?;
        Ok(Response::new(v1::DeleteSessionResponse {}))
    }
}

/// The part of the list that a page shows. A token is the id of the page's last row before: rows that come or go do not
/// shift it.
fn slice(size: u32, token: &str) -> Result<Slice, Status> {
    let after = match token {
        "" => None,
        token => Some(token.parse().map_err(|_| {
            refusal(
                Code::InvalidArgument,
                reason::PAGE_EXPIRED,
                "page_token: it is none that this daemon gave; list from the beginning",
                vec![("page_token", token.to_owned())],
            )
        })?),
    };
    let size = match usize::try_from(size) {
        Ok(0) | Err(_) => PAGE,
        Ok(size) => size.min(PAGE),
    };
    Ok(Slice { after, size })
}

fn page(listed: &Listed) -> v1::ListSessionsResponse {
    let next_page_token = match listed.rows.last() {
        Some(last) if listed.more => last.id.to_string(),
        Some(_) | None => String::new(),
    };
    v1::ListSessionsResponse { sessions: listed.rows.iter().map(Into::into).collect(), next_page_token }
}
