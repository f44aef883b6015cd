use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use agentd_core::permission::{Policy, Scope};
use agentd_types::content::ResultPart;
use agentd_types::permission::PermissionMode;
use agentd_types::rule::Rule;
use agentd_types::{AbsPath, Json, SessionId, ToolUseId};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::files::ReadCache;
use crate::tools::host::NoTasks;
use crate::tools::registry::{ToolRegistry, built_in_files};
use crate::tools::tool::{CallContext, ToolContext, ToolFailure};

/// A folder to search.
struct Trial {
    _keep: tempfile::TempDir,
    tools: ToolRegistry,
    context: ToolContext,
    cancel: CancellationToken,
    deny: Vec<Rule>,
}

fn policy(context: &ToolContext, deny: &[Rule]) -> Policy {
    let scope = Scope { cwd: context.cwd.clone(), allowed: context.allowed.to_vec(), home: None, protected: Vec::new() };
    Policy { mode: PermissionMode::Default, allow: Vec::new(), deny: deny.to_vec(), ask: Vec::new(), scope }
}

impl Trial {
    fn new(files: &[(&str, &[u8])]) -> Trial {
        let keep = tempfile::tempdir().unwrap();
        let cwd = AbsPath::new(keep.path().canonicalize().unwrap()).unwrap();
        let context = ToolContext {
            session: SessionId::from_u128(1),
            allowed: [cwd.clone()].into(),
            environment: [].into(),
            outputs: cwd.join("out"),
            cwd,
            read_cache: ReadCache::default(),
        };
        let trial =
            Trial { _keep: keep, tools: ToolRegistry::new(built_in_files()), context, cancel: CancellationToken::new(), deny: Vec::new() };
        for (name, content) in files {
            let path = trial.context.cwd.join(name);
            fs::create_dir_all(path.as_path().parent().unwrap()).unwrap();
            fs::write(path.as_path(), content).unwrap();
        }
        trial
    }

    /// The text of a call's result, or of its failure.
    async fn call(&self, tool: &str, input: Value) -> Result<String, String> {
        let input = Json::parse(input.to_string()).unwrap();
        let tool = self.tools.find(tool).unwrap();
        let told = |failure| match failure {
            ToolFailure::TellModel(text) => text,
            other => panic!("{other:?}"),
        };
        let subject = tool.check(&input, &self.context).await.map_err(told)?;
        let id = ToolUseId::new("t");
        let policy = policy(&self.context, &self.deny);
        let tasks = NoTasks::default();
        let context = CallContext {
            id: &id,
            context: &self.context,
            subject: &subject,
            policy: &policy,
            progress: &|_| {},
            cancel: self.cancel.clone(),
            tasks: &tasks,
        };
        let output = tool.call(&input, context).await.map_err(told)?;
        Ok(output
            .content
            .iter()
            .map(|part| match part {
                ResultPart::Text { text } => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect())
    }

    async fn lines(&self, tool: &str, input: Value) -> Vec<String> {
        self.call(tool, input).await.unwrap().lines().map(ToOwned::to_owned).collect()
    }
}

const TREE: &[(&str, &[u8])] = &[
    ("src/a.rs", b"fn one() {}\nfn two() {}\n\nstruct Three;\n"),
    ("src/deep/b.rs", b"fn One() {}\r\n"),
    ("notes.txt", b"one\ntwo"),
    (".hidden/c.txt", b"one\n"),
    (".gitignore", b"ignored/\n*.log\n"),
    ("ignored/d.txt", b"one\n"),
    ("x.log", b"one\n"),
    (".git/config", b"one\n"),
    ("bin.dat", b"one\0two\n"),
    ("latin.txt", b"caf\xe9 one\n"),
];

#[tokio::test]
async fn grep_names_counts_and_shows() {
    let trial = Trial::new(TREE);
    assert_eq!(trial.lines("Grep", json!({"pattern": "one"})).await, [".hidden/c.txt", "latin.txt", "notes.txt", "src/a.rs"]);
    let any_case = trial.lines("Grep", json!({"pattern": "ONE", "-i": true, "glob": "*.rs", "output_mode": "content"})).await;
    assert_eq!(any_case, ["src/a.rs:1:fn one() {}", "src/deep/b.rs:1:fn One() {}"]);
    assert_eq!(
        trial.lines("Grep", json!({"pattern": "fn", "type": "rust", "output_mode": "count"})).await,
        ["src/a.rs:2", "src/deep/b.rs:1"]
    );
    let around = trial.lines("Grep", json!({"pattern": "two|Three", "path": "src/a.rs", "output_mode": "content", "-B": 1})).await;
    assert_eq!(around, ["src/a.rs-1-fn one() {}", "src/a.rs:2:fn two() {}", "src/a.rs-3-", "src/a.rs:4:struct Three;"]);
    let gap = trial.lines("Grep", json!({"pattern": "one|Three", "path": "src", "output_mode": "content", "-n": false})).await;
    assert_eq!(gap, ["src/a.rs:fn one() {}", "src/a.rs:struct Three;"]);
    let parts = trial.lines("Grep", json!({"pattern": "[a-z]+\\(", "glob": "a.rs", "output_mode": "content", "-o": true})).await;
    assert_eq!(parts, ["src/a.rs:1:one(", "src/a.rs:2:two("]);
    let over = trial.lines("Grep", json!({"pattern": "one.*two", "multiline": true})).await;
    assert_eq!(over, ["notes.txt", "src/a.rs"]);
    assert_eq!(trial.call("Grep", json!({"pattern": "nowhere"})).await.unwrap().lines().next(), Some("No matches."));
}

#[tokio::test]
async fn glob_names_the_newest_first() {
    let trial = Trial::new(TREE);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
    fs::File::open(trial.context.cwd.join("src/a.rs").as_path()).unwrap().set_modified(old).unwrap();
    assert_eq!(trial.lines("Glob", json!({"pattern": "*.rs"})).await, ["src/deep/b.rs", "src/a.rs"]);
    assert_eq!(trial.lines("Glob", json!({"pattern": "*.rs", "path": "src/deep"})).await, ["src/deep/b.rs"]);
    assert_eq!(trial.lines("Glob", json!({"pattern": "src/*.rs"})).await, ["src/a.rs"]);
    assert_eq!(trial.lines("Glob", json!({"pattern": "**/*.log"})).await, ["No file matches `**/*.log`."]);
    let whole = trial.context.cwd.join("src/*.rs").to_string();
    assert_eq!(trial.lines("Glob", json!({"pattern": whole})).await, ["src/a.rs"]);
    assert_eq!(trial.lines("Glob", json!({"pattern": "../dee*/b.rs", "path": "src/deep"})).await, ["src/deep/b.rs"]);
    assert_eq!(trial.lines("Glob", json!({"pattern": "./notes.txt"})).await, ["notes.txt"]);
    assert_eq!(trial.lines("Glob", json!({"pattern": ".git*"})).await, [".gitignore"]);
    let first = trial.lines("Glob", json!({"pattern": "*.rs", "head_limit": 1})).await;
    assert_eq!(first, ["src/deep/b.rs", "[1 to 1 of 2; go on with offset 1]"]);
}

#[tokio::test]
async fn what_a_rule_forbids_to_read_is_not_searched() {
    let mut trial = Trial::new(&[("a/.env", b"one"), ("a/b.txt", b"one"), ("secret/c.txt", b"one")]);
    trial.deny = ["Read(.env)", "Read(/secret/**)", "Bash"].map(|rule| rule.parse().unwrap()).to_vec();
    let note = "[files left out because a rule forbids reading them: 2]";
    assert_eq!(trial.lines("Grep", json!({"pattern": "one"})).await, ["a/b.txt", note]);
    assert_eq!(trial.lines("Glob", json!({"pattern": "*"})).await, ["a/b.txt", note]);
    // By another name, too.
    symlink("secret", trial.context.cwd.join("link").as_path()).unwrap();
    let through = trial.lines("Grep", json!({"pattern": "one", "path": "link"})).await;
    assert_eq!(through, ["No matches.", "[files left out because a rule forbids reading them: 1]"]);
}

#[tokio::test]
async fn what_cannot_be_asked_is_told() {
    let trial = Trial::new(TREE);
    let told = async |tool: &str, input: Value| trial.call(tool, input).await.unwrap_err();
    assert!(told("Grep", json!({"pattern": "("})).await.contains("is no regular expression"));
    assert!(told("Grep", json!({"pattern": "a\\nb"})).await.contains("multiline"));
    assert!(told("Grep", json!({"pattern": "a", "type": "rusty"})).await.contains("no file type `rusty`"));
    assert!(told("Grep", json!({"pattern": "a", "path": "nowhere"})).await.contains("nowhere cannot be searched"));
    assert!(told("Grep", json!({"pattern": "a", "colour": true})).await.contains("colour"));
    assert!(told("Glob", json!({"pattern": "["})).await.contains("is no pattern"));
    assert!(told("Glob", json!({"pattern": "*", "path": "notes.txt"})).await.contains("not a folder"));
}

#[tokio::test]
async fn nothing_in_a_folder_holds_a_search_up() {
    let trial = Trial::new(&[("a/one.txt", b"one\n")]);
    let at = |name: &str| trial.context.cwd.join(name);
    symlink(at("a").as_path(), at("a/loop").as_path()).unwrap();
    symlink("/dev/zero", at("a/zero").as_path()).unwrap();
    let fifo = at("a/fifo");
    rustix::fs::mknodat(rustix::fs::CWD, fifo.as_path(), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(at("a/socket").as_path()).unwrap();
    fs::File::create(at("a/sparse").as_path()).unwrap().set_len(1 << 40).unwrap();
    fs::write(at("a/long.txt").as_path(), format!("{}one{}\n", "x".repeat(3 << 20), "y".repeat(3 << 20))).unwrap();
    let found = trial.lines("Grep", json!({"pattern": "one", "output_mode": "content"})).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("a/long.txt:1:xxx") && found[0].ends_with("[line cut at 500 characters]"));
    assert!(trial.lines("Grep", json!({"pattern": "one", "path": "a/fifo"})).await[1].contains("it is no regular file"));
    drop(socket);
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let trial = Trial::new(TREE);
    trial.cancel.cancel();
    assert_eq!(trial.call("Grep", json!({"pattern": "one"})).await.unwrap_err(), "the search was cancelled");
}

#[tokio::test(start_paused = true)]
async fn sleep_ends_by_itself_or_is_woken() {
    let trial = Trial::new(&[]);
    assert_eq!(trial.call("Sleep", json!({"seconds": 30})).await.unwrap(), "Slept 30 s.");
    trial.cancel.cancel();
    assert_eq!(trial.call("Sleep", json!({"seconds": 30})).await.unwrap_err(), "woken after 0 of 30 s");
    assert!(trial.call("Sleep", json!({"seconds": 0})).await.unwrap_err().contains("from 1 to 86400"));
}

#[tokio::test]
async fn a_list_is_checked_and_counted() {
    let trial = Trial::new(&[]);
    let item = |status: &str| json!({"content": "test it", "status": status, "activeForm": "testing it"});
    let kept = trial.call("TodoWrite", json!({"todos": [item("pending"), item("in_progress"), item("completed")]})).await.unwrap();
    assert_eq!(kept, "The list is kept: 1 pending, 1 in progress, 1 completed.");
    let told = trial.call("TodoWrite", json!({"todos": [{"content": " ", "status": "pending", "activeForm": "x"}]})).await;
    assert_eq!(told.unwrap_err(), "item 1: content is empty");
    assert!(trial.call("TodoWrite", json!({"todos": [item("done")]})).await.unwrap_err().contains("done"));
}

/// Small trees: folders of a few names, files of a few words.
fn any_tree() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![Just("a"), Just("b.rs"), Just("c d"), Just("é")];
    let path = proptest::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    let text =
        proptest::collection::vec(prop_oneof![Just("one"), Just("two"), Just("o n e"), Just("")], 0..6).prop_map(|lines| lines.join("\n"));
    proptest::collection::vec((path, text), 0..8)
}

/// The files that could be made: a name cannot be a file and a folder.
fn made(tree: &[(String, String)]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (path, text) in tree {
        let clashes = |other: &str| other == path || other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/"));
        if !files.iter().any(|(other, _)| clashes(other)) {
            files.push((path.clone(), text.clone()));
        }
    }
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn grep_and_glob_find_what_a_naive_look_finds(tree in any_tree(), page in 1_usize..4) {
        let files = made(&tree);
        let given: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        let trial = Trial::new(&given);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut expected: Vec<String> = files
            .iter()
            .flat_map(|(path, text)| {
                text.lines().enumerate().filter(|(_, line)| line.contains("one")).map(move |(at, line)| format!("{path}:{}:{line}", at + 1))
            })
            .collect();
        expected.sort();
        let mut found = Vec::new();
        // Page by page: everything once.
        loop {
            let input = json!({"pattern": "one", "output_mode": "content", "head_limit": page, "offset": found.len()});
            let lines = runtime.block_on(trial.lines("Grep", input));
            let rows: Vec<String> = lines.iter().filter(|line| line.contains(':')).cloned().collect();
            found.extend(rows);
            if !lines.last().is_some_and(|line| line.contains("go on with offset")) {
                break;
            }
        }
        found.sort();
        prop_assert_eq!(&found, &expected);
        let named: BTreeSet<String> = runtime.block_on(trial.lines("Glob", json!({"pattern": "b.rs"}))).into_iter().collect();
        let rust: BTreeSet<String> = files.iter().map(|(path, _)| path.clone()).filter(|path| path == "b.rs" || path.ends_with("/b.rs")).collect();
        if rust.is_empty() {
            prop_assert!(named.iter().all(|line| line.starts_with("No file")));
        } else {
            prop_assert_eq!(named, rust);
        }
    }
}
