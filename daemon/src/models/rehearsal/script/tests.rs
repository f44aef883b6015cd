//! Scripts are read whole or refused with their place.

use super::*;

fn refused(text: &str) -> String {
    Script::parse("demo.toml", text).expect_err("a bad script").to_string()
}

#[test]
fn everything_a_step_can_say() {
    let script = Script::parse(
        "demo.toml",
        r#"
name = "all"
[[step]]
text = "Let me look."
thinking = "hm"
delay_ms = 5
[[step.tool]]
name = "Read"
input = { file_path = "src/lib.rs" }
[[step]]
expect = { tool = "Read", is_error = false, contains = "fn add" }
stop = "max_tokens"
error = { status = 529, times = 3 }
prompt_too_long = true
cut = true
stall_ms = 500
usage = { input = 1000, output = 10 }
[[agent.step]]
text = "sub"
"#,
    )
    .expect("a good script");
    assert_eq!((script.steps.len(), script.agent.steps.len()), (2, 1));
    assert_eq!(script.steps[1].error.map(|it| it.times), Some(3));
    assert_eq!(script.steps[1].stop, Some(StopReason::MaxTokens));
}

#[test]
fn errors_name_line_and_step() {
    insta::assert_snapshot!(refused("[[step]]\ntext = \"a\"\n[[step]]\ntxet = \"b\"\n"), @"the script demo.toml (line 4, step 2): unknown field `txet`, expected one of `expect`, `thinking`, `text`, `tool`, `stop`, `delay_ms`, `stall_ms`, `error`, `prompt_too_long`, `cut`, `usage`");
    insta::assert_snapshot!(refused("[[step]]\nstop = \"never\"\n"), @"the script demo.toml (line 2, step 1): unknown variant `never`, expected one of `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`, `model_context_window_exceeded`");
    assert!(refused("[[step]]\ntext = 3\n").contains("line 2, step 1"));
    assert!(refused("[[step]\n").contains("line 1"));
    assert_eq!(refused(""), "the script demo.toml: it has no [[step]]");
    assert_eq!(
        refused("[[step]]\n[[step]]\nstop = \"tool_use\"\n"),
        "the script demo.toml (step 2): it stops with tool_use but has no [[step.tool]]"
    );
    assert!(refused("[[step]]\nerror = { status = 200 }\n").contains("step 1"));
}
