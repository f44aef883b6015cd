//! A scripted answer as the bytes a server would send. It keeps no state of a conversation.

use serde_json::{Value, json};

use super::script::{Counts, Dialect, End, Item, Kind, Reply};

/// How an answer ends on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    ConnectionLost,
    Silence,
    Pings,
}

/// An answer as it goes out.
pub(super) enum Answer {
    Whole {
        status: u16,
        content_type: &'static str,
        /// A header of its own.
        header: Option<String>,
        body: String,
    },
    /// The first event goes out before the gate.
    Stream { events: Vec<String>, ending: Ending },
}

/// The event that says nothing.
pub(super) const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

impl Reply {
    /// The answer as the `number`-th of the stub, and its blocks that must come back as they went out.
    pub(super) fn answer(&self, number: usize, model: &str) -> (Answer, Vec<Value>) {
        let whole = |status, content_type, body| Answer::Whole { status, content_type, header: self.wait.clone(), body };
        let (items, end) = match &self.kind {
            Kind::Fails { status, kind, message } => {
                let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": format!("req_{number}")});
                return (whole(*status, "application/json", body.to_string()), Vec::new());
            }
            Kind::Page { content_type, body } => return (whole(200, content_type, body.clone()), Vec::new()),
            Kind::Streams { items, end } => (items, end),
        };
        let mut wire = Wire { number, dialect: self.dialect, events: Vec::new(), stops: Vec::new(), index: 0, kept: Vec::new() };
        wire.start(model, self.usage);
        let is_cut = matches!(end, End::Stop("max_tokens"));
        for (index, item) in items.iter().enumerate() {
            let is_last = index + 1 == items.len();
            wire.item(item, if is_cut && is_last && matches!(item, Item::Call { .. }) { Cut::InTheMiddle } else { Cut::No });
        }
        let ending = wire.end(end, self.usage);
        (Answer::Stream { events: wire.events, ending }, wire.kept)
    }
}

/// Whether a call's input is cut in its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    No,
    InTheMiddle,
}

struct Wire {
    number: usize,
    dialect: Dialect,
    events: Vec<String>,
    /// Ends of blocks that a dialect sends late.
    stops: Vec<Value>,
    index: usize,
    /// Thinking and blocks nobody knows.
    kept: Vec<Value>,
}

impl Wire {
    fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.events.push(format!("event: {name}\ndata: {data}\n\n"));
    }

    fn start(&mut self, model: &str, usage: Counts) {
        let number = self.number;
        let (id, usage) = match self.dialect {
            Dialect::Anthropic => (
                format!("msg_{number}"),
                json!({"input_tokens": usage.input, "output_tokens": 1,
                "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write}),
            ),
            Dialect::Llama => (format!("chatcmpl-{number}"), json!({"input_tokens": usage.input, "output_tokens": 0})),
        };
        let message = json!({"id": id, "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage});
        self.event(&json!({"type": "message_start", "message": message}));
        if self.dialect == Dialect::Anthropic {
            self.events.push(PING.to_owned());
        }
    }

    fn item(&mut self, item: &Item, cut: Cut) {
        match item {
            Item::Open(inner) => {
                let kept = self.kept.len();
                self.item(inner, Cut::InTheMiddle);
                // Its end is the last thing that was written.
                match self.dialect {
                    Dialect::Anthropic => self.events.pop().map(|_| ()),
                    Dialect::Llama => self.stops.pop().map(|_| ()),
                };
                self.kept.truncate(kept);
            }
            Item::Text(text) => {
                let deltas = text.split_inclusive(' ').map(|word| json!({"type": "text_delta", "text": word})).collect();
                self.block(&json!({"type": "text", "text": ""}), deltas);
            }
            Item::Thinking(thinking) => {
                let signature = format!("sig/{}+äé==", self.number);
                let deltas = vec![
                    json!({"type": "thinking_delta", "thinking": thinking}),
                    json!({"type": "signature_delta", "signature": signature}),
                ];
                self.block(&json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
                self.kept.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
            }
            Item::Redacted(data) => {
                let block = json!({"type": "redacted_thinking", "data": data});
                self.block(&block, Vec::new());
                self.kept.push(block);
            }
            Item::Call { id, name, input } => self.call(id.as_deref(), name, input, cut),
            Item::Unknown(text) => {
                let index = self.next();
                self.events.push(format!(
                    "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{text}}}\n\n"
                ));
                self.stop(index);
                self.kept.push(serde_json::from_str(text).unwrap_or(Value::Null));
            }
        }
    }

    fn next(&mut self) -> usize {
        self.index += 1;
        self.index - 1
    }

    fn block(&mut self, start: &Value, deltas: Vec<Value>) {
        let index = self.next();
        self.event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            self.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.stop(index);
    }

    fn stop(&mut self, index: usize) {
        let stop = json!({"type": "content_block_stop", "index": index});
        match self.dialect {
            Dialect::Anthropic => self.event(&stop),
            Dialect::Llama => self.stops.push(stop),
        }
    }

    /// The input comes in pieces that break words, and the first is empty, as from the real API.
    fn call(&mut self, id: Option<&str>, name: &str, input: &str, cut: Cut) {
        let characters: Vec<char> = input.chars().collect();
        let sent = match cut {
            Cut::No => characters.len(),
            Cut::InTheMiddle => characters.len() / 2,
        };
        let pieces = characters[..sent].chunks(7.max(sent / 100)).map(|chunk| chunk.iter().collect::<String>());
        let deltas =
            [String::new()].into_iter().chain(pieces).map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect();
        let own = match self.dialect {
            Dialect::Anthropic => format!("toolu_{}_{}", self.number, self.index),
            Dialect::Llama => format!("call.{}:{}", self.number, self.index),
        };
        let id = id.unwrap_or(&own);
        let start = match self.dialect {
            Dialect::Anthropic => json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            Dialect::Llama => json!({"type": "tool_use", "id": id, "name": name}),
        };
        self.block(&start, deltas);
    }

    fn end(&mut self, end: &End, usage: Counts) -> Ending {
        for stop in std::mem::take(&mut self.stops) {
            self.event(&stop);
        }
        match end {
            End::Stop(stop) => {
                let details = if *stop == "refusal" { json!({"type": "refusal", "category": "cyber"}) } else { Value::Null };
                let sequence = if self.dialect == Dialect::Llama { json!("</tool_call>") } else { Value::Null };
                self.event(
                    &json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": sequence, "stop_details": details},
                    "usage": {"output_tokens": usage.output}}),
                );
                self.event(&json!({"type": "message_stop"}));
                Ending::Whole
            }
            End::Lost => Ending::ConnectionLost,
            End::Short => Ending::Whole,
            End::Error(kind) => {
                self.event(&json!({"type": "error", "error": {"type": kind, "message": "scripted"}}));
                Ending::Silence
            }
            End::Silence => Ending::Silence,
            End::Pings => Ending::Pings,
        }
    }
}
