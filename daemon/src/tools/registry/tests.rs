use std::fs;

use agentd_core::permission::{Policy, Scope, Subject, Verdict, decide};
use agentd_types::content::ResultPart;
use agentd_types::permission::PermissionMode;
use agentd_types::{AbsPath, Json, SessionId, ToolUseId};
use tokio_util::sync::CancellationToken;

use super::{ToolRegistry, built_in_files};
use crate::files::ReadCache;
use crate::tools::host::NoTasks;
use crate::tools::tool::{CallContext, ContextChange, ToolContext, ToolFailure, ToolOutput};

/// A folder, and a conversation that works in it.
struct Trial {
    _keep: tempfile::TempDir,
    tools: ToolRegistry,
    context: ToolContext,
}

fn policy(context: &ToolContext) -> Policy {
    let scope = Scope { cwd: context.cwd.clone(), allowed: context.allowed.to_vec(), home: None, protected: Vec::new() };
    Policy { mode: PermissionMode::Default, allow: Vec::new(), deny: Vec::new(), ask: Vec::new(), scope }
}

impl Trial {
    fn new() -> Trial {
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
        Trial { _keep: keep, tools: ToolRegistry::new(built_in_files()), context }
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.context.cwd.join(name), bytes).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.context.cwd.join(name)).unwrap()
    }

    /// Checks, calls, applies: the text, or what the model is told.
    async fn run(&mut self, tool: &str, input: &str) -> Result<String, String> {
        let tell = |failure: ToolFailure| match failure {
            ToolFailure::TellModel(text) | ToolFailure::Failed { text, .. } => text,
            ToolFailure::EndSubmission(failure) => panic!("{failure:?}"),
        };
        let (tool, input) = (self.tools.find(tool).unwrap(), Json::parse(input).unwrap());
        let subject = tool.check(&input, &self.context).await.map_err(tell)?;
        let id = ToolUseId::new("t1");
        let policy = policy(&self.context);
        let tasks = NoTasks::default();
        let call = CallContext {
            id: &id,
            context: &self.context,
            subject: &subject,
            policy: &policy,
            progress: &|_| {},
            cancel: CancellationToken::new(),
            tasks: &tasks,
        };
        let called = tool.call(&input, call).await;
        let changes = match &called {
            Ok(ToolOutput { changes, .. }) | Err(ToolFailure::Failed { changes, .. }) => changes.clone(),
            Err(_) => Vec::new(),
        };
        for change in changes {
            match change {
                ContextChange::Seen(seen) => self.context.read_cache.put(seen),
                ContextChange::Cwd(_) => panic!("no file tool changes the folder"),
            }
        }
        let output = called.map_err(tell)?;
        match output.content.as_slice() {
            [ResultPart::Text { text }] => Ok(text.clone()),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn read_numbers_lines_and_answers_a_second_time_with_a_stub() {
    let mut trial = Trial::new();
    trial.put("a", "\u{feff}one\r\ntwo\nthree");
    assert_eq!(trial.run("Read", r#"{"file_path":"a"}"#).await.unwrap(), "     1\tone\n     2\ttwo\n     3\tthree\n");
    assert!(trial.run("Read", r#"{"file_path":"a"}"#).await.unwrap().contains("unchanged"));
    let part = trial.run("Read", r#"{"file_path":"a","offset":2,"limit":1}"#).await.unwrap();
    assert_eq!(part, "     2\ttwo\n[lines 2 to 2 of 3; go on with offset 3]\n");
    trial.put("a", "other");
    assert_eq!(trial.run("Read", r#"{"file_path":"a"}"#).await.unwrap(), "     1\tother\n");
}

#[tokio::test]
async fn read_names_what_it_cannot_show_and_what_it_cut() {
    let mut trial = Trial::new();
    trial.put("empty", "");
    trial.put("binary", [1, 0, 2]);
    trial.put("wide", "x".repeat(3_000));
    trial.put("long", format!("{}\n", "y".repeat(1_000)).repeat(2_000));
    assert!(trial.run("Read", r#"{"file_path":"empty"}"#).await.unwrap().ends_with("is empty."));
    assert!(trial.run("Read", r#"{"file_path":"binary"}"#).await.unwrap_err().contains("is binary"));
    assert!(trial.run("Read", r#"{"file_path":"wide"}"#).await.unwrap().contains("cut at 2000"));
    let long = trial.run("Read", r#"{"file_path":"long"}"#).await.unwrap();
    assert!(long.len() < 101_000 && long.contains("go on with offset"));
    let error = trial.run("Read", r#"{"file_path":3}"#).await.unwrap_err();
    assert!(error.contains("`file_path`: invalid type"), "{error}");
    assert!(trial.run("Read", r#"{"path":"a"}"#).await.unwrap_err().contains("unknown field `path`"));
}

#[tokio::test]
async fn nothing_is_written_over_unseen() {
    let mut trial = Trial::new();
    let write = r#"{"file_path":"d/a","content":"new\n"}"#;
    assert!(trial.run("Write", write).await.unwrap().contains("1 lines"));
    trial.put("d/a", "someone else");
    assert!(trial.run("Write", write).await.unwrap_err().contains("changed since"));
    trial.put("b", "b");
    assert!(trial.run("Write", r#"{"file_path":"b","content":"x"}"#).await.unwrap_err().contains("was not read yet"));
    let edit = r#"{"file_path":"b","old_string":"b","new_string":"c"}"#;
    assert!(trial.run("Edit", edit).await.unwrap_err().contains("was not read yet"));
    assert_eq!(trial.get("b"), b"b");
    trial.run("Read", r#"{"file_path":"b"}"#).await.unwrap();
    trial.run("Write", r#"{"file_path":"b","content":"x"}"#).await.unwrap();
    assert_eq!(trial.get("b"), b"x");
}

#[tokio::test]
async fn edit_keeps_every_other_byte_and_its_result_is_not_taken_for_a_read() {
    let mut trial = Trial::new();
    trial.put("a", "\u{feff}one\r\ntwo\r\n");
    trial.run("Read", r#"{"file_path":"a"}"#).await.unwrap();
    let shown = trial.run("Edit", r#"{"file_path":"a","old_string":"one\ntwo","new_string":"1\n2"}"#).await.unwrap();
    assert!(shown.contains("     2\t2\n"), "{shown}");
    assert_eq!(trial.get("a"), "\u{feff}1\r\n2\r\n".as_bytes());
    assert!(trial.run("Read", r#"{"file_path":"a"}"#).await.unwrap().contains("     1\t1\n"));
    trial.put("odd", [b'a', 1, 0xe9]);
    assert!(trial.run("Read", r#"{"file_path":"odd"}"#).await.unwrap().contains("encoding that cannot be told"));
    let refused = trial.run("Edit", r#"{"file_path":"odd","old_string":"a","new_string":"b"}"#).await.unwrap_err();
    assert!(refused.contains("it was left alone"));
    assert_eq!(trial.get("odd"), [b'a', 1, 0xe9]);
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

#[tokio::test]
async fn write_and_edit_keep_encoding_mark_and_line_ends() {
    let mut trial = Trial::new();
    let latin = b"caf\xe9 cr\xe8me, d\xe9j\xe0 vu\r\n".to_vec();
    for (name, before, edited, written) in [
        ("utf16", utf16("\u{feff}one\r\n"), utf16("\u{feff}1\r\n2\r\n"), utf16("\u{feff}é\r\n")),
        ("mark", b"\xef\xbb\xbfone".to_vec(), b"\xef\xbb\xbf1\n2".to_vec(), b"\xef\xbb\xbf\xc3\xa9\n".to_vec()),
        ("latin", [b"one ", latin.as_slice()].concat(), [b"1\r\n2 ", latin.as_slice()].concat(), b"\xe9\r\n".to_vec()),
        ("mixed", b"a\r\none\nb\r\n".to_vec(), b"a\r\n1\r\n2\nb\r\n".to_vec(), b"\xc3\xa9\n".to_vec()),
    ] {
        trial.put(name, before);
        trial.run("Read", &format!(r#"{{"file_path":"{name}"}}"#)).await.unwrap();
        trial.run("Edit", &format!(r#"{{"file_path":"{name}","old_string":"one","new_string":"1\n2"}}"#)).await.unwrap();
        assert_eq!(trial.get(name), edited, "{name}");
        let said = trial.run("Write", &format!(r#"{{"file_path":"{name}","content":"\ufeffé\n"}}"#)).await;
        if name != "mixed" {
            assert_eq!(trial.get(name), written, "{name}: {said:?}");
        }
    }
    let refused = trial.run("Write", r#"{"file_path":"latin","content":"→"}"#).await.unwrap_err();
    assert!(refused.contains("latin was left alone: the file is windows-1252, which has no `→`"), "{refused}");
    assert_eq!(trial.get("latin"), b"\xe9\r\n");
}

#[tokio::test]
async fn what_is_binary_may_be_replaced_once_that_is_known() {
    let mut trial = Trial::new();
    trial.put("b", [1, 0, 2]);
    let write = r#"{"file_path":"b","content":"text"}"#;
    assert!(trial.run("Write", write).await.unwrap_err().contains("was not read yet"));
    assert!(trial.run("Read", r#"{"file_path":"b"}"#).await.unwrap_err().contains("is binary (3 bytes)"));
    trial.run("Write", write).await.unwrap();
    assert_eq!(trial.get("b"), b"text");
}

#[tokio::test]
async fn a_notebooks_cells_are_edited_by_id() {
    let mut trial = Trial::new();
    let notebook =
        "{\"cells\": [{\"cell_type\": \"markdown\", \"id\": \"a\", \"source\": []}], \"nbformat\": 4, \"nbformat_minor\": 5}\r\n";
    trial.put("n.ipynb", notebook);
    let replace = r#"{"notebook_path":"n.ipynb","cell_id":"a","new_source":"x"}"#;
    assert!(trial.run("NotebookEdit", replace).await.unwrap_err().contains("was not read yet"));
    assert!(trial.run("Read", r#"{"file_path":"n.ipynb"}"#).await.unwrap().contains("<cell id=\"a\" type=\"markdown\">"));
    trial.run("NotebookEdit", replace).await.unwrap();
    assert_eq!(trial.get("n.ipynb"), notebook.replace("[]", "[\"x\"]").into_bytes());
    let insert = r#"{"notebook_path":"n.ipynb","new_source":"y","cell_type":"code","edit_mode":"insert"}"#;
    assert!(trial.run("NotebookEdit", insert).await.unwrap().contains("is inserted"));
    let told = trial.run("NotebookEdit", r#"{"notebook_path":"n.ipynb","cell_id":"z","edit_mode":"delete"}"#).await.unwrap_err();
    assert!(told.contains("there is no cell `z`; there are "), "{told}");
    for (bad, part) in [
        (r#"{"notebook_path":"n.ipynb","new_source":"y"}"#, "cell_id is missing"),
        (r#"{"notebook_path":"n.ipynb","cell_id":"a"}"#, "new_source is missing"),
        (r#"{"notebook_path":"n.ipynb","new_source":"y","edit_mode":"insert"}"#, "cell_type is missing"),
    ] {
        assert!(trial.run("NotebookEdit", bad).await.unwrap_err().contains(part), "{bad}");
    }
}

#[tokio::test]
async fn permission_is_asked_about_the_real_path() {
    let trial = Trial::new();
    std::os::unix::fs::symlink("/etc", trial.context.cwd.join("link")).unwrap();
    let input = Json::parse(r#"{"file_path":"link/new","content":""}"#).unwrap();
    let subject = trial.tools.find("Write").unwrap().check(&input, &trial.context).await.unwrap();
    let real = AbsPath::new("/etc").unwrap().join("new");
    assert_eq!(subject, Subject::Edit { path: trial.context.cwd.join("link/new"), real });
}

#[tokio::test]
async fn each_tool_is_of_its_class() {
    let trial = Trial::new();
    for (tool, input, auto) in [
        ("Read", r#"{"file_path":"x"}"#, true),
        ("Glob", r#"{"pattern":"x"}"#, true),
        ("Grep", r#"{"pattern":"x","path":"/etc"}"#, true),
        ("TodoWrite", r#"{"todos":[]}"#, true),
        ("Sleep", r#"{"seconds":1}"#, true),
        ("Write", r#"{"file_path":"x","content":""}"#, false),
        ("Edit", r#"{"file_path":"x","old_string":"a","new_string":"b"}"#, false),
        ("NotebookEdit", r#"{"notebook_path":"x","cell_id":"a","edit_mode":"delete"}"#, false),
    ] {
        let (found, input) = (trial.tools.find(tool).unwrap(), Json::parse(input).unwrap());
        let subject = found.check(&input, &trial.context).await.unwrap();
        let word = |mode| {
            let verdict = decide(&Policy { mode, ..policy(&trial.context) }, tool, found.traits(&input).effects, &subject);
            matches!(verdict, Verdict::Allow { .. })
        };
        assert_eq!(
            (word(PermissionMode::Default), word(PermissionMode::Plan), word(PermissionMode::AutoEdit)),
            (auto, auto, true),
            "{tool}"
        );
    }
}

#[test]
fn tools_are_sorted_and_their_schemas_plain() {
    let tools = ToolRegistry::new(built_in_files());
    assert_eq!(tools.names(), ["Edit", "Glob", "Grep", "NotebookEdit", "Read", "Sleep", "TaskOutput", "TaskStop", "TodoWrite", "Write"]);
    for spec in tools.specs().iter() {
        assert!(spec.input_schema.is_object() && !spec.input_schema.as_str().contains("$schema"));
    }
}
