//! The stand for one row: a world, a scripted server, one prompt, and what came of it.

use agentd_tests::model::{Reply, Stub, says};
use agentd_tests::program::{Done, World};
use serde_json::Value;

/// A world whose model is scripted.
pub struct Stand {
    pub world: World,
    pub stub: Stub,
}

/// A prompt's run, read back.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub lines: Vec<Value>,
    pub stderr: String,
}

impl Stand {
    pub async fn new(replies: impl IntoIterator<Item = Reply>) -> Stand {
        let stub = Stub::start(replies).await;
        Stand { world: World::new(Some(stub.base_url())), stub }
    }

    /// Whose settings are these.
    pub fn settings(self, text: &str) -> Stand {
        std::fs::write(self.world.path("conf/settings.json"), text).unwrap();
        self
    }

    /// Runs a prompt in session `s`, which the first run makes.
    pub fn run(&self, more: &[&str]) -> Ran {
        let mut args = vec!["run", "hello", "--name", "s", "--permission-mode", "bypassPermissions", "--output-format", "stream-json"];
        args.extend(more);
        self.world.agent(&args).into()
    }

    /// Another prompt in the same session is answered; then the laws are asked.
    pub fn goes_on(self) {
        self.stub.then(says("Still here."));
        let next: Ran = self.world.agent(&["run", "and now?", "--session", "s", "--output-format", "stream-json"]).into();
        assert_eq!(next.end(), (Some(0), "completed", "Still here."), "{next:?}");
        self.stub.finish();
    }

    /// The session's durable events.
    pub fn log(&self) -> Vec<Value> {
        self.world.log("s")
    }

    /// Messages of the `number`-th request (from 1) as `role: kind kind`.
    pub fn shape(&self, number: usize) -> Vec<String> {
        let request = &self.stub.requests()[number - 1];
        let messages = request.body["messages"].as_array().unwrap();
        let kinds = |message: &Value| {
            let blocks = message["content"].as_array().unwrap();
            blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        messages.iter().map(|message| format!("{}: {}", message["role"].as_str().unwrap(), kinds(message))).collect()
    }
}

impl From<Done> for Ran {
    fn from(done: Done) -> Ran {
        Ran { code: done.code, lines: done.json_lines(), stderr: done.stderr }
    }
}

impl Ran {
    pub fn result(&self) -> &Value {
        let last = self.lines.last().unwrap_or_else(|| panic!("nothing was printed: {self:?}"));
        assert_eq!(last["type"], "result", "{self:?}");
        last
    }

    /// Exit code, reason, and the answer or the error.
    pub fn end(&self) -> (Option<i32>, &str, &str) {
        let result = self.result();
        let text = result["result"].as_str().or_else(|| result["errors"][0].as_str()).unwrap_or_default();
        assert_eq!(result["is_error"] == true, result["result"].is_null(), "{result}");
        (self.code, result["terminal_reason"].as_str().unwrap(), text)
    }

    /// Each retry as `error status delay attempt/most`.
    pub fn retries(&self) -> Vec<String> {
        let retries = self.lines.iter().filter(|line| line["subtype"] == "api_retry");
        retries
            .map(|it| {
                let status = it["error_status"].as_u64().map_or("-".to_owned(), |status| status.to_string());
                format!("{} {status} {}/{}", it["error"].as_str().unwrap(), it["attempt"], it["max_retries"])
            })
            .collect()
    }

    pub fn delays(&self) -> Vec<u64> {
        self.lines.iter().filter(|line| line["subtype"] == "api_retry").map(|it| it["retry_delay_ms"].as_u64().unwrap()).collect()
    }

    pub fn notices(&self) -> Vec<&str> {
        self.lines.iter().filter(|line| line["subtype"] == "informational").map(|it| it["content"].as_str().unwrap()).collect()
    }

    pub fn tombstones(&self) -> Vec<&str> {
        self.lines.iter().filter(|line| line["type"] == "tombstone").map(|it| it["reason"].as_str().unwrap()).collect()
    }

    /// Blocks of this kind in assistant lines.
    pub fn said(&self, kind: &str) -> Vec<&Value> {
        let lines = self.lines.iter().filter(|line| line["type"] == "assistant");
        lines.flat_map(|line| line["message"]["content"].as_array().unwrap()).filter(|block| block["type"] == kind).collect()
    }

    /// Results of tools: whether each is an error, and its text.
    pub fn results(&self) -> Vec<(bool, String)> {
        let lines = self.lines.iter().filter(|line| line["type"] == "user");
        let blocks = lines.flat_map(|line| line["message"]["content"].as_array().unwrap());
        let blocks = blocks.filter(|block| block["type"] == "tool_result");
        blocks.map(|block| (block["is_error"] == true, block["content"][0]["text"].as_str().unwrap_or_default().to_owned())).collect()
    }
}
