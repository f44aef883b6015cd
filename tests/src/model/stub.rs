//! The HTTP server of a scripted model. It checks every request against the laws and keeps it; it never guesses an answer.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::law::{self, Before};
use super::script::Reply;
use super::wire::{Answer, Ending, PING};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The body's bytes.
    pub raw: String,
}

impl Recorded {
    /// Whose conversation it is: the model, and how it began.
    fn chain(&self) -> String {
        let first = &self.body["messages"][0]["content"][0];
        format!("{} {}", self.body["model"], first["text"])
    }

    /// It opens a conversation: nobody has answered yet.
    fn opens(&self) -> bool {
        self.body["messages"].as_array().is_none_or(|messages| messages.len() <= 1)
    }

    /// Whether it begins with all that `earlier` said.
    fn extends(&self, earlier: &Recorded) -> Result<(), String> {
        law::extends(&earlier.body, &self.body)?;
        law::extends_bytes(&earlier.raw, &self.raw)
    }

    /// The text of the last message's text blocks.
    #[must_use]
    pub fn last_text(&self) -> String {
        let last = self.body["messages"].as_array().and_then(|messages| messages.last());
        let blocks = last.and_then(|message| message["content"].as_array()).into_iter().flatten();
        blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// A running stub; it ends when this is dropped.
pub struct Stub {
    base_url: String,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

/// What connections and the test share. A lock is enough: it is held for a few lines, never across an await.
struct Shared {
    state: Mutex<State>,
    /// Counts requests, so that a test can wait for one.
    requests: watch::Sender<usize>,
    /// Counts answers that the client did not read to their end.
    aborted: watch::Sender<usize>,
    connections: AtomicUsize,
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    otherwise: Option<Reply>,
    requests: Vec<Recorded>,
    /// By model: blocks that must come back as they went out.
    sent: BTreeMap<String, Vec<Value>>,
    /// Conversations by their beginning: the newest request of each.
    chains: BTreeMap<String, usize>,
    paused: bool,
    /// Prefixes that a test lets change.
    may_break: usize,
    broken: Vec<String>,
}

impl Stub {
    /// Starts a stub on a free port of the loopback that gives these replies in this order.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Stub {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port of the loopback");
        let base_url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let state = Mutex::new(State { replies: replies.into_iter().collect(), ..State::default() });
        let shared =
            Arc::new(Shared { state, requests: watch::Sender::new(0), aborted: watch::Sender::new(0), connections: AtomicUsize::new(0) });
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(listener, Arc::clone(&shared), stop.clone())));
        Stub { base_url, shared, _stop: stop.drop_guard() }
    }

    /// What `ANTHROPIC_BASE_URL` is to be.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Appends a reply.
    pub fn then(&self, reply: Reply) {
        self.shared.state().replies.push_back(reply);
    }

    /// What is answered when no scripted reply is left or fits.
    pub fn otherwise(&self, reply: Reply) {
        self.shared.state().otherwise = Some(reply);
    }

    /// The requests so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state().requests.clone()
    }

    /// Waits until there were `count` requests.
    pub async fn asked(&self, count: usize) {
        // The sender lives as long as this stub.
        let _ = self.shared.requests.subscribe().wait_for(|so_far| *so_far >= count).await;
    }

    /// Waits until the client has walked away from `count` answers.
    pub async fn abandoned(&self, count: usize) {
        let _ = self.shared.aborted.subscribe().wait_for(|so_far| *so_far >= count).await;
    }

    /// Connections that clients made so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The next `count` requests that do not extend the one before of their conversation are no breach.
    pub fn may_break(&self, count: usize) {
        self.shared.state().may_break += count;
    }

    /// The laws broken so far.
    #[must_use]
    pub fn broken(&self) -> Vec<String> {
        self.shared.state().broken.clone()
    }

    /// The end of the test.
    ///
    /// # Panics
    /// When a law was broken, or a scripted reply was not asked for.
    pub fn finish(self) {
        let state = self.shared.state();
        assert!(state.broken.is_empty(), "requests broke laws:\n{}", state.broken.join("\n"));
        assert!(state.replies.is_empty(), "{} scripted replies were not asked for: {:?}", state.replies.len(), state.replies);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request, checks it, and takes its reply.
    fn take(&self, recorded: Recorded) -> (Answer, Option<Reply>) {
        let mut state = self.state();
        let number = state.requests.len() + 1;
        let model = recorded.body["model"].as_str().unwrap_or_default().to_owned();
        let before = Before { sent: state.sent.get(&model).cloned().unwrap_or_default(), paused: state.paused };
        let mut broken: Vec<String> = law::broken(&recorded.headers, &recorded.body, &before);
        broken.extend(state.prefix_broken(&recorded));
        let last = recorded.body["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string).unwrap_or_default();
        let fits = |reply: &Reply| reply.marker.as_ref().is_none_or(|marker| last.contains(marker.as_str()));
        state.requests.push(recorded);
        let reply = if broken.is_empty() {
            let scripted = state.replies.iter().position(fits).and_then(|at| state.replies.remove(at));
            let reply = scripted.or_else(|| state.otherwise.clone());
            if reply.is_none() {
                broken.push("no reply is left for it".to_owned());
            }
            reply
        } else {
            None
        };
        let answer = match &reply {
            Some(reply) => {
                let (answer, kept) = reply.answer(number, &model);
                state.sent.entry(model).or_default().extend(kept);
                state.paused = reply.stop() == Some("pause_turn");
                answer
            }
            None => {
                let message = broken.join("; ");
                let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string();
                Answer::Whole { status: 400, content_type: "application/json", header: None, body }
            }
        };
        state.broken.extend(broken.into_iter().map(|law| format!("request {number}: {law}")));
        drop(state);
        self.requests.send_replace(number);
        (answer, reply)
    }
}

impl State {
    /// A request must begin with all that the newest one of its conversation said.
    fn prefix_broken(&mut self, recorded: &Recorded) -> Option<String> {
        let newest = self.chains.insert(recorded.chain(), self.requests.len())?;
        if recorded.opens() && self.requests[newest].body["messages"].as_array().is_some_and(|it| it.len() > 1) {
            return None;
        }
        let parted = recorded.extends(&self.requests[newest]).err()?;
        if self.may_break > 0 {
            self.may_break -= 1;
            return None;
        }
        Some(format!("it does not begin with request {}: {parted}", newest + 1))
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(stop.clone().run_until_cancelled_owned(serve(stream, Arc::clone(&shared))));
    }
}

/// One connection, kept alive from request to request; its errors are the client's business.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    while let Ok(Some((line, headers, bytes))) = read_request(&mut read).await {
        if !line.starts_with("POST ") || !line.contains("/v1/messages ") {
            let body = json!({"error": {"type": "not_found_error", "message": line}}).to_string();
            let _ = write_whole(&mut write, 404, "application/json", None, &body).await;
            continue;
        }
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let raw = String::from_utf8_lossy(&bytes).into_owned();
        let (answer, reply) = shared.take(Recorded { headers, body, raw });
        let written = match answer {
            Answer::Whole { status, content_type, header, body } => write_whole(&mut write, status, content_type, header, &body).await,
            Answer::Stream { events, ending } => {
                // The client says nothing while it reads: what comes is its end.
                tokio::select! {
                    written = write_events(&mut write, &events, ending, reply.as_ref()) => written,
                    _ = read.fill_buf() => Err(io::ErrorKind::ConnectionAborted.into()),
                }
            }
        };
        match written {
            Ok(Ending::Whole) => {}
            Ok(Ending::ConnectionLost | Ending::Silence | Ending::Pings) => return,
            Err(_) => {
                shared.aborted.send_modify(|count| *count += 1);
                return;
            }
        }
    }
}

type Request = (String, BTreeMap<String, String>, Vec<u8>);

async fn read_request(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if read.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        read.read_line(&mut header).await?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    read.read_exact(&mut body).await?;
    Ok(Some((line, headers, body)))
}

async fn write_whole(
    write: &mut OwnedWriteHalf,
    status: u16,
    content_type: &str,
    header: Option<String>,
    body: &str,
) -> io::Result<Ending> {
    let header = header.map(|header| format!("{header}\r\n")).unwrap_or_default();
    let length = body.len();
    let text = format!("HTTP/1.1 {status} scripted\r\ncontent-type: {content_type}\r\n{header}content-length: {length}\r\n\r\n{body}");
    write.write_all(text.as_bytes()).await?;
    Ok(Ending::Whole)
}

async fn write_events(write: &mut OwnedWriteHalf, events: &[String], ending: Ending, reply: Option<&Reply>) -> io::Result<Ending> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\nrequest-id: req_stub\r\n\r\n";
    write.write_all(head.as_bytes()).await?;
    for (index, event) in events.iter().enumerate() {
        if index == 1
            && let Some(gate) = reply.and_then(|reply| reply.gate.as_ref())
        {
            gate.passed().await;
        }
        // What ends it are the last two: the stop reason, and the stop.
        if index + 2 == events.len()
            && let Some(gate) = reply.and_then(|reply| reply.end_gate.as_ref())
        {
            gate.passed().await;
        }
        let piece = reply.and_then(|reply| reply.torn).unwrap_or(event.len());
        for chunk in event.as_bytes().chunks(piece) {
            write.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
            write.write_all(chunk).await?;
            write.write_all(b"\r\n").await?;
            write.flush().await?;
        }
    }
    match ending {
        Ending::Whole => write.write_all(b"0\r\n\r\n").await?,
        Ending::ConnectionLost => {}
        Ending::Silence => std::future::pending().await,
        // As fast as they are taken: the client reads them, and must not count them as life.
        Ending::Pings => loop {
            write.write_all(format!("{:x}\r\n{PING}\r\n", PING.len()).as_bytes()).await?;
            tokio::task::yield_now().await;
        },
    }
    Ok(ending)
}

#[cfg(test)]
mod tests;
