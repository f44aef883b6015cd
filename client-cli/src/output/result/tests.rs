//! The result object, as scripts read it.

use agentd_types::outcome::{CostBasis, Denial, ModelShare};
use agentd_types::{Json, RequestId, Timestamp, ToolUseId};

use super::*;

pub(in crate::output) fn ended(terminal: TerminalName) -> SubmissionResult {
    let usage = Usage { input: 10, output: 5, cache_read: 3, cache_write_5m: 2, cache_write_1h: 1 };
    SubmissionResult {
        submission: SubmissionId::from_u128(2),
        terminal,
        detail: String::new(),
        error_kind: None,
        error_status: None,
        text: "Done.".to_owned(),
        stop_reason: Some("end_turn".to_owned()),
        num_turns: 4,
        duration_ms: 120,
        duration_api_ms: 80,
        usage,
        cost: Money(1),
        session_cost: Money(1_500_000_000),
        models: vec![ModelShare { model: "m".to_owned(), usage, cost: Money(1_500_000_000), basis: CostBasis::Listed }],
        denials: vec![Denial {
            tool_name: "Bash".to_owned(),
            tool_use: ToolUseId::new("t1"),
            input: Json::parse(r#"{"command":"rm x"}"#).expect("json"),
        }],
        answered: Vec::new(),
    }
}

#[test]
fn scripts_find_the_names_they_know() {
    let all: Vec<String> = TerminalName::ALL.iter().map(|it| format!("{}: {} / {}", it.as_str(), names(*it).0, names(*it).1)).collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    completed: success / completed
    max_turns: error_max_turns / max_turns
    max_budget: error_max_budget_usd / budget_exhausted
    prompt_too_long: error_during_execution / prompt_too_long
    image_error: error_during_execution / image_error
    model_error: error_during_execution / model_error
    aborted_streaming: error_during_execution / aborted_streaming
    aborted_tools: error_during_execution / aborted_tools
    hook_stopped: error_during_execution / hook_stopped
    stop_hook_prevented: error_during_execution / stop_hook_prevented
    blocking_limit: error_during_execution / blocking_limit
    structured_output_retries: error_max_structured_output_retries / structured_output_retry_exhausted
    ");
}

#[test]
fn a_success() {
    let object = object(SessionId::from_u128(1), &ended(TerminalName::Completed));
    insta::assert_snapshot!(serde_json::to_string_pretty(&object).expect("json"), @r#"
    {
      "duration_api_ms": 80,
      "duration_ms": 120,
      "is_error": false,
      "modelUsage": {
        "m": {
          "cacheCreationInputTokens": 3,
          "cacheReadInputTokens": 3,
          "costBasis": "listed",
          "costUSD": 1.5,
          "inputTokens": 10,
          "outputTokens": 5,
          "webSearchRequests": 0
        }
      },
      "num_turns": 4,
      "permission_denials": [
        {
          "tool_input": {
            "command": "rm x"
          },
          "tool_name": "Bash",
          "tool_use_id": "t1"
        }
      ],
      "result": "Done.",
      "session_id": "00000000-0000-0000-0000-000000000001",
      "stop_reason": "end_turn",
      "subtype": "success",
      "terminal_reason": "completed",
      "total_cost_usd": 1.5,
      "type": "result",
      "usage": {
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 3,
        "input_tokens": 10,
        "output_tokens": 5
      },
      "uuid": "00000000-0000-0000-0000-000000000002"
    }
    "#);
}

#[test]
fn an_error_has_errors_and_no_result() {
    let mut result = ended(TerminalName::ModelError);
    result.detail = "HTTP 401".to_owned();
    result.error_status = Some(401);
    let object = object(SessionId::from_u128(1), &result);
    assert_eq!((&object["is_error"], &object["errors"], object.get("result")), (&json!(true), &json!(["HTTP 401"]), None));
    assert_eq!(object["api_error_status"], 401);
    let silent = super::object(SessionId::from_u128(1), &ended(TerminalName::MaxTurns));
    assert_eq!(silent["errors"], json!(["max_turns"]), "never an empty reason");
}

#[test]
fn parked_names_what_it_waits_for() {
    let open = [PermissionRequest {
        id: RequestId::from_u128(5),
        agent: None,
        tool_use: ToolUseId::new("t1"),
        tool_name: "Bash".to_owned(),
        input: Json::parse(r#"{"command":"ls"}"#).expect("json"),
        reason: "no rule allows it".to_owned(),
        suggestions: Vec::new(),
        asked_at: Timestamp(0),
    }];
    let object = parked(&Waiting {
        session: SessionId::from_u128(1),
        submission: SubmissionId::from_u128(2),
        num_turns: 1,
        usage: Usage::default(),
        session_cost: Money::ZERO,
        open: &open,
        questions: &[],
    });
    assert_eq!((&object["terminal_reason"], &object["is_error"]), (&json!("parked"), &json!(true)));
    assert_eq!(object["permission_requests"][0]["id"], "00000000-0000-0000-0000-000000000005");
    assert_eq!(object["permission_requests"][0]["tool_input"], json!({"command": "ls"}));
}
