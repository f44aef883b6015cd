//! The real provider against the stub, over real sockets: every way an answer can come, and break.

use std::sync::Arc;
use std::time::Duration;

use agentd::models::anthropic::{AnthropicProvider, Config, Credential, KeyKind};
use agentd::models::http::{BaseUrl, install_tls_provider};
use agentd::models::provider::Provider;
use agentd_core::context::{Said, normalize};
use agentd_core::model::request::{CacheMark, SystemPart};
use agentd_core::model::{ErrorClass, FoldEnd, Folded, Folder, ModelError, ModelRequest};
use agentd_core::tools::ToolSpec;
use agentd_tests::model::{Gate, Reply, Stub, breaks, calls, calls_all, cut_off, fails, law, says, stalls, thinks, too_long, truncated};
use agentd_types::content::ResultPart;
use agentd_types::{Block, Json};
use serde_json::json;

const MODEL: &str = "claude-opus-5-5";
const KEY: &str = "sk-test-never-shown";

/// A conversation over the real provider.
struct Talk {
    provider: AnthropicProvider,
    history: Vec<Said>,
}

impl Talk {
    fn with(base_url: &str, silence: Duration) -> Talk {
        install_tls_provider();
        let credential = Credential::new(KeyKind::ApiKey, KEY.to_owned(), "ANTHROPIC_API_KEY", "the variable ANTHROPIC_API_KEY");
        let base = BaseUrl::parse(base_url).expect("a URL");
        let provider = AnthropicProvider::new(Config { base, credential: Some(credential), silence }).expect("a client");
        Talk { provider, history: vec![Said::user(vec![Arc::new(Block::text("hi"))])] }
    }

    fn new(stub: &Stub) -> Talk {
        Talk::with(stub.base_url(), Duration::from_secs(60))
    }

    async fn ask(&mut self) -> Result<Folded, ModelError> {
        let tool = |name: &str| ToolSpec {
            name: name.into(),
            description: "d".into(),
            input_schema: Json::parse(r#"{"type":"object"}"#).expect("json"),
        };
        let request = ModelRequest {
            model: MODEL.into(),
            system: Arc::new([SystemPart { text: "be brief".into(), cache: CacheMark::Marked }]),
            tools: Arc::new([tool("Read"), tool("Bash")]),
            messages: normalize(&self.history, MODEL).messages,
            max_tokens: 8000,
            replies: 0,
        };
        let mut stream = self.provider.send(&request).await?;
        let mut folder = Folder::new(Arc::default());
        while let Some(event) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
            folder.feed(event?)?;
        }
        let folded = folder.finish();
        self.history.push(Said::assistant(MODEL.into(), folded.blocks.iter().cloned().map(Arc::new).collect()));
        Ok(folded)
    }

    fn answer_calls(&mut self, folded: &Folded) {
        for (id, name, _) in folded.calls() {
            let content = vec![ResultPart::Text { text: format!("{name} ran") }];
            let result = Block::ToolResult { tool_use_id: id.clone(), content, is_error: false };
            self.history.push(Said::user(vec![Arc::new(result)]));
        }
    }
}

async fn one(reply: Reply) -> Result<Folded, ModelError> {
    let stub = Stub::start([reply]).await;
    let folded = Talk::new(&stub).ask().await;
    stub.finish();
    folded
}

#[tokio::test]
async fn a_text_with_its_counts() {
    let folded = one(says("Hello there, größe → 😀").usage(50, 7)).await.expect("an answer");
    assert_eq!(folded.blocks, [Block::text("Hello there, größe → 😀")]);
    assert_eq!((folded.end, folded.stop_reason.as_deref()), (FoldEnd::Whole, Some("end_turn")));
    assert_eq!((folded.usage.input, folded.usage.output), (50, 7));
    assert_eq!((folded.api_id.as_str(), folded.model.as_str()), ("msg_1", MODEL));
}

#[tokio::test]
async fn a_body_torn_into_single_bytes_is_the_same() {
    let reply = || thinks("hm → 😀", "Hällo wörld").torn(1);
    let folded = one(reply()).await.expect("an answer");
    assert_eq!(folded.blocks, one(thinks("hm → 😀", "Hällo wörld")).await.expect("an answer").blocks);
    assert_eq!(folded.blocks[1], Block::text("Hällo wörld"));
}

#[tokio::test]
async fn rounds_of_tools_keep_thinking_and_prefix() {
    let stub = Stub::start([
        calls_all([("Read", json!({"file_path": "ä b.rs"})), ("Bash", json!({}))]).thinks("first").says("Looking."),
        calls("Bash", json!({"command": "ls \"x\"\n"})).thinks("second"),
        says("Done."),
    ])
    .await;
    let mut talk = Talk::new(&stub);
    let first = talk.ask().await.expect("an answer");
    let inputs: Vec<&str> = first.calls().map(|(_, _, input)| input.as_str()).collect();
    assert_eq!(inputs, [r#"{"file_path":"ä b.rs"}"#, "{}"]);
    talk.answer_calls(&first);
    let second = talk.ask().await.expect("an answer");
    talk.answer_calls(&second);
    talk.ask().await.expect("an answer");
    let requests = stub.requests();
    assert_eq!(law::extends(&requests[0].body, &requests[1].body), Ok(()));
    assert_eq!(law::extends(&requests[1].body, &requests[2].body), Ok(()));
    assert_eq!(requests[0].headers["x-api-key"], KEY);
    stub.finish();
}

#[tokio::test]
async fn a_refused_key_names_its_place() {
    let error = one(fails(401)).await.expect_err("an error");
    assert_eq!((error.class, error.status), (ErrorClass::Authentication, Some(401)));
    for part in ["401", "req_1", "the variable ANTHROPIC_API_KEY"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert!(!error.message.contains(KEY));
}

#[tokio::test]
async fn errors_have_classes_and_waits() {
    let error = one(fails(429).retry_after(7)).await.expect_err("an error");
    assert_eq!((error.class, error.retry_after_ms), (ErrorClass::RateLimit, Some(7000)));
    assert_eq!(one(fails(529)).await.expect_err("an error").class, ErrorClass::Overloaded);
    assert_eq!(one(too_long()).await.expect_err("an error").class, ErrorClass::PromptTooLong);
    assert!(one(truncated("half")).await.expect("an answer").is_at_limit());
}

#[tokio::test]
async fn an_error_in_the_stream_ends_it_while_the_connection_is_open() {
    let error = one(breaks("one two", "overloaded_error")).await.expect_err("an error");
    assert_eq!((error.class, error.status), (ErrorClass::Overloaded, None));
}

#[tokio::test]
async fn a_cut_stream_is_an_error() {
    assert_eq!(one(cut_off("one two")).await.expect_err("an error").class, ErrorClass::StreamCut);
}

#[tokio::test]
async fn silence_has_a_timer() {
    let stub = Stub::start([stalls("one two")]).await;
    let error = Talk::with(stub.base_url(), Duration::from_millis(200)).ask().await.expect_err("an error");
    assert_eq!(error.class, ErrorClass::Silence);
    stub.abandoned(1).await;
    stub.finish();
}

#[tokio::test]
async fn a_dropped_stream_ends_the_request() {
    let gate = Gate::default();
    let stub = Stub::start([says("never seen").behind(&gate)]).await;
    let mut talk = Talk::new(&stub);
    tokio::select! {
        answer = talk.ask() => panic!("the gate is shut: {answer:?}"),
        () = stub.asked(1) => {}
    }
    stub.abandoned(1).await;
    stub.finish();
}

#[tokio::test]
async fn nobody_there_names_the_base_url() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let error = Talk::with(&base, Duration::from_secs(60)).ask().await.expect_err("an error");
    assert_eq!(error.class, ErrorClass::Connect);
    assert!(error.message.contains(&base) && error.message.contains("refused"), "{}", error.message);
}

#[tokio::test]
async fn a_request_that_breaks_a_law_is_refused_and_remembered() {
    let stub = Stub::start([]).await;
    let mut talk = Talk::new(&stub);
    let forged = Block::Thinking { thinking: "never sent".into(), signature: "x".into() };
    talk.history.push(Said::assistant(MODEL.into(), vec![Arc::new(forged), Arc::new(Block::text("x"))]));
    talk.history.push(Said::user(vec![Arc::new(Block::text("go"))]));
    let error = talk.ask().await.expect_err("an error");
    assert_eq!(error.class, ErrorClass::InvalidRequest);
    assert!(stub.broken().iter().any(|law| law.contains("never sent so")), "{:?}", stub.broken());
}
