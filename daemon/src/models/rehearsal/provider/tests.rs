//! Scripts played: order, ids, troubles, expectations.

use std::sync::Arc;
use std::time::Duration;

use agentd_core::model::{ApiMessage, FoldEnd, Folded, Folder};
use agentd_types::content::{ResultPart, Role};
use agentd_types::{Block, Json, ToolUseId};

use super::*;

fn provider(text: &str) -> RehearsalProvider {
    RehearsalProvider::new(Script::parse("test.toml", text).expect("a good script"))
}

fn request(replies: u32, messages: Vec<ApiMessage>) -> ModelRequest {
    ModelRequest { model: "rehearsal".into(), system: Arc::new([]), tools: Arc::new([]), messages, max_tokens: 8000, replies }
}

fn said(role: Role, blocks: Vec<Block>) -> ApiMessage {
    ApiMessage { role, content: blocks.into_iter().map(Arc::new).collect() }
}

/// A prompt, a call of Read and its result.
fn after_read(text: &str, is_error: bool) -> Vec<ApiMessage> {
    let id = ToolUseId::new("toolu_r1_1");
    let result = Block::ToolResult { tool_use_id: id.clone(), content: vec![ResultPart::Text { text: text.into() }], is_error };
    vec![
        said(Role::User, vec![Block::text("hi")]),
        said(Role::Assistant, vec![Block::ToolUse { id, name: "Read".into(), input: Json::empty_object() }]),
        said(Role::User, vec![result]),
    ]
}

async fn ask(provider: &RehearsalProvider, replies: u32, messages: Vec<ApiMessage>) -> Result<Folded, ModelError> {
    let request = request(replies, messages);
    let mut stream = provider.send(&request).await?;
    let mut folder = Folder::new(Arc::default());
    while let Some(event) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
        folder.feed(event?)?;
    }
    Ok(folder.finish())
}

const DEMO: &str = r#"
[[step]]
thinking = "hm hm"
text = "Let me  look.\nNow."
[[step.tool]]
name = "Read"
input = { file_path = "ä.rs", limit = 3 }
[[step.tool]]
name = "Bash"
input = { command = "true" }
[[step]]
expect = { tool = "Read", is_error = false, contains = "fn add" }
text = "Found it."
"#;

#[tokio::test]
async fn a_step_is_a_whole_answer() {
    let folded = ask(&provider(DEMO), 0, vec![]).await.expect("an answer");
    assert_eq!(folded.end, FoldEnd::Whole);
    assert_eq!(folded.stop_reason.as_deref(), Some("tool_use"));
    assert_eq!(folded.blocks[0], Block::Thinking { thinking: "hm hm".into(), signature: "rehearsal".into() });
    assert_eq!(folded.blocks[1], Block::text("Let me  look.\nNow."));
    let calls: Vec<(&str, &str, &str)> = folded.calls().map(|(id, name, input)| (id.as_str(), name, input.as_str())).collect();
    assert_eq!(calls, [("toolu_r1_1", "Read", r#"{"file_path":"ä.rs","limit":3}"#), ("toolu_r1_2", "Bash", r#"{"command":"true"}"#)]);
    assert_eq!(folded.repairs, []);
}

#[tokio::test]
async fn past_the_end_the_last_text_comes_without_tools() {
    let folded = ask(&provider(DEMO), 7, vec![]).await.expect("an answer");
    assert_eq!(folded.blocks, [Block::text("Found it.")]);
    let silent = provider("[[step]]\n[[step.tool]]\nname = \"X\"\n");
    assert_eq!(ask(&silent, 1, vec![]).await.expect("an answer").blocks, [Block::text("End of script.")]);
}

#[tokio::test]
async fn expectations_hold_or_say_what_differed() {
    let provider = provider(DEMO);
    assert!(ask(&provider, 1, after_read("pub fn add()", false)).await.is_ok());
    let error = ask(&provider, 1, after_read("no such file", true)).await.expect_err("a miss");
    assert_eq!(error.class, ErrorClass::ExpectFailed);
    insta::assert_snapshot!(error.message, @r#"
    step 2 of the script expected a result of Read with is_error = false that contains "fn add"; there was:
      Read (is_error = true): "no such file"
    "#);
    let error = ask(&provider, 1, vec![said(Role::User, vec![Block::text("hi")])]).await.expect_err("a miss");
    assert!(error.message.ends_with("there was no tool result"), "{}", error.message);
}

#[tokio::test]
async fn troubles_come_in_their_order_and_then_the_answer() {
    let provider = provider(
        "[[step]]\ntext = \"one two three\"\nerror = { status = 529, times = 2 }\nprompt_too_long = true\ncut = true\nstop = \"max_tokens\"\n",
    );
    let mut classes = Vec::new();
    for _ in 0..4 {
        classes.push(ask(&provider, 0, vec![]).await.expect_err("trouble").class);
    }
    assert_eq!(classes, [ErrorClass::Overloaded, ErrorClass::Overloaded, ErrorClass::PromptTooLong, ErrorClass::StreamCut]);
    let folded = ask(&provider, 0, vec![]).await.expect("an answer");
    assert!(folded.is_at_limit());
}

#[tokio::test(start_paused = true)]
async fn delays_and_stalls_take_their_time() {
    let start = tokio::time::Instant::now();
    let provider = provider("delay_ms = 10\n[[step]]\nstall_ms = 500\ntext = \"a b c\"\nusage = { input = 1000, output = 10 }\n");
    let folded = ask(&provider, 0, vec![]).await.expect("an answer");
    assert_eq!(start.elapsed(), Duration::from_millis(530));
    assert_eq!((folded.usage.input, folded.usage.output), (1000, 10));
}
