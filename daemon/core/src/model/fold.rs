//! Folds a model's stream into a message, and its pieces into deltas. It never alters a good block, and never runs a call.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use agentd_types::live::DeltaKind;
use agentd_types::{Block, Json, ToolUseId, Usage};

use self::draft::{CutCalls, Draft, DraftKind, Place, close, drop_thinking, size};
use super::repair::{self, Repair};
use super::stream::{BlockStart, ErrorClass, ModelError, Piece, StreamEvent, UsageUpdate};

mod draft;

/// Blocks of one message at most.
pub const MAX_BLOCKS: usize = 4096;
/// Bytes of one message at most: a request may have 32 MB, so a longer answer could never be sent back.
pub const MAX_BYTES: usize = 32 << 20;

/// A piece as clients see it; the message's id is added by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldDelta {
    /// The block's index in the stream.
    pub block: u32,
    /// Bytes of that block before this piece.
    pub offset: u64,
    pub kind: DeltaKind,
    pub text: String,
}

/// Whether the stream came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FoldEnd {
    /// `message_stop` came.
    Whole,
    /// It did not: whatever there is was cut.
    Cut,
}

/// A message made of a stream, fit to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    pub api_id: String,
    /// The model that answered, as the provider named it.
    pub model: String,
    /// No blank text, only complete calls, names and ids as providers take them.
    pub blocks: Vec<Block>,
    /// As the provider said it.
    pub stop_reason: Option<String>,
    /// The category of a refusal, where the provider gave one.
    pub refusal: Option<String>,
    pub usage: Usage,
    pub end: FoldEnd,
    /// What had to be repaired; each is a notice.
    pub repairs: Vec<Repair>,
}

impl Folded {
    /// The complete calls, in the order the model asked for them.
    pub fn calls(&self) -> impl Iterator<Item = (&ToolUseId, &str, &Json)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input } => Some((id, name.as_str(), input)),
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolResult { .. }
            | Block::Image { .. }
            | Block::Other { .. } => None,
        })
    }

    /// The answer ended at a limit: the output's or the context window's.
    #[must_use]
    pub fn is_at_limit(&self) -> bool {
        matches!(self.stop_reason.as_deref(), Some("max_tokens" | "model_context_window_exceeded"))
    }
}

/// A call's block that has come to its end while the stream goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    /// As it will stand in the message.
    Call { id: ToolUseId, name: String, input: Json },
    /// Only the message's end tells what becomes of it: its input is empty or odd, or blocks come out of order.
    Unsure,
}

/// The fold. Feed it every event of one stream, in order, then [`finish`](Folder::finish).
#[derive(Debug)]
pub struct Folder {
    /// Call ids the conversation has already.
    taken: Arc<HashSet<ToolUseId>>,
    open: BTreeMap<u32, Draft>,
    api_id: String,
    model: String,
    stop_reason: Option<String>,
    refusal: Option<String>,
    usage: UsageUpdate,
    bytes: usize,
    phase: Phase,
    repairs: Vec<Repair>,
    completed: Option<Completed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    Inside,
    After,
}

impl Folder {
    /// A fold for one stream; `taken` = the call ids the conversation has already.
    #[must_use]
    pub fn new(taken: Arc<HashSet<ToolUseId>>) -> Folder {
        Folder {
            taken,
            open: BTreeMap::new(),
            api_id: String::new(),
            model: String::new(),
            stop_reason: None,
            refusal: None,
            usage: UsageUpdate::default(),
            bytes: 0,
            phase: Phase::Before,
            repairs: Vec::new(),
            completed: None,
        }
    }

    /// Takes one event; gives the piece to show, if there is one.
    ///
    /// # Errors
    /// Class `Protocol` when the events cannot be one message, or it grows past its bounds; the fold can still be finished.
    pub fn feed(&mut self, event: StreamEvent) -> Result<Option<FoldDelta>, ModelError> {
        match event {
            StreamEvent::Ping => Ok(None),
            StreamEvent::MessageStart { api_id, model, usage } => {
                if self.phase != Phase::Before {
                    return Err(odd("a second message began in one answer"));
                }
                self.phase = Phase::Inside;
                self.grow(api_id.len() + model.len())?;
                (self.api_id, self.model, self.usage) = (api_id, model, usage);
                Ok(None)
            }
            StreamEvent::BlockStart { index, block } => {
                self.inside("a block")?;
                self.start(index, block)
            }
            StreamEvent::Piece { index, piece } => {
                self.inside("a piece of a block")?;
                self.piece(index, piece)
            }
            StreamEvent::BlockStop { index } => {
                self.inside("a block's end")?;
                // llama.cpp stops blocks it never started when an answer is empty: harmless.
                if let Some(draft) = self.open.get_mut(&index) {
                    draft.stopped = true;
                    self.completed = self.complete(index);
                }
                Ok(None)
            }
            StreamEvent::MessageDelta { stop_reason, refusal, usage } => {
                self.inside("a message's end")?;
                self.usage = merged(self.usage, usage);
                self.stop_reason = stop_reason.or(self.stop_reason.take());
                self.refusal = refusal.or(self.refusal.take());
                Ok(None)
            }
            StreamEvent::MessageStop => {
                self.inside("a message's end")?;
                self.phase = Phase::After;
                Ok(None)
            }
        }
    }

    /// The call whose block the last event ended, once.
    pub fn take_completed(&mut self) -> Option<Completed> {
        self.completed.take()
    }

    fn complete(&self, index: u32) -> Option<Completed> {
        let DraftKind::ToolUse { id, name, given, pieces } = &self.open.get(&index)?.kind else { return None };
        let before_is_open = self.open.range(..index).any(|(_, draft)| matches!(draft.kind, DraftKind::ToolUse { .. }) && !draft.stopped);
        let text = if pieces.trim().is_empty() { given.as_ref().map_or("", Json::as_str) } else { pieces };
        // An empty input at the output limit is a cut one: the limit is told after the block.
        let is_empty = text.trim().is_empty() || text == "{}";
        Some(match repair::read_input(text) {
            Ok(input) if !is_empty && !before_is_open => Completed::Call { id: id.clone(), name: name.clone(), input },
            Ok(_) | Err(_) => Completed::Unsure,
        })
    }

    /// Whether the block holds text.
    #[must_use]
    pub fn is_text(&self, index: u32) -> bool {
        self.open.get(&index).is_some_and(|draft| matches!(&draft.kind, DraftKind::Text(text) if !text.is_empty()))
    }

    /// The tokens counted so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        counted(self.usage)
    }

    /// Whether anything was begun that a client may have been shown.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        !self.open.is_empty()
    }

    /// The message. Without `message_stop` it is cut: text stays, an open call or unsigned thinking does not.
    #[must_use]
    pub fn finish(mut self) -> Folded {
        let end = if self.phase == Phase::After { FoldEnd::Whole } else { FoldEnd::Cut };
        let usage = self.usage();
        let cut_calls = match (end, self.stop_reason.as_deref()) {
            (FoldEnd::Cut, _) | (_, Some("max_tokens" | "model_context_window_exceeded" | "refusal")) => CutCalls::Possible,
            (FoldEnd::Whole, _) => CutCalls::Impossible,
        };
        let drafts = std::mem::take(&mut self.open);
        let last = drafts.last_key_value().map(|(index, _)| *index);
        let mut blocks = Vec::with_capacity(drafts.len());
        for (index, draft) in drafts {
            let place = Place { end, cut_calls, is_last: last == Some(index) };
            blocks.extend(close(draft, place, &mut self.repairs));
        }
        let altered = self.repairs.iter().any(|it| !matches!(it, Repair::CutCall { .. }));
        if altered {
            drop_thinking(&mut blocks, &mut self.repairs);
        }
        Folded {
            api_id: self.api_id,
            model: self.model,
            blocks,
            stop_reason: self.stop_reason,
            refusal: self.refusal,
            usage,
            end,
            repairs: self.repairs,
        }
    }

    fn inside(&self, what: &str) -> Result<(), ModelError> {
        match self.phase {
            Phase::Inside => Ok(()),
            Phase::Before => Err(odd(&format!("{what} came before the message began"))),
            Phase::After => Err(odd(&format!("{what} came after the message had ended"))),
        }
    }

    fn grow(&mut self, by: usize) -> Result<(), ModelError> {
        self.bytes += by;
        if self.bytes > MAX_BYTES {
            return Err(odd(&format!("the answer is longer than {} MiB", MAX_BYTES >> 20)));
        }
        Ok(())
    }

    fn start(&mut self, index: u32, block: BlockStart) -> Result<Option<FoldDelta>, ModelError> {
        if self.open.contains_key(&index) {
            return Err(odd(&format!("block {index} began twice")));
        }
        if self.open.len() >= MAX_BLOCKS {
            return Err(odd(&format!("the answer has more than {MAX_BLOCKS} blocks")));
        }
        self.grow(size(&block))?;
        let shown = |kind, text: &str| (!text.is_empty()).then(|| FoldDelta { block: index, offset: 0, kind, text: text.to_owned() });
        let (kind, delta) = match block {
            BlockStart::Text { text } => {
                let delta = shown(DeltaKind::Text, &text);
                (DraftKind::Text(text), delta)
            }
            BlockStart::Thinking { thinking, signature } => {
                let delta = shown(DeltaKind::Thinking, &thinking);
                (DraftKind::Thinking { thinking, signature }, delta)
            }
            BlockStart::RedactedThinking { data } => (DraftKind::Redacted(data), None),
            BlockStart::ToolUse { id, name, input } => (self.call(id, name, input), None),
            BlockStart::Other { json } => (DraftKind::Other { json, pieces: String::new() }, None),
        };
        self.open.insert(index, Draft { kind, stopped: false });
        Ok(delta)
    }

    /// A call's draft, its id and name made good at once: a read-only call may start before the message ends.
    fn call(&mut self, id: ToolUseId, name: String, given: Option<Json>) -> DraftKind {
        let taken_here = |candidate: &ToolUseId| {
            self.taken.contains(candidate)
                || self.open.values().any(|draft| matches!(&draft.kind, DraftKind::ToolUse { id, .. } if id == candidate))
        };
        let now = repair::good_id(&id, taken_here);
        if now != id {
            self.repairs.push(Repair::CallId { was: id, now: now.clone() });
        }
        let name = if repair::is_good_name(&name) {
            name
        } else {
            let good = repair::good_name(&name);
            self.repairs.push(Repair::ToolName { was: name, now: good.clone() });
            good
        };
        DraftKind::ToolUse { id: now, name, given, pieces: String::new() }
    }

    fn piece(&mut self, index: u32, piece: Piece) -> Result<Option<FoldDelta>, ModelError> {
        self.grow(match &piece {
            Piece::Text(it) | Piece::Thinking(it) | Piece::Signature(it) | Piece::InputJson(it) => it.len(),
            Piece::Other => 0,
        })?;
        let Some(draft) = self.open.get_mut(&index) else {
            return Err(odd(&format!("a piece came for block {index}, which never began")));
        };
        let (kind, into, text) = match (&mut draft.kind, piece) {
            // Kinds of deltas we do not know (citations, say) carry nothing that must go back.
            (_, Piece::Other) => return Ok(None),
            (DraftKind::Text(into), Piece::Text(text)) => (DeltaKind::Text, into, text),
            (DraftKind::Thinking { thinking, .. }, Piece::Thinking(text)) => (DeltaKind::Thinking, thinking, text),
            (DraftKind::Thinking { signature, .. }, Piece::Signature(text)) => {
                *signature = text;
                return Ok(None);
            }
            (DraftKind::ToolUse { pieces, .. }, Piece::InputJson(text)) => (DeltaKind::ToolInput, pieces, text),
            (DraftKind::Other { pieces, .. }, Piece::InputJson(text)) => {
                pieces.push_str(&text);
                return Ok(None);
            }
            // A block of a kind we do not know may grow in ways we do not know.
            (DraftKind::Other { .. }, _) => return Ok(None),
            (DraftKind::Text(_) | DraftKind::Thinking { .. } | DraftKind::Redacted(_) | DraftKind::ToolUse { .. }, _) => {
                return Err(odd(&format!("a piece of another kind came for block {index}")));
            }
        };
        if text.is_empty() {
            return Ok(None);
        }
        let offset = into.len() as u64;
        into.push_str(&text);
        Ok(Some(FoldDelta { block: index, offset, kind, text }))
    }
}

/// `new` over `old`, count by count.
fn merged(old: UsageUpdate, new: UsageUpdate) -> UsageUpdate {
    UsageUpdate {
        input: new.input.or(old.input),
        output: new.output.or(old.output),
        cache_read: new.cache_read.or(old.cache_read),
        cache_write_5m: new.cache_write_5m.or(old.cache_write_5m),
        cache_write_1h: new.cache_write_1h.or(old.cache_write_1h),
    }
}

fn counted(update: UsageUpdate) -> Usage {
    // A count beyond all reason must not overflow a session's sums.
    let count = |value: Option<u64>| value.unwrap_or(0).min(1 << 40);
    Usage {
        input: count(update.input),
        output: count(update.output),
        cache_read: count(update.cache_read),
        cache_write_5m: count(update.cache_write_5m),
        cache_write_1h: count(update.cache_write_1h),
    }
}

fn odd(what: &str) -> ModelError {
    ModelError {
        class: ErrorClass::Protocol,
        status: None,
        message: format!("the model's answer makes no sense: {what}"),
        retry_after_ms: None,
    }
}

#[cfg(test)]
mod tests;
