//! What the stub answers, in one word each; a reply becomes the bytes the real API would send.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) thinking: Option<String>,
    /// Bytes of each piece the body is sent in; absent = an event at a time.
    pub(super) torn: Option<usize>,
    /// Waited for after the answer has begun.
    pub(super) gate: Option<Gate>,
    /// Waited for before the answer's end is told.
    pub(super) end_gate: Option<Gate>,
    /// Only for a request whose last message contains this.
    pub(super) marker: Option<String>,
    usage: (u64, u64),
    retry_after: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Says {
        text: String,
        calls: Vec<(String, Value)>,
        stop: &'static str,
    },
    Fails {
        status: u16,
        kind: String,
        message: String,
    },
    /// The text, then the connection is gone.
    CutOff {
        text: String,
    },
    /// The text, then an `error` event while the connection stays open.
    Breaks {
        text: String,
        kind: String,
    },
    /// The beginning, then nothing for ever.
    Stalls {
        text: String,
    },
}

impl Reply {
    fn of(kind: Kind) -> Reply {
        Reply { kind, thinking: None, torn: None, gate: None, end_gate: None, marker: None, usage: (100, 20), retry_after: None }
    }

    /// With thinking before everything else.
    #[must_use]
    pub fn thinks(mut self, thinking: &str) -> Reply {
        self.thinking = Some(thinking.to_owned());
        self
    }

    /// With text before the calls.
    #[must_use]
    pub fn says(mut self, said: &str) -> Reply {
        if let Kind::Says { text, .. } = &mut self.kind {
            said.clone_into(text);
        }
        self
    }

    /// The body in pieces of so many bytes.
    #[must_use]
    pub fn torn(mut self, bytes: usize) -> Reply {
        self.torn = Some(bytes.max(1));
        self
    }

    /// Goes on only when `gate` is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Reply {
        self.gate = Some(gate.clone());
        self
    }

    /// All its blocks, and its end only when `gate` is open.
    #[must_use]
    pub fn ends_behind(mut self, gate: &Gate) -> Reply {
        self.end_gate = Some(gate.clone());
        self
    }

    /// Only for a request whose last message contains `marker`.
    #[must_use]
    pub fn to(mut self, marker: &str) -> Reply {
        self.marker = Some(marker.to_owned());
        self
    }

    /// Tokens of input and output.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Reply {
        self.usage = (input, output);
        self
    }

    /// Seconds a failing server asks to wait.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Reply {
        self.retry_after = Some(seconds);
        self
    }
}

/// A text.
#[must_use]
pub fn says(text: &str) -> Reply {
    Reply::of(Kind::Says { text: text.to_owned(), calls: Vec::new(), stop: "end_turn" })
}

/// Thinking and a text.
#[must_use]
pub fn thinks(thinking: &str, text: &str) -> Reply {
    says(text).thinks(thinking)
}

/// One tool call.
#[must_use]
pub fn calls(name: &str, input: Value) -> Reply {
    calls_all([(name, input)])
}

/// Several calls in one answer.
#[must_use]
pub fn calls_all<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    let calls = calls.into_iter().map(|(name, input)| (name.to_owned(), input)).collect();
    Reply::of(Kind::Says { text: String::new(), calls, stop: "tool_use" })
}

/// A text that ends at the output limit.
#[must_use]
pub fn truncated(text: &str) -> Reply {
    Reply::of(Kind::Says { text: text.to_owned(), calls: Vec::new(), stop: "max_tokens" })
}

/// A refusal.
#[must_use]
pub fn refuses() -> Reply {
    Reply::of(Kind::Says { text: "I will not.".to_owned(), calls: Vec::new(), stop: "refusal" })
}

/// An HTTP error, with the API's type for that status.
#[must_use]
pub fn fails(status: u16) -> Reply {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    Reply::of(Kind::Fails { status, kind: kind.to_owned(), message: format!("scripted {status}") })
}

/// The prompt is too long.
#[must_use]
pub fn too_long() -> Reply {
    let message = "prompt is too long: 210000 tokens > 200000 maximum".to_owned();
    Reply::of(Kind::Fails { status: 400, kind: "invalid_request_error".to_owned(), message })
}

/// A text whose stream is cut: the connection is gone before the end.
#[must_use]
pub fn cut_off(text: &str) -> Reply {
    Reply::of(Kind::CutOff { text: text.to_owned() })
}

/// A text, then an `error` event of this type.
#[must_use]
pub fn breaks(text: &str, kind: &str) -> Reply {
    Reply::of(Kind::Breaks { text: text.to_owned(), kind: kind.to_owned() })
}

/// A text, then silence until the client goes away.
#[must_use]
pub fn stalls(text: &str) -> Reply {
    Reply::of(Kind::Stalls { text: text.to_owned() })
}

/// Holds an answer back until it is opened; opened once, open for ever.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Gate {
        Gate(Arc::new(watch::Sender::new(false)))
    }
}

impl Gate {
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn passed(&self) {
        // The sender lives as long as this gate.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// How an answer ends on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    ConnectionLost,
    Silence,
}

/// An answer as it goes out.
pub(super) enum Answer {
    Error {
        status: u16,
        retry_after: Option<u64>,
        body: String,
    },
    /// The first event goes out before the gate.
    Stream {
        events: Vec<String>,
        ending: Ending,
    },
}

impl Reply {
    /// The answer as the `number`-th of the stub, and the thinking block it holds.
    pub(super) fn answer(&self, number: usize, model: &str) -> (Answer, Option<Value>) {
        if let Kind::Fails { status, kind, message } = &self.kind {
            let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": format!("req_{number}")});
            return (Answer::Error { status: *status, retry_after: self.retry_after, body: body.to_string() }, None);
        }
        let mut wire = Wire { events: Vec::new(), index: 0 };
        let usage =
            json!({"input_tokens": self.usage.0, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
        let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage});
        wire.event(&json!({"type": "message_start", "message": message}));
        wire.event(&json!({"type": "ping"}));
        let thinking = self.thinking.as_ref().map(|thinking| wire.thinking(thinking, &format!("sig/{number}+äé==")));
        let ending = match &self.kind {
            Kind::Says { text, calls, stop } => {
                wire.text(text);
                for (call, (name, input)) in calls.iter().enumerate() {
                    wire.call(&format!("toolu_{number}_{call}"), name, input);
                }
                let details = if *stop == "refusal" { json!({"type": "refusal", "category": "cyber"}) } else { Value::Null };
                wire.event(
                    &json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null, "stop_details": details},
                    "usage": {"output_tokens": self.usage.1}}),
                );
                wire.event(&json!({"type": "message_stop"}));
                Ending::Whole
            }
            Kind::CutOff { text } => {
                wire.text(text);
                Ending::ConnectionLost
            }
            Kind::Breaks { text, kind } => {
                wire.text(text);
                wire.event(&json!({"type": "error", "error": {"type": kind, "message": "scripted"}}));
                Ending::Silence
            }
            Kind::Stalls { text } => {
                wire.text(text);
                Ending::Silence
            }
            Kind::Fails { .. } => unreachable!("answered above"),
        };
        (Answer::Stream { events: wire.events, ending }, thinking)
    }
}

struct Wire {
    events: Vec<String>,
    index: usize,
}

impl Wire {
    fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.events.push(format!("event: {name}\ndata: {data}\n\n"));
    }

    fn block(&mut self, start: Value, deltas: impl IntoIterator<Item = Value>) {
        let index = self.index;
        self.index += 1;
        self.event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            self.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.event(&json!({"type": "content_block_stop", "index": index}));
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            let deltas: Vec<Value> = text.split_inclusive(' ').map(|word| json!({"type": "text_delta", "text": word})).collect();
            self.block(json!({"type": "text", "text": ""}), deltas);
        }
    }

    fn thinking(&mut self, thinking: &str, signature: &str) -> Value {
        let deltas = [json!({"type": "thinking_delta", "thinking": thinking}), json!({"type": "signature_delta", "signature": signature})];
        self.block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
        json!({"type": "thinking", "thinking": thinking, "signature": signature})
    }

    /// The input comes in pieces that break words, and the first is empty, as from the real API.
    fn call(&mut self, id: &str, name: &str, input: &Value) {
        let text = input.to_string();
        let characters: Vec<char> = text.chars().collect();
        let pieces = characters.chunks(7).map(|chunk| chunk.iter().collect::<String>());
        let deltas: Vec<Value> =
            [String::new()].into_iter().chain(pieces).map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect();
        self.block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas);
    }
}
