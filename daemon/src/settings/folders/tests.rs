use super::*;

fn folder(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_rule_holds_for_its_folder_alone_and_is_there_again() {
    let dir = tempfile::tempdir().unwrap();
    let settings = dir.path().join("conf/settings.json");
    let folders = Folders::open(&settings).unwrap();
    folders.allow(folder("/a"), rule("Bash(touch \"x\" && (ls))")).await.unwrap();
    folders.allow(folder("/a"), rule("Edit(/b)")).await.unwrap();
    folders.allow(folder("/a"), rule("Edit(/b)")).await.unwrap();
    let expected = [rule("Bash(touch \"x\" && (ls))"), rule("Edit(/b)")];
    assert_eq!(folders.allowed(&folder("/a")), expected);
    assert!(folders.allowed(&folder("/a/b")).is_empty() && folders.allowed(&folder("/")).is_empty());
    assert_eq!(Folders::open(&settings).unwrap().allowed(&folder("/a")), expected);
}

#[tokio::test]
async fn what_somebody_wrote_by_hand_stays_and_a_broken_file_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let settings = dir.path().join("settings.json");
    let folders = Folders::open(&settings).unwrap();
    let path = dir.path().join("folders.json");
    std::fs::write(&path, r#"{"/b": {"model": "m", "permissions": {"deny": ["Read"]}}}"#).unwrap();
    folders.allow(folder("/b"), rule("Read")).await.unwrap();
    let all: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(all["/b"], json!({"model": "m", "permissions": {"allow": ["Read"], "deny": ["Read"]}}));

    std::fs::write(&path, "{ \"/b\": [").unwrap();
    let error = folders.allow(folder("/b"), rule("Write")).await.unwrap_err();
    assert!(error.contains("folders.json") && error.contains("line 1"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ \"/b\": [");
    assert!(Folders::open(&settings).is_err());
}
