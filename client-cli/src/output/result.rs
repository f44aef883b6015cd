//! The `result` object, in the shape that existing scripts read.

use agentd_types::outcome::{SubmissionResult, TerminalName};
use agentd_types::permission::PermissionRequest;
use agentd_types::question::Question;
use agentd_types::{Money, SessionId, SubmissionId, Usage};
use serde_json::{Value, json};

use super::rows;

/// `subtype` and `terminal_reason`, in the names scripts know.
pub const fn names(terminal: TerminalName) -> (&'static str, &'static str) {
    match terminal {
        TerminalName::Completed => ("success", "completed"),
        TerminalName::MaxTurns => ("error_max_turns", "max_turns"),
        TerminalName::MaxBudget => ("error_max_budget_usd", "budget_exhausted"),
        TerminalName::StructuredOutputRetries => ("error_max_structured_output_retries", "structured_output_retry_exhausted"),
        TerminalName::PromptTooLong
        | TerminalName::ImageError
        | TerminalName::ModelError
        | TerminalName::AbortedStreaming
        | TerminalName::AbortedTools
        | TerminalName::HookStopped
        | TerminalName::StopHookPrevented
        | TerminalName::BlockingLimit => ("error_during_execution", terminal.as_str()),
    }
}

pub fn object(session: SessionId, result: &SubmissionResult) -> Value {
    let (subtype, reason) = names(result.terminal);
    let ok = result.terminal == TerminalName::Completed;
    let denials: Vec<Value> = result
        .denials
        .iter()
        .map(|it| json!({"tool_name": it.tool_name, "tool_use_id": it.tool_use.as_str(), "tool_input": value(&it.input)}))
        .collect();
    let models: serde_json::Map<String, Value> = result
        .models
        .iter()
        .map(|share| {
            let usage = &share.usage;
            let row = json!({
                "inputTokens": usage.input, "outputTokens": usage.output, "cacheReadInputTokens": usage.cache_read,
                "cacheCreationInputTokens": usage.cache_write_5m + usage.cache_write_1h, "webSearchRequests": 0, "costUSD": share.cost.as_usd(),
                "costBasis": share.basis,
            });
            (share.model.clone(), row)
        })
        .collect();
    let mut object = json!({
        "type": "result", "subtype": subtype, "is_error": !ok,
        "duration_ms": result.duration_ms, "duration_api_ms": result.duration_api_ms, "num_turns": result.num_turns,
        "stop_reason": result.stop_reason, "total_cost_usd": result.session_cost.as_usd(),
        "usage": usage(&result.usage),
        "modelUsage": models, "permission_denials": denials, "terminal_reason": reason,
        "uuid": result.submission.to_string(), "session_id": session.to_string(),
    });
    if ok {
        object["result"] = json!(result.text);
    } else {
        let why = if result.detail.is_empty() { result.terminal.as_str() } else { &result.detail };
        object["errors"] = json!([why]);
        object["api_error_status"] = json!(result.error_status);
    }
    object
}

/// Tokens under the Messages API's names.
pub fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": usage.output, "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
    })
}

/// What is known of a submission that waits for an answer nobody here can give.
#[derive(Debug)]
pub struct Waiting<'a> {
    pub session: SessionId,
    pub submission: SubmissionId,
    /// Rounds so far.
    pub num_turns: u32,
    pub usage: Usage,
    pub session_cost: Money,
    pub open: &'a [PermissionRequest],
    pub questions: &'a [Question],
}

/// The result line of a run that parked.
pub fn parked(waiting: &Waiting<'_>) -> Value {
    let requests: Vec<Value> = waiting
        .open
        .iter()
        .map(|it| {
            json!({
                "id": it.id.to_string(), "tool_name": it.tool_name, "tool_use_id": it.tool_use.as_str(), "tool_input": value(&it.input),
                "reason": it.reason,
            })
        })
        .collect();
    json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "terminal_reason": "parked",
        "num_turns": waiting.num_turns, "usage": usage(&waiting.usage), "total_cost_usd": waiting.session_cost.as_usd(),
        "permission_denials": [], "permission_requests": requests,
        "questions": waiting.questions.iter().map(rows::question_object).collect::<Vec<_>>(),
        "errors": ["it waits for an answer; the session goes on when somebody gives it"],
        "uuid": waiting.submission.to_string(), "session_id": waiting.session.to_string(),
    })
}

/// Kept JSON as a value; it was checked when it came.
pub fn value(json: &agentd_types::Json) -> Value {
    json.read().unwrap_or(Value::Null)
}

#[cfg(test)]
pub(in crate::output) mod tests;
