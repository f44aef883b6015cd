//! What the stub answers, in one word each. It knows no bytes: that is `wire`.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) dialect: Dialect,
    /// Bytes of each piece the body is sent in; absent = an event at a time.
    pub(super) torn: Option<usize>,
    /// Waited for after the answer has begun.
    pub(super) gate: Option<Gate>,
    /// Waited for before the answer's end is told.
    pub(super) end_gate: Option<Gate>,
    /// Only for a request whose last message contains this.
    pub(super) marker: Option<String>,
    pub(super) usage: Counts,
    /// A header of a failing server, whole.
    pub(super) wait: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Streams {
        items: Vec<Item>,
        end: End,
    },
    Fails {
        status: u16,
        kind: String,
        message: String,
    },
    /// No event stream at all, though the status is 200.
    Page {
        content_type: &'static str,
        body: String,
    },
}

/// A block of an answer.
#[derive(Debug, Clone)]
pub enum Item {
    Text(String),
    Thinking(String),
    Redacted(String),
    Call {
        /// Absent = one of the stub's own.
        id: Option<String>,
        name: String,
        /// JSON text, good or bad; sent in pieces.
        input: String,
    },
    /// A block nobody knows, its JSON sent word for word.
    Unknown(String),
    /// The last block, and its end never comes.
    Open(Box<Item>),
}

/// How an answer ends.
#[derive(Debug, Clone)]
pub(super) enum End {
    Stop(&'static str),
    /// The connection is gone.
    Lost,
    /// The answer is over as far as HTTP knows, without `message_stop`.
    Short,
    /// An `error` event of this type while the connection stays open.
    Error(String),
    /// Nothing comes for ever.
    Silence,
    /// Only pings come, for ever.
    Pings,
}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Anthropic,
    /// llama.cpp's: no `input` at a call's start, blocks overlap, odd ids, few counts.
    Llama,
}

/// Tokens as the server counts them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

impl Reply {
    fn of(kind: Kind) -> Reply {
        let usage = Counts { input: 100, output: 20, cache_read: 0, cache_write: 0 };
        Reply { kind, dialect: Dialect::Anthropic, torn: None, gate: None, end_gate: None, marker: None, usage, wait: None }
    }

    fn stream(items: Vec<Item>, end: End) -> Reply {
        Reply::of(Kind::Streams { items, end })
    }

    fn first(mut self, item: Item) -> Reply {
        if let Kind::Streams { items, .. } = &mut self.kind {
            items.insert(0, item);
        }
        self
    }

    /// With thinking before everything else.
    #[must_use]
    pub fn thinks(self, thinking: &str) -> Reply {
        self.first(Item::Thinking(thinking.to_owned()))
    }

    /// With text before everything else.
    #[must_use]
    pub fn says(mut self, said: &str) -> Reply {
        if let Kind::Streams { items, .. } = &mut self.kind {
            let at = items.iter().take_while(|item| matches!(item, Item::Thinking(_) | Item::Redacted(_))).count();
            items.insert(at, Item::Text(said.to_owned()));
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
        (self.usage.input, self.usage.output) = (input, output);
        self
    }

    /// Tokens read from the cache and written to it.
    #[must_use]
    pub fn cached(mut self, read: u64, written: u64) -> Reply {
        (self.usage.cache_read, self.usage.cache_write) = (read, written);
        self
    }

    /// Seconds a failing server asks to wait.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Reply {
        self.wait = Some(format!("retry-after: {seconds}"));
        self
    }

    /// Milliseconds a failing server asks to wait.
    #[must_use]
    pub fn retry_after_ms(mut self, millis: u64) -> Reply {
        self.wait = Some(format!("retry-after-ms: {millis}"));
        self
    }

    /// As llama.cpp's server would send it.
    #[must_use]
    pub fn llama(mut self) -> Reply {
        self.dialect = Dialect::Llama;
        self
    }

    /// How it stops, in the provider's word.
    pub(super) fn stop(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Streams { end: End::Stop(stop), .. } => Some(stop),
            Kind::Streams { .. } | Kind::Fails { .. } | Kind::Page { .. } => None,
        }
    }
}

/// A text.
#[must_use]
pub fn says(text: &str) -> Reply {
    mixes([Item::Text(text.to_owned())])
}

/// Thinking and a text.
#[must_use]
pub fn thinks(thinking: &str, text: &str) -> Reply {
    says(text).thinks(thinking)
}

/// Redacted thinking and a text.
#[must_use]
pub fn redacts(data: &str, text: &str) -> Reply {
    says(text).first(Item::Redacted(data.to_owned()))
}

/// One tool call.
#[must_use]
pub fn calls(name: &str, input: Value) -> Reply {
    calls_all([(name, input)])
}

/// Several calls in one answer.
#[must_use]
pub fn calls_all<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    mixes(calls.into_iter().map(|(name, input)| call(name, &input.to_string())))
}

/// A call with this id, whoever has it already.
#[must_use]
pub fn calls_as(id: &str, name: &str, input: Value) -> Reply {
    mixes([Item::Call { id: Some(id.to_owned()), name: name.to_owned(), input: input.to_string() }])
}

/// A call whose input is this text, whatever it is.
#[must_use]
pub fn calls_with(name: &str, input: &str) -> Reply {
    mixes([call(name, input)])
}

/// A call as a block, for [`mixes`].
#[must_use]
pub fn call(name: &str, input: &str) -> Item {
    Item::Call { id: None, name: name.to_owned(), input: input.to_owned() }
}

/// These blocks in this order.
#[must_use]
pub fn mixes(items: impl IntoIterator<Item = Item>) -> Reply {
    let items: Vec<Item> = items.into_iter().collect();
    let stop = if items.iter().any(|item| matches!(item, Item::Call { .. })) { "tool_use" } else { "end_turn" };
    Reply::stream(items, End::Stop(stop))
}

/// Not one block.
#[must_use]
pub fn silent() -> Reply {
    mixes([])
}

/// A text that ends at the output limit.
#[must_use]
pub fn truncated(text: &str) -> Reply {
    Reply::stream(vec![Item::Text(text.to_owned())], End::Stop("max_tokens"))
}

/// These blocks, the last of them cut in its middle by the output limit.
#[must_use]
pub fn truncates(items: impl IntoIterator<Item = Item>) -> Reply {
    Reply::stream(items.into_iter().collect(), End::Stop("max_tokens"))
}

/// A text, then the context window is full.
#[must_use]
pub fn window_full(text: &str) -> Reply {
    Reply::stream(vec![Item::Text(text.to_owned())], End::Stop("model_context_window_exceeded"))
}

/// These blocks, then a pause: they are to be sent back as they are.
#[must_use]
pub fn pauses(items: impl IntoIterator<Item = Item>) -> Reply {
    Reply::stream(items.into_iter().collect(), End::Stop("pause_turn"))
}

/// A refusal.
#[must_use]
pub fn refuses() -> Reply {
    Reply::stream(vec![Item::Text("I will not.".to_owned())], End::Stop("refusal"))
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

/// A proxy's page in place of an answer.
#[must_use]
pub fn page(body: &str) -> Reply {
    Reply::of(Kind::Page { content_type: "text/html", body: body.to_owned() })
}

/// A text whose stream is cut: the connection is gone before the end.
#[must_use]
pub fn cut_off(text: &str) -> Reply {
    cuts([Item::Text(text.to_owned())])
}

/// These blocks, the last one open, and the connection is gone.
#[must_use]
pub fn cuts(items: impl IntoIterator<Item = Item>) -> Reply {
    Reply::stream(opened(items), End::Lost)
}

/// A text, and the answer ends properly for HTTP, without its last event.
#[must_use]
pub fn ends_short(text: &str) -> Reply {
    Reply::stream(opened([Item::Text(text.to_owned())]), End::Short)
}

/// A text, then an `error` event of this type.
#[must_use]
pub fn breaks(text: &str, kind: &str) -> Reply {
    Reply::stream(opened([Item::Text(text.to_owned())]), End::Error(kind.to_owned()))
}

/// A text, then silence until the client goes away.
#[must_use]
pub fn stalls(text: &str) -> Reply {
    Reply::stream(opened([Item::Text(text.to_owned())]), End::Silence)
}

/// A text, then nothing but pings until the client goes away.
#[must_use]
pub fn only_pings(text: &str) -> Reply {
    Reply::stream(opened([Item::Text(text.to_owned())]), End::Pings)
}

fn opened(items: impl IntoIterator<Item = Item>) -> Vec<Item> {
    let mut items: Vec<Item> = items.into_iter().collect();
    if let Some(last) = items.pop() {
        items.push(Item::Open(Box::new(last)));
    }
    items
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
