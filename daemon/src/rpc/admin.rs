//! Service `Admin`. It answers before the store is open; draining itself is done elsewhere.

use std::time::Duration;

use agentd_proto::server::admin_server::Admin;
use agentd_proto::{PROTOCOL, v1};
use tonic::{Request, Response, Status};

use super::gate::Stage;
use super::server::Rpc;
use super::status::invalid;
use crate::sessions::request::{StoreStatus, Weight};

/// Longest drain.
const LONGEST: Duration = Duration::from_secs(3_600);

#[tonic::async_trait]
impl Admin for Rpc {
    async fn get_daemon_info(&self, _request: Request<v1::GetDaemonInfoRequest>) -> Result<Response<v1::GetDaemonInfoResponse>, Status> {
        let (state, sessions) = match self.stage() {
            Stage::Opening => (v1::DaemonState::Opening, 0),
            Stage::Ready(registry) => (v1::DaemonState::Ready, registry.count().await?),
            Stage::Draining(_) => (v1::DaemonState::Draining, 0),
        };
        let facts = self.facts();
        Ok(Response::new(v1::GetDaemonInfoResponse {
            version: facts.version.clone(),
            protocol: PROTOCOL,
            pid: facts.pid,
            started_at_ms: facts.started_at.0,
            socket: facts.socket.to_string(),
            data_dir: facts.data_dir.to_string(),
            default_model: facts.default_model.clone(),
            provider_key_source: facts.provider_key_source.clone(),
            sessions,
            state: state.into(),
            provider: facts.provider.clone(),
            provider_base_url: facts.provider_base_url.clone(),
            provider_problem: facts.provider_problem.clone(),
        }))
    }

    async fn drain(&self, request: Request<v1::DrainRequest>) -> Result<Response<v1::DrainResponse>, Status> {
        let grace = Duration::from_millis(request.get_ref().deadline_ms);
        if grace > LONGEST {
            return Err(invalid("deadline_ms", format!("at most {} (an hour)", LONGEST.as_millis())));
        }
        self.ask_drain(grace);
        Ok(Response::new(v1::DrainResponse { pid: self.facts().pid }))
    }

    async fn get_store_status(&self, _request: Request<v1::GetStoreStatusRequest>) -> Result<Response<v1::GetStoreStatusResponse>, Status> {
        let status = self.registry().await?.store_status().await?;
        Ok(Response::new(store_status(status)))
    }

    async fn rebuild_store(&self, _request: Request<v1::RebuildStoreRequest>) -> Result<Response<v1::RebuildStoreResponse>, Status> {
        let registry = self.registry().await?;
        registry.rebuild_store().await?;
        let status = registry.store_status().await?;
        Ok(Response::new(v1::RebuildStoreResponse { status: Some(store_status(status)) }))
    }
}

fn store_status(status: StoreStatus) -> v1::GetStoreStatusResponse {
    let StoreStatus { trouble, happened, quarantined, aside, sessions, segments, database_bytes } = status;
    let events = happened.into_iter().map(|it| v1::StoreEvent {
        at_ms: it.at.0,
        text: it.text,
        attention: match it.weight {
            Weight::Note => false,
            Weight::Attention => true,
        },
    });
    let quarantined = quarantined.into_iter().map(|(id, reason)| v1::QuarantinedSession { session_id: id.to_string(), reason });
    v1::GetStoreStatusResponse {
        trouble: trouble.unwrap_or_default(),
        events: events.collect(),
        quarantined: quarantined.collect(),
        set_aside: aside.into_iter().map(|path| path.display().to_string()).collect(),
        sessions,
        segments,
        database_bytes,
    }
}
