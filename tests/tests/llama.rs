//! A real server that we did not write: llama.cpp's, speaking its dialect of the Messages API. Only where it is at hand: set
//! AGENT_TEST_LLAMA_SERVER (the `llama-server` binary), AGENT_TEST_LLAMA_MODEL (a .gguf file) and, for a template that knows
//! tools, AGENT_TEST_LLAMA_TEMPLATE (a .jinja file). Run it alone: its threads want the cores.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use agentd_tests::program::{World, eventually};
use serde_json::Value;

/// A running server; it ends with this.
struct Llama {
    child: Child,
    base_url: String,
}

impl Llama {
    /// None, and a word on stderr, where it is not set up.
    fn start() -> Option<Llama> {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (Some(server), Some(model)) = (var("AGENT_TEST_LLAMA_SERVER"), var("AGENT_TEST_LLAMA_MODEL")) else {
            let words = "SKIPPED: no llama.cpp server: set AGENT_TEST_LLAMA_SERVER and AGENT_TEST_LLAMA_MODEL\n";
            std::io::stderr().write_all(words.as_bytes()).unwrap();
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let mut command = Command::new(server);
        // 48 tokens an answer: a small model rambles.
        command.args(["-m", &model, "--host", "127.0.0.1", "--port", &port, "-c", "16384", "-n", "48", "-np", "1", "-t", "2", "--jinja"]);
        command.args(["--temp", "0"]).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(template) = var("AGENT_TEST_LLAMA_TEMPLATE") {
            command.args(["--chat-template-file", &template]);
        }
        let llama = Llama { child: command.spawn().unwrap(), base_url: format!("http://127.0.0.1:{port}") };
        let healthy = || {
            let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).ok()?;
            stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).ok()?;
            text.starts_with("HTTP/1.1 200").then_some(())
        };
        eventually("llama-server is healthy", healthy);
        Some(llama)
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn result(lines: &[Value]) -> &Value {
    lines.last().unwrap()
}

#[test]
fn llama_cpps_server_is_survived() {
    let Some(llama) = Llama::start() else { return };
    let world = World::new(Some(&llama.base_url));
    let run = ["run", "Say hello.", "--name", "l", "--model", "local", "--max-turns", "2", "--permission-mode", "dontAsk"];
    let done = world.agent(&[&run[..], &["--output-format", "stream-json"]].concat());
    let lines = done.json_lines();
    let result = result(&lines);
    // It may ramble to its limit or call a tool for ever; it must not fail in a way of our making.
    let reason = result["terminal_reason"].as_str().unwrap();
    let error = result["errors"][0].as_str().unwrap_or_default();
    let is_fine = matches!(reason, "completed" | "max_turns") || (reason == "model_error" && error.contains("output limit"));
    assert!(is_fine, "{result}");
    assert!(result["usage"]["input_tokens"].as_u64().unwrap() > 0 && result["usage"]["output_tokens"].as_u64().unwrap() > 0, "{result}");
    assert!(!lines.iter().any(|line| line["subtype"] == "api_retry"), "{lines:?}");
    assert_eq!(result["modelUsage"]["local"]["costBasis"], "unknown");
    // Again: the history it made is one it takes.
    let again = world.agent(&["run", "And again.", "--session", "l", "--max-turns", "1", "--output-format", "json"]);
    assert!(!again.stdout.contains("invalid_request_error"), "{again:?}");
}
