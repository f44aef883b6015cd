//! How a question reaches whoever may answer; implemented by `sessions`.

use std::pin::Pin;

use agentd_core::query::StoreFailure;
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

/// Asks. The request is a durable event before anyone sees it; the first answer wins.
pub trait Asker: Send + Sync {
    fn ask(&self, ask: Ask) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>>;
}
