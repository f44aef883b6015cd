//! What the daemon itself says.

use agentd_types::ToolUseId;
use agentd_types::system::{ApiRetry, Frame, Init, LoopRecord, ModelFallback, Partial, PartialPiece, System, ToolStarted};

use super::{all, enum_of, http_status, id, json, maybe, maybe_json, path, required};
use crate::v1::system as wire;
use crate::{WireError, v1};

impl TryFrom<v1::System> for System {
    type Error = WireError;
    fn try_from(system: v1::System) -> Result<Self, WireError> {
        use v1::system::Subtype;
        Ok(match required("system.subtype", system.subtype)? {
            Subtype::Created(it) => {
                System::Created { meta: required("created.meta", it.meta)?.try_into()?, idempotency_key: it.idempotency_key }
            }
            Subtype::SessionUpdated(it) => System::SessionUpdated { changes: required("session_updated.changes", it.changes)?.try_into()? },
            Subtype::Init(it) => System::Init(it.try_into()?),
            Subtype::LoopState(it) => System::LoopState(it.try_into()?),
            Subtype::ToolStarted(it) => System::ToolStarted(it.try_into()?),
            Subtype::Partial(it) => System::Partial(it.try_into()?),
            Subtype::ApiRetry(it) => System::ApiRetry(it.try_into()?),
            Subtype::ModelFallback(wire::ModelFallback { from, to, error, reason }) => {
                System::ModelFallback(ModelFallback { from, to, error, reason })
            }
            Subtype::Frame(wire::Frame { fixed, tail }) => System::Frame(Frame { fixed, tail }),
            Subtype::Parked(it) => System::Parked { open: it.open_tool_use_ids.into_iter().map(ToolUseId).collect() },
            Subtype::Interrupted(it) => {
                System::Interrupted { reason: enum_of::<v1::InterruptReason, _>("interrupted.reason", it.reason)?, by: maybe(it.by)? }
            }
            Subtype::Recovered(it) => System::Recovered {
                submission: id("recovered.submission_id", &it.submission_id)?,
                outcome: enum_of::<v1::RecoveryOutcome, _>("recovered.outcome", it.outcome)?,
            },
            Subtype::Failed(wire::Failed { reason }) => System::Failed { reason },
            Subtype::Notice(wire::Notice { text }) => System::Notice { text },
            Subtype::Deleted(wire::Deleted {}) => System::Deleted,
        })
    }
}

impl TryFrom<wire::Init> for Init {
    type Error = WireError;
    fn try_from(init: wire::Init) -> Result<Self, WireError> {
        Ok(Init {
            model: init.model,
            tools: init.tools,
            cwd: path("init.cwd", init.cwd)?,
            permission_mode: enum_of::<v1::PermissionMode, _>("init.permission_mode", init.permission_mode)?,
            api_key_source: init.api_key_source,
            version: init.version,
        })
    }
}

impl TryFrom<wire::LoopState> for LoopRecord {
    type Error = WireError;
    fn try_from(record: wire::LoopState) -> Result<Self, WireError> {
        let state = json("loop_state.state_json", record.state_json)?;
        Ok(LoopRecord { round: record.round, transition: record.transition, state, denials: all(record.denials)? })
    }
}

impl TryFrom<wire::ToolStarted> for ToolStarted {
    type Error = WireError;
    fn try_from(started: wire::ToolStarted) -> Result<Self, WireError> {
        Ok(ToolStarted {
            tool_use: ToolUseId(started.tool_use_id),
            name: started.name,
            effective_input: maybe_json("tool_started.effective_input_json", started.effective_input_json)?,
            changed_by: maybe(started.changed_by)?,
        })
    }
}

impl TryFrom<wire::Partial> for Partial {
    type Error = WireError;
    fn try_from(partial: wire::Partial) -> Result<Self, WireError> {
        let piece = |it: wire::PartialPiece| PartialPiece { block: it.block, text: it.text, complete: it.complete };
        Ok(Partial { message: id("partial.message_id", &partial.message_id)?, pieces: partial.pieces.into_iter().map(piece).collect() })
    }
}

impl TryFrom<wire::ApiRetry> for ApiRetry {
    type Error = WireError;
    fn try_from(retry: wire::ApiRetry) -> Result<Self, WireError> {
        Ok(ApiRetry {
            attempt: retry.attempt,
            max_retries: retry.max_retries,
            delay_ms: retry.delay_ms,
            status: http_status("api_retry.status", retry.status)?,
            error: retry.error,
        })
    }
}
