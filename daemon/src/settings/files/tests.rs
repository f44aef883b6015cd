//! Good files, unknown keys, and mistakes with their places.

use agentd_types::permission::PermissionMode;

use super::*;

fn load(text: &str) -> Result<Loaded, SettingsError> {
    parse(Path::new("/c/settings.json"), text)
}

fn mistake(text: &str) -> String {
    load(text).expect_err("a mistake").to_string()
}

#[test]
fn a_full_file() {
    let loaded = load(
        r#"{
  "$schema": "https://example.com/x.json",
  "model": "claude-opus-5-5",
  "permissions": {"allow": ["Read", "Bash(npm run test:*)"], "deny": [], "defaultMode": "acceptEdits", "additionalDirectories": ["../b"]},
  "provider": {"anthropicApiKey": "sk-1"},
  "env": {"A": "b"}, "maxTurns": 5, "maxBudgetUsd": 1.5
}"#,
    )
    .expect("good settings");
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let settings = loaded.settings;
    assert_eq!(settings.permissions.default_mode, Some(PermissionMode::AutoEdit));
    assert_eq!(settings.permissions.allow.len(), 2);
    assert_eq!((settings.max_turns, settings.max_budget_usd), (Some(5), Some(1.5)));
    assert_eq!(settings.provider.anthropic_api_key.as_deref(), Some("sk-1"));
}

#[test]
fn every_setting_is_known_to_the_warnings() {
    let value = serde_json::to_value(Settings::default()).expect("json");
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert!(keys(&value).iter().all(|key| KNOWN.contains(&key.as_str())));
    assert!(keys(&value["permissions"]).iter().all(|key| KNOWN_PERMISSIONS.contains(&key.as_str())));
    assert!(keys(&value["provider"]).iter().all(|key| KNOWN_PROVIDER.contains(&key.as_str())));
}

#[test]
fn unknown_keys_are_warned_of_and_the_rest_holds() {
    let loaded = load(r#"{"model": "m", "hoooks": {}, "permissions": {"alow": []}}"#).expect("good settings");
    assert_eq!(loaded.settings.model.as_deref(), Some("m"));
    assert_eq!(
        loaded.warnings,
        [
            "/c/settings.json: `hoooks` is no setting that is known here; it is ignored",
            "/c/settings.json: `permissions.alow` is no setting that is known here; it is ignored",
        ]
    );
}

#[test]
fn mistakes_name_file_line_column_and_key() {
    insta::assert_snapshot!(mistake("{\n  \"maxTurns\": \"five\"\n}"), @r#"/c/settings.json: line 2, column 20, `maxTurns`: invalid type: string "five", expected u32"#);
    insta::assert_snapshot!(mistake("{\n  \"model\": \"a\",\n  \"permissions\": { \"allow\": [\"Read\", \"Bash(\"] }\n}"), @r#"/c/settings.json: line 3, column 45, `permissions.allow[1]`: `Bash(` is no permission rule: the closing parenthesis is missing (write Tool or Tool(specifier), like Bash(npm run test:*))"#);
    insta::assert_snapshot!(mistake("{\"permissions\": {\"defaultMode\": \"yolo\"}}"), @r#"/c/settings.json: line 1, column 38, `permissions.defaultMode`: unknown variant `yolo`, expected one of `auto`, `default`, `manual`, `plan`, `acceptEdits`, `autoEdit`, `fullAuto`, `bypassPermissions`, `dontAsk`"#);
    insta::assert_snapshot!(mistake("{\n  \"model\": \"a\"\n  \"maxTurns\": 1\n}"), @r#"/c/settings.json: line 3, column 3, `model`: expected `,` or `}`"#);
    insta::assert_snapshot!(mistake("{\"env\": {\"A\": 1,}}"), @r#"/c/settings.json: line 1, column 17, `env.A`: trailing comma"#);
    insta::assert_snapshot!(mistake("{\"model\": "), @r#"/c/settings.json: line 1, column 10, `model`: EOF while parsing a value"#);
    insta::assert_snapshot!(mistake("[]"), @r#"/c/settings.json: line 1, column 1: a settings file is a JSON object: { … }"#);
    insta::assert_snapshot!(mistake("{\"provider\": {\"anthropicApiKey\": [\"sk-secret\"]}}"), @r#"/c/settings.json: line 1, column 33, `provider.anthropicApiKey`: it must be a text in quotes"#);
}

#[test]
fn missing_and_empty_files_are_the_defaults_and_folders_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(read(&folder.path().join("settings.json")).expect("defaults"), Loaded::default());
    assert_eq!(load("\n").expect("defaults"), Loaded::default());
    assert!(read(folder.path()).expect_err("a folder").to_string().contains("no regular file"));
    let file = folder.path().join("bytes.json");
    std::fs::write(&file, b"{\"model\": \"\xFF\"}").expect("written");
    assert!(read(&file).expect_err("no UTF-8").to_string().contains("cannot be read"));
}
