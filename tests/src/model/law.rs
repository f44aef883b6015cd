//! What every request must be, as the real API would have it. It never looks at what a request means.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

/// What was before a request.
#[derive(Debug, Default)]
pub struct Before {
    /// The blocks that this model has sent and that must come back as they went out: thinking, and kinds nobody knows.
    pub sent: Vec<Value>,
    /// Whether the answer before paused itself, so that it may stand last.
    pub paused: bool,
}

/// Everything that is wrong with a request.
#[must_use]
pub fn broken(headers: &BTreeMap<String, String>, body: &Value, before: &Before) -> Vec<String> {
    let mut laws = Laws { broken: Vec::new(), ids: HashSet::new(), before };
    laws.headers(headers);
    laws.body(body);
    laws.broken
}

/// Whether `later` begins with all that `earlier` said, markers aside: system, tools and messages.
///
/// # Errors
/// Where they part.
pub fn extends(earlier: &Value, later: &Value) -> Result<(), String> {
    for part in ["tools", "system"] {
        if without_markers(&earlier[part]) != without_markers(&later[part]) {
            return Err(format!("`{part}` changed"));
        }
    }
    let row = |body: &Value| -> Vec<(String, String)> {
        let messages = without_markers(&body["messages"]);
        let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
        let messages = messages.as_array().cloned().unwrap_or_default();
        messages
            .iter()
            .flat_map(|message| blocks(message).into_iter().map(move |block| (message["role"].to_string(), block.to_string())))
            .collect()
    };
    let (before, after) = (row(earlier), row(later));
    match before.iter().zip(after.iter().map(Some).chain(std::iter::repeat(None))).find(|(was, is)| Some(*was) != *is) {
        None => Ok(()),
        Some((was, is)) => Err(format!("{was:?} became {is:?}")),
    }
}

/// Whether `later`'s bytes begin with `earlier`'s, markers aside, from the tools on: what the provider's cache compares.
///
/// # Errors
/// Where they part.
pub fn extends_bytes(earlier: &str, later: &str) -> Result<(), String> {
    let (was, is) = (front(earlier), front(later));
    let was = was.strip_suffix("]}]}").unwrap_or(&was);
    if is.starts_with(was) {
        return Ok(());
    }
    let same = was.bytes().zip(is.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| text.bytes().skip(same.saturating_sub(40)).take(120).map(char::from).collect::<String>();
    Err(format!("byte {same}: `{}` became `{}`", around(was), around(&is)))
}

/// A body from its tools or its system field on, without markers.
fn front(body: &str) -> String {
    let starts = ["\"tools\":[", "\"system\":[", "\"messages\":["];
    let at = starts.iter().filter_map(|start| body.find(start)).min().unwrap_or(0);
    body[at..].replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
}

fn without_markers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, value)| (key.clone(), without_markers(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(values) => values.iter().map(without_markers).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

struct Laws<'a> {
    broken: Vec<String>,
    ids: HashSet<String>,
    before: &'a Before,
}

impl Laws<'_> {
    fn must(&mut self, holds: bool, law: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(law());
        }
    }

    fn headers(&mut self, headers: &BTreeMap<String, String>) {
        let has = |name: &str| headers.get(name).is_some_and(|value| !value.trim().is_empty());
        let bearer = headers.get("authorization").is_some_and(|value| value.len() > "Bearer ".len() && value.starts_with("Bearer "));
        self.must(has("x-api-key") || bearer, || "no key: neither x-api-key nor a Bearer token".to_owned());
        self.must(has("anthropic-version"), || "no anthropic-version".to_owned());
        let is_json = headers.get("content-type").is_some_and(|value| value.starts_with("application/json"));
        self.must(is_json, || "content-type is not application/json".to_owned());
    }

    fn body(&mut self, body: &Value) {
        self.must(body["model"].as_str().is_some_and(|it| !it.is_empty()), || "no model".to_owned());
        self.must(body["max_tokens"].as_u64().is_some_and(|it| it > 0), || "no max_tokens".to_owned());
        self.must(body["stream"] == true, || "not streaming".to_owned());
        let markers = body.to_string().matches("\"cache_control\":{").count();
        self.must(markers <= 4, || format!("{markers} cache markers"));
        for part in body["system"].as_array().into_iter().flatten() {
            self.text(part, "system");
        }
        let mut names = HashSet::new();
        for tool in body["tools"].as_array().into_iter().flatten() {
            let name = tool["name"].as_str().unwrap_or_default();
            self.must(is_name(name), || format!("tool name {name:?}"));
            self.must(names.insert(name.to_owned()), || format!("tool `{name}` twice"));
            self.must(tool["input_schema"]["type"] == "object", || format!("tool `{name}` has no object schema"));
        }
        self.messages(body["messages"].as_array().map_or(&[], Vec::as_slice));
    }

    fn messages(&mut self, messages: &[Value]) {
        let role = |message: &Value| message["role"].as_str().unwrap_or_default().to_owned();
        self.must(messages.first().is_some_and(|it| role(it) == "user"), || "the first message is not the user's".to_owned());
        let may_end = messages.last().is_some_and(|it| role(it) == "user" || self.before.paused);
        self.must(may_end, || "the last message is not the user's: a prefill".to_owned());
        let mut owed: Vec<String> = Vec::new();
        let mut before = String::new();
        for (index, message) in messages.iter().enumerate() {
            let role = role(message);
            self.must(role == "user" || role == "assistant", || format!("message {index} has role {role:?}"));
            self.must(role != before, || format!("messages {} and {index} have the same role", index.wrapping_sub(1)));
            let blocks: Vec<Value> = match &message["content"] {
                Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
                content => content.as_array().cloned().unwrap_or_default(),
            };
            self.must(!blocks.is_empty(), || format!("message {index} has no content"));
            let results: Vec<String> =
                blocks.iter().take_while(|it| it["type"] == "tool_result").map(|it| text_of(&it["tool_use_id"])).collect();
            let late = blocks.iter().skip(results.len()).filter(|it| it["type"] == "tool_result").count();
            self.must(late == 0, || format!("message {index} has results after other blocks"));
            self.must(results == owed, || format!("message {index} has the results {results:?}, owed were {owed:?}"));
            owed.clear();
            for block in &blocks {
                self.block(index, &role, block);
                if block["type"] == "tool_use" {
                    owed.push(text_of(&block["id"]));
                }
            }
            let last = blocks.last().map(|it| text_of(&it["type"])).unwrap_or_default();
            self.must(!last.ends_with("thinking"), || format!("message {index} ends with thinking"));
            before = role;
        }
    }

    fn block(&mut self, index: usize, role: &str, block: &Value) {
        let place = format!("message {index}");
        match (block["type"].as_str().unwrap_or_default(), role) {
            ("text", _) => self.text(block, &place),
            ("tool_use", "assistant") => {
                let (id, name) = (text_of(&block["id"]), text_of(&block["name"]));
                let is_new = is_id(&id) && self.ids.insert(id.clone());
                self.must(is_new, || format!("{place}: call id {id:?} is odd or was there before"));
                self.must(is_name(&name), || format!("{place}: tool name {name:?}"));
                self.must(block["input"].is_object(), || format!("{place}: the input of `{id}` is no object"));
            }
            ("tool_result", "user") => {
                let content = &block["content"];
                let is_blank = content.as_str().is_some_and(|it| it.trim().is_empty()) || content.as_array().is_some_and(Vec::is_empty);
                self.must(!is_blank, || format!("{place}: a result is empty"));
                for part in content.as_array().into_iter().flatten().filter(|part| part["type"] == "text") {
                    self.text(part, &place);
                }
            }
            ("thinking" | "redacted_thinking", "assistant") => {
                let known = self.before.sent.contains(block);
                self.must(known, || format!("{place}: thinking that was never sent so: {block}"));
            }
            ("image", "user") => {}
            ("image" | "tool_result", _) => self.broken.push(format!("{place}: a {role} cannot say {:?}", block["type"])),
            (kind, "assistant") => {
                let known = self.before.sent.contains(block);
                self.must(known, || format!("{place}: a block of kind {kind:?} that was never sent so: {block}"));
            }
            (kind, role) => self.broken.push(format!("{place}: a {role} cannot say {kind:?}")),
        }
    }

    fn text(&mut self, block: &Value, place: &str) {
        self.must(block["text"].as_str().is_some_and(|it| !it.trim().is_empty()), || format!("{place}: blank text"));
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= 64 && is_id(text)
}

fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
