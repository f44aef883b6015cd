use std::fs;

use agentd_core::permission::Subject;
use agentd_types::content::ResultPart;
use agentd_types::{AbsPath, Json, ToolUseId};
use tokio_util::sync::CancellationToken;

use super::{ToolRegistry, built_in_files};
use crate::files::ReadCache;
use crate::tools::tool::{CallContext, ContextChange, ToolContext, ToolFailure};

/// A folder, and a conversation that works in it.
struct Trial {
    _keep: tempfile::TempDir,
    tools: ToolRegistry,
    context: ToolContext,
}

impl Trial {
    fn new() -> Trial {
        let keep = tempfile::tempdir().unwrap();
        let cwd = AbsPath::new(keep.path().canonicalize().unwrap()).unwrap();
        let context = ToolContext {
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
        tool.check(&input, &self.context).await.map_err(tell)?;
        let id = ToolUseId::new("t1");
        let call = CallContext { id: &id, context: &self.context, progress: &|_| {}, cancel: CancellationToken::new() };
        let output = tool.call(&input, call).await.map_err(tell)?;
        for change in output.changes {
            match change {
                ContextChange::Seen(seen) => self.context.read_cache.put(seen),
                ContextChange::Cwd(_) => panic!("no file tool changes the folder"),
            }
        }
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
    assert!(long.len() < 257 * 1024 && long.contains("go on with offset"));
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
    trial.put("latin", [b'a', 0xe9]);
    assert!(trial.run("Read", r#"{"file_path":"latin"}"#).await.unwrap().contains("not UTF-8"));
    let refused = trial.run("Edit", r#"{"file_path":"latin","old_string":"a","new_string":"b"}"#).await.unwrap_err();
    assert!(refused.contains("not UTF-8"));
    assert_eq!(trial.get("latin"), [b'a', 0xe9]);
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

#[test]
fn tools_are_sorted_and_their_schemas_plain() {
    let tools = ToolRegistry::new(built_in_files());
    assert_eq!(tools.names(), ["Edit", "Glob", "Grep", "Read", "Sleep", "TodoWrite", "Write"]);
    for spec in tools.specs().iter() {
        assert!(spec.input_schema.is_object() && !spec.input_schema.as_str().contains("$schema"));
    }
}
