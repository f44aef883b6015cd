//! What the daemon itself says.

use agentd_types::Json;
use agentd_types::system::System;

use super::{all, number, path, texts};
use crate::v1;

impl From<&System> for v1::System {
    fn from(system: &System) -> Self {
        use v1::system::{self as wire, Subtype};
        let subtype = match system {
            System::Created { meta, idempotency_key } => {
                Subtype::Created(wire::Created { meta: Some(meta.into()), idempotency_key: idempotency_key.clone() })
            }
            System::SessionUpdated { changes } => Subtype::SessionUpdated(wire::SessionUpdated { changes: Some(changes.into()) }),
            System::Init(init) => Subtype::Init(wire::Init {
                model: init.model.clone(),
                tools: init.tools.clone(),
                cwd: path(&init.cwd),
                permission_mode: number::<v1::PermissionMode>(init.permission_mode),
                api_key_source: init.api_key_source.clone(),
                version: init.version.clone(),
            }),
            System::LoopState(record) => Subtype::LoopState(wire::LoopState {
                round: record.round,
                transition: record.transition.clone(),
                state_json: record.state.to_string(),
                denials: all(&record.denials),
            }),
            System::ToolStarted(started) => Subtype::ToolStarted(wire::ToolStarted {
                tool_use_id: started.tool_use.to_string(),
                name: started.name.clone(),
                effective_input_json: started.effective_input.as_ref().map(Json::to_string),
                changed_by: started.changed_by.as_ref().map(Into::into),
            }),
            System::Partial(partial) => Subtype::Partial(wire::Partial {
                message_id: partial.message.to_string(),
                pieces: partial
                    .pieces
                    .iter()
                    .map(|piece| wire::PartialPiece { block: piece.block, text: piece.text.clone(), complete: piece.complete })
                    .collect(),
            }),
            System::ApiRetry(retry) => Subtype::ApiRetry(wire::ApiRetry {
                attempt: retry.attempt,
                max_retries: retry.max_retries,
                delay_ms: retry.delay_ms,
                status: retry.status.map(u32::from),
                error: retry.error.clone(),
            }),
            System::ModelFallback(fallback) => Subtype::ModelFallback(wire::ModelFallback {
                from: fallback.from.clone(),
                to: fallback.to.clone(),
                error: fallback.error.clone(),
                reason: fallback.reason.clone(),
            }),
            System::Frame(frame) => Subtype::Frame(wire::Frame { fixed: frame.fixed.clone(), tail: frame.tail.clone() }),
            System::Parked { open } => Subtype::Parked(wire::Parked { open_tool_use_ids: texts(open) }),
            System::Interrupted { reason, by } => {
                Subtype::Interrupted(wire::Interrupted { reason: number::<v1::InterruptReason>(*reason), by: by.as_ref().map(Into::into) })
            }
            System::Recovered { submission, outcome } => Subtype::Recovered(wire::Recovered {
                submission_id: submission.to_string(),
                outcome: number::<v1::RecoveryOutcome>(*outcome),
            }),
            System::Failed { reason } => Subtype::Failed(wire::Failed { reason: reason.clone() }),
            System::Notice { text } => Subtype::Notice(wire::Notice { text: text.clone() }),
            System::Deleted => Subtype::Deleted(wire::Deleted {}),
        };
        v1::System { subtype: Some(subtype) }
    }
}
