//! Questions to whoever is attached, and their answers; how a choice is read is `core::session`.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Origin, RequestId, Timestamp, ToolUseId};

/// A question that waits for an answer; durable, answerable by any client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub id: RequestId,
    pub agent: Option<AgentId>,
    #[serde(flatten)]
    pub asks: Asks,
    /// A few words above it.
    pub header: String,
    pub question: String,
    pub options: Vec<Choice>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
    pub asked_at: Timestamp,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Asks {
    /// A call of the model, with `place` counting its questions from 0. Free text is an answer too.
    Call { tool_use: ToolUseId, place: u32 },
    /// The daemon, after a crash: shall the submission go on? One of the options is the answer.
    Resume,
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    /// What it means; may be empty.
    pub description: String,
}

/// What was said to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// Labels, or a text of the answerer's own.
    Chosen { choices: Vec<String> },
    /// Nobody answered: its submission ended first.
    Withdrawn,
}

impl Reply {
    /// The words for logs and the "already answered" error.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Reply::Chosen { choices } => choices.join(", "),
            Reply::Withdrawn => "withdrawn".to_owned(),
        }
    }
}

/// A question's end: the first answer wins and its author is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub id: RequestId,
    #[serde(flatten)]
    pub reply: Reply,
    pub by: Origin,
}
