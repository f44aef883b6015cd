use agentd_core::permission::Subject;
use agentd_types::{AbsPath, Json};

use super::survivors::Survivors;
use super::{Bash, Input, checked};
use crate::processes::Shims;
use crate::tools::input;
use crate::tools::tool::{Tool, ToolFailure};

fn check(value: &serde_json::Value) -> Result<Subject, String> {
    let input = Json::of(value).unwrap();
    input::read::<Input>("Bash", &input).and_then(checked).map_err(|failure| match failure {
        ToolFailure::TellModel(text) | ToolFailure::Failed { text, .. } => text,
        ToolFailure::EndSubmission(failure) => failure.message,
    })
}

#[test]
fn inputs_are_checked_with_advice() {
    let line = |line: &str| Ok(Subject::Command { line: line.to_owned() });
    assert_eq!(check(&serde_json::json!({ "command": "ls", "timeout": 600_000, "description": "d" })), line("ls"));
    assert_eq!(check(&serde_json::json!({ "command": "ls", "run_in_background": true })), line("ls"));
    for (input, part) in [
        (serde_json::json!({ "command": " \n" }), "command is empty"),
        (serde_json::json!({ "command": "a\0b" }), "zero byte"),
        (serde_json::json!({ "command": "x".repeat(131_072) }), "write it to a file with Write"),
        (serde_json::json!({ "command": "ls", "timeout": 0 }), "at least 1"),
        (serde_json::json!({ "command": "ls", "timeout": 600_001 }), "at most 600000"),
        (serde_json::json!({ "command": "ls", "timeout": "5" }), "`timeout`"),
        (serde_json::json!({}), "command"),
    ] {
        let told = check(&input).unwrap_err();
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn the_model_is_shown_the_names_of_the_reference() {
    let path = AbsPath::new("/x").unwrap();
    let bash = Bash::new(Shims::new(path.clone(), path), Survivors::default());
    let schema = bash.spec().input_schema.to_string();
    for name in ["command", "timeout", "description", "run_in_background"] {
        assert!(schema.contains(&format!("\"{name}\"")), "{schema}");
    }
    assert!(bash.spec().description.contains("stdin is closed"));
}
