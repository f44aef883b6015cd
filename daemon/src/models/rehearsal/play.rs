//! One answer of a script as a stream: words, thinking, calls, and the troubles the script asks for. It never waits itself.

use std::time::Duration;

use agentd_core::model::{BlockStart, ErrorClass, ModelError, ModelRequest, Piece, StreamEvent, UsageUpdate};
use agentd_types::content::ResultPart;
use agentd_types::{Block, Json, ToolUseId};

use super::script::{Script, ScriptedCall, ScriptedUsage, Step, StopReason};

/// What is said past the end of a script that never said anything.
const END: &str = "End of script.";

/// One thing the stream says, after a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Beat {
    pub wait: Duration,
    pub said: Result<StreamEvent, ModelError>,
}

/// Whether the answer comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    Whole,
    /// It breaks off half way.
    Cut,
}

/// The answer of step `index` (from 0) to `request`.
#[must_use]
pub fn play(script: &Script, index: usize, request: &ModelRequest, ending: Ending) -> Vec<Beat> {
    match script.steps.get(index) {
        Some(step) => beats(step, index, request, ending, script.delay_ms),
        None => {
            let text = script.steps.iter().rev().find_map(|step| step.text.clone()).unwrap_or_else(|| END.to_owned());
            beats(&Step { text: Some(text), ..Step::default() }, index, request, ending, script.delay_ms)
        }
    }
}

fn beats(step: &Step, index: usize, request: &ModelRequest, ending: Ending, delay_ms: u64) -> Vec<Beat> {
    let delay = Duration::from_millis(step.delay_ms.unwrap_or(delay_ms));
    let usage = step.usage.unwrap_or_else(|| counted(step, request));
    let mut reel = Reel { beats: Vec::new(), delay, next_block: 0 };
    let at_start = UsageUpdate {
        input: Some(usage.input),
        output: Some(1),
        cache_read: Some(usage.cache_read),
        cache_write_5m: Some(usage.cache_write),
        cache_write_1h: None,
    };
    reel.now(StreamEvent::MessageStart { api_id: format!("msg_r{}", index + 1), model: request.model.clone(), usage: at_start });
    if let Some(thinking) = step.thinking.as_deref().filter(|it| !it.is_empty()) {
        let block = BlockStart::Thinking { thinking: String::new(), signature: String::new() };
        let words = words(thinking).map(|it| Piece::Thinking(it.to_owned()));
        reel.block(block, words.chain([Piece::Signature("rehearsal".to_owned())]));
    }
    if let Some(text) = step.text.as_deref().filter(|it| !it.is_empty()) {
        reel.block(BlockStart::Text { text: String::new() }, words(text).map(|it| Piece::Text(it.to_owned())));
    }
    for (number, call) in step.tools.iter().enumerate() {
        let id = ToolUseId::new(format!("toolu_r{}_{}", index + 1, number + 1));
        let block = BlockStart::ToolUse { id, name: call.name.clone(), input: None };
        reel.block(block, halves(&input(call)).into_iter().map(Piece::InputJson));
    }
    if step.stall_ms > 0 {
        // Silence comes after the head of the answer, as from a model that hangs.
        let stall = Duration::from_millis(step.stall_ms);
        if let Some(second) = reel.beats.get_mut(1) {
            second.wait += stall;
        } else {
            reel.beats[0].wait += stall;
        }
    }
    if ending == Ending::Cut {
        let kept = reel.beats.len() / 2 + 1;
        reel.beats.truncate(kept);
        let message = format!("step {} of the script cuts this answer", index + 1);
        let error = ModelError { class: ErrorClass::StreamCut, status: None, message, retry_after_ms: None };
        reel.beats.push(Beat { wait: delay, said: Err(error) });
        return reel.beats;
    }
    let stop = step.stop.unwrap_or(if step.tools.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
    let refusal = (stop == StopReason::Refusal).then(|| "rehearsal".to_owned());
    let at_end = UsageUpdate { output: Some(usage.output), ..UsageUpdate::default() };
    reel.now(StreamEvent::MessageDelta { stop_reason: Some(stop.as_str().to_owned()), refusal, usage: at_end });
    reel.now(StreamEvent::MessageStop);
    reel.beats
}

struct Reel {
    beats: Vec<Beat>,
    delay: Duration,
    next_block: u32,
}

impl Reel {
    fn now(&mut self, event: StreamEvent) {
        self.beats.push(Beat { wait: Duration::ZERO, said: Ok(event) });
    }

    fn block(&mut self, block: BlockStart, pieces: impl Iterator<Item = Piece>) {
        let index = self.next_block;
        self.next_block += 1;
        self.now(StreamEvent::BlockStart { index, block });
        for piece in pieces {
            self.beats.push(Beat { wait: self.delay, said: Ok(StreamEvent::Piece { index, piece }) });
        }
        self.now(StreamEvent::BlockStop { index });
    }
}

/// The text in words, each with the space after it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// A call's input comes in two pieces, as from a model.
fn halves(text: &str) -> Vec<String> {
    let middle = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// The input as JSON text.
fn input(call: &ScriptedCall) -> String {
    Json::of(&json(&toml::Value::Table(call.input.clone()))).map_or_else(|_| "{}".to_owned(), |json| json.to_string())
}

fn json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.clone().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(truth) => (*truth).into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(values) => values.iter().map(json).collect(),
        toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), json(value))).collect::<serde_json::Map<_, _>>().into(),
    }
}

/// Tokens by the rule of thumb: four bytes each.
fn counted(step: &Step, request: &ModelRequest) -> ScriptedUsage {
    let system: usize = request.system.iter().map(|part| part.text.len()).sum();
    let tools: usize = request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.as_str().len()).sum();
    let messages: usize = request.messages.iter().flat_map(|message| &message.content).map(|block| size(block)).sum();
    let said = step.text.as_deref().map_or(0, str::len) + step.thinking.as_deref().map_or(0, str::len);
    let called: usize = step.tools.iter().map(|call| input(call).len()).sum();
    ScriptedUsage { input: tokens(system + tools + messages), output: tokens(said + called), cache_read: 0, cache_write: 0 }
}

fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4).max(1)
}

fn size(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::Thinking { thinking, .. } => thinking.len(),
        Block::RedactedThinking { data } => data.len(),
        Block::ToolUse { name, input, .. } => name.len() + input.as_str().len(),
        Block::ToolResult { content, .. } => content
            .iter()
            .map(|part| match part {
                ResultPart::Text { text } => text.len(),
                // An image costs by its pixels, not by its bytes.
                ResultPart::Image { .. } => 6000,
            })
            .sum(),
        Block::Image { .. } => 6000,
        Block::Other { json } => json.as_str().len(),
    }
}
