//! A model that a seed decides: whole, broken, refusing and odd answers, every event at a moment the simulation picks. It
//! holds each request against the laws.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Mutex;

use agentd::models::{ModelStream, Provider};
use agentd_core::model::{ApiMessage, BlockStart, ErrorClass, ModelError, ModelRequest, Piece, StreamEvent, UsageUpdate};
use agentd_types::content::Role;
use agentd_types::{Block, Json, ToolUseId};
use futures_util::stream;

use super::facts::Facts;
use super::gates::Gates;
use super::rng::Rng;

/// The model of one world.
pub struct SimModel {
    facts: Facts,
    gates: Gates,
    /// Taken for a moment to draw an answer.
    rng: Mutex<Rng>,
}

impl SimModel {
    pub fn new(facts: Facts, gates: Gates, rng: Rng) -> SimModel {
        SimModel { facts, gates, rng: Mutex::new(rng) }
    }

    fn answer(&self, number: u64) -> Result<Vec<Result<StreamEvent, ModelError>>, ModelError> {
        let mut rng = self.rng.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match rng.below(24) {
            0 => Err(error(ErrorClass::Overloaded, 529)),
            1 => Err(error(ErrorClass::RateLimit, 429)),
            2 => Err(error(ErrorClass::Connect, 0)),
            3 if rng.chance(30) => Err(error(ErrorClass::InvalidRequest, 400)),
            4 if rng.chance(30) => Err(error(ErrorClass::Authentication, 401)),
            kind => Ok(stream_of(kind, number, &mut rng)),
        }
    }
}

impl Provider for SimModel {
    fn key_source(&self) -> &'static str {
        "simulation"
    }

    fn send<'a>(&'a self, request: &'a ModelRequest) -> Pin<Box<dyn Future<Output = Result<ModelStream, ModelError>> + Send + 'a>> {
        Box::pin(async move {
            let number = {
                let mut seen = self.facts.seen();
                seen.requests += 1;
                let broken = broken(request);
                seen.wrong.extend(broken);
                seen.requests
            };
            let answer = self.answer(number);
            self.gates.pass().await;
            let events = answer?;
            let gates = self.gates.clone();
            let stream = stream::unfold(events.into_iter(), move |mut left| {
                let gates = gates.clone();
                async move {
                    let event = left.next()?;
                    gates.pass().await;
                    Some((event, left))
                }
            });
            Ok(Box::pin(stream) as ModelStream)
        })
    }
}

fn error(class: ErrorClass, status: u16) -> ModelError {
    ModelError { class, status: (status > 0).then_some(status), message: "simulated".to_owned(), retry_after_ms: None }
}

fn stream_of(kind: usize, number: u64, rng: &mut Rng) -> Vec<Result<StreamEvent, ModelError>> {
    let counts = UsageUpdate { input: Some(10), output: Some(1), ..UsageUpdate::default() };
    let mut events = vec![Ok(StreamEvent::MessageStart { api_id: format!("m{number}"), model: "claude-sonnet-5-5".into(), usage: counts })];
    let mut index = 0;
    if rng.chance(20) {
        let block = BlockStart::Thinking { thinking: format!("thought {number}"), signature: format!("s{number}") };
        push(&mut events, &mut index, block, None);
    }
    if rng.chance(80) {
        push(&mut events, &mut index, BlockStart::Text { text: String::new() }, Some(Piece::Text(format!("words {number}"))));
    }
    let calls = if rng.chance(55) { 1 + rng.below(3) } else { 0 };
    for call in 0..calls {
        let name = ["Look", "Do", "Do", "Ask", "Nothing"][rng.below(5)];
        let block = BlockStart::ToolUse { id: ToolUseId::new(format!("c{number}_{call}")), name: name.to_owned(), input: None };
        push(&mut events, &mut index, block, Some(Piece::InputJson("{}".to_owned())));
    }
    let (stop, end) = match kind {
        5 => ("max_tokens", true),
        6 => ("refusal", true),
        7 => ("pause_turn", true),
        // Cut at any point, or broken by an error.
        8 | 9 => ("", false),
        _ if calls > 0 => ("tool_use", true),
        _ => ("end_turn", true),
    };
    if end {
        events.push(Ok(StreamEvent::MessageDelta { stop_reason: Some(stop.to_owned()), refusal: None, usage: UsageUpdate::default() }));
        events.push(Ok(StreamEvent::MessageStop));
    } else {
        events.truncate(1 + rng.below(events.len()));
        if kind == 9 {
            events.push(Err(error(ErrorClass::Server, 500)));
        }
    }
    events
}

fn push(events: &mut Vec<Result<StreamEvent, ModelError>>, index: &mut u32, block: BlockStart, piece: Option<Piece>) {
    events.push(Ok(StreamEvent::BlockStart { index: *index, block }));
    events.extend(piece.map(|piece| Ok(StreamEvent::Piece { index: *index, piece })));
    events.push(Ok(StreamEvent::BlockStop { index: *index }));
    *index += 1;
}

/// What the API would refuse.
fn broken(request: &ModelRequest) -> Vec<String> {
    let mut wrong = Vec::new();
    let messages = &request.messages;
    if messages.first().is_none_or(|first| first.role != Role::User) {
        wrong.push("a request does not begin with a user".to_owned());
    }
    if messages.windows(2).any(|two| two[0].role == two[1].role) {
        wrong.push("roles do not alternate".to_owned());
    }
    let mut ids = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message.content.is_empty() {
            wrong.push("an empty message".to_owned());
        }
        let calls: BTreeSet<&ToolUseId> = message.content.iter().filter_map(|block| call_of(block)).collect();
        let results = messages.get(at + 1).map(results_of).unwrap_or_default();
        if calls != results && !(calls.is_empty() && at + 1 == messages.len()) {
            wrong.push(format!("calls {calls:?} have results {results:?}"));
        }
        for block in &message.content {
            match &**block {
                Block::Text { text } if text.trim().is_empty() => wrong.push("a blank text".to_owned()),
                Block::ToolUse { id, input, .. } => {
                    if !ids.insert(id.clone()) {
                        wrong.push(format!("the call {id} twice"));
                    }
                    if !Json::is_object(input) {
                        wrong.push(format!("the call {id} has no object"));
                    }
                }
                Block::Text { .. }
                | Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::ToolResult { .. }
                | Block::Image { .. }
                | Block::Other { .. } => {}
            }
        }
    }
    wrong
}

fn call_of(block: &Block) -> Option<&ToolUseId> {
    match block {
        Block::ToolUse { id, .. } => Some(id),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Other { .. } => None,
    }
}

fn results_of(message: &ApiMessage) -> BTreeSet<&ToolUseId> {
    let result = |block: &std::sync::Arc<Block>| matches!(**block, Block::ToolResult { .. });
    message
        .content
        .iter()
        .filter(|block| result(block))
        .filter_map(|block| match &**block {
            Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse { .. }
            | Block::Image { .. }
            | Block::Other { .. } => None,
        })
        .collect()
}
