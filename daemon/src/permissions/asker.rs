//! How a question reaches whoever may answer; implemented by `sessions`.

use std::pin::Pin;

use agentd_core::query::StoreFailure;
use agentd_types::question::Choice;
use agentd_types::{Json, Origin, ToolUseId};

/// A call that needs an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub tool_use: ToolUseId,
    pub tool_name: String,
    pub input: Json,
    /// Why it asks, for a person.
    pub reason: String,
    /// Rules that "allow always" would write.
    pub suggestions: Vec<String>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Allowed {
        updated_input: Option<Json>,
        by: Origin,
    },
    Denied {
        message: Option<String>,
        by: Origin,
    },
    /// Nobody answers here and now: the call stays open, the submission parks.
    Open,
    /// The submission ends; an interrupted result follows.
    Withdrawn,
    StoreFailed(StoreFailure),
}

/// A question of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub header: String,
    pub question: String,
    pub options: Vec<Choice>,
    pub multi_select: bool,
}

/// What came of a call's questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// What was chosen, question by question.
    Answers(Vec<Vec<String>>),
    /// Nobody is asked; what the model is told.
    Denied {
        message: String,
    },
    /// Nobody answers here and now: the call stays open, the submission parks.
    Open,
    /// The submission ends; an interrupted result follows.
    Withdrawn,
    StoreFailed(StoreFailure),
}

/// Asks. The request is a durable event before anyone sees it; the first answer wins.
pub trait Asker: Send + Sync {
    fn ask(&self, ask: Ask) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>>;

    /// The same for a call's questions.
    fn ask_person(&self, tool_use: ToolUseId, questions: Vec<Asked>) -> Pin<Box<dyn Future<Output = Said> + Send + '_>>;
}
