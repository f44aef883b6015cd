//! A conversation in memory: what was said, what was read, where it stands. Folded from the session's events alone;
//! it never appends one itself.

use std::collections::HashSet;
use std::sync::Arc;

use agentd_core::context::{Said, Sent};
use agentd_core::model::ending::After;
use agentd_core::session::{SeenFact, Standing};
use agentd_types::content::Role;
use agentd_types::event::{AssistantMessage, UserMessage};
use agentd_types::system::{Frame, System};
use agentd_types::{AbsPath, AgentId, Block, Body, Event, MessageId, Timestamp, ToolUseId, Usage};

use crate::files::{ReadCache, SeenFile};
use crate::tools::todo::{self, Todo};
use crate::tools::tool::Call;

/// The engine's memory of one session.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// Whose it is; absent = the main loop's.
    whose: Option<AgentId>,
    said: Vec<Said>,
    ids: Vec<MessageId>,
    /// The calls of the newest assistant message, in its order.
    calls: Vec<Call>,
    /// Every call id there is: the model must not use one twice.
    call_ids: Arc<HashSet<ToolUseId>>,
    /// What is to be done, as the newest `TodoWrite` left it.
    todos: Vec<Todo>,
    pub read_cache: ReadCache,
    /// Where tools are, if it is no longer the session's own folder.
    pub cwd: Option<AbsPath>,
    /// What stands in front of the messages, as it was recorded.
    pub frame: Option<Arc<Frame>>,
    /// When it was last used, or made.
    pub frame_used_at: Timestamp,
    /// When the session was made.
    pub created_at: Timestamp,
    /// The request that was sent last; not recorded.
    pub sent: Option<Box<Sent>>,
    /// Prefixes that changed under the provider's cache, since the conversation was loaded.
    pub cache_breaks: u32,
    /// Answers of the main conversation.
    pub replies: u32,
    /// What the newest answer used: the best gauge of the context's size.
    pub last_usage: Usage,
    /// Bytes said since that answer.
    pub bytes_since: u64,
}

impl Conversation {
    /// A subagent's, before it has said anything.
    #[must_use]
    pub fn of_agent(agent: AgentId, created_at: Timestamp) -> Conversation {
        Conversation { whose: Some(agent), created_at, ..Conversation::default() }
    }

    /// Whose it is; absent = the main loop's.
    #[must_use]
    pub fn whose(&self) -> Option<AgentId> {
        self.whose
    }

    #[must_use]
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// The calls of `ids`, in that order, as the model made them.
    #[must_use]
    pub fn calls(&self, ids: &[ToolUseId]) -> Vec<Call> {
        ids.iter().filter_map(|id| self.calls.iter().find(|call| call.id == *id)).cloned().collect()
    }

    /// Every call id there is; shared, not copied.
    #[must_use]
    pub fn call_ids(&self) -> Arc<HashSet<ToolUseId>> {
        Arc::clone(&self.call_ids)
    }

    /// What is to be done, in order.
    #[must_use]
    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// Whether the newest answer called the tool of that name.
    #[must_use]
    pub fn has_called(&self, tool: &str) -> bool {
        self.calls.iter().any(|call| call.name == tool)
    }

    /// What the newest user message is, for a model that answers it.
    #[must_use]
    pub fn after(&self) -> After {
        let newest = self.said.iter().rev().take_while(|said| said.role == Role::User);
        let has_result = newest.flat_map(|said| &said.content).any(|block| matches!(**block, Block::ToolResult { .. }));
        if has_result { After::Results } else { After::Words }
    }

    /// The text of the newest answer.
    #[must_use]
    pub fn last_text(&self) -> Option<String> {
        let said = self.said.iter().rev().find(|said| said.role == Role::Assistant)?;
        let texts: Vec<&str> = said.content.iter().filter_map(|block| block.as_text()).collect();
        Some(texts.join("\n"))
    }

    /// Folds one durable event.
    pub fn fold(&mut self, event: &Event) {
        if event.agent != self.whose {
            return;
        }
        match &event.body {
            Body::User(user) => self.fold_user(user),
            Body::Attachment(attachment) => self.say(attachment.message, Role::User, &attachment.content, None),
            Body::Assistant(assistant) => {
                self.frame_used_at = event.time;
                self.fold_assistant(assistant);
            }
            Body::System(System::Created { .. }) => self.created_at = event.time,
            Body::System(System::Frame(frame)) => {
                self.frame_used_at = event.time;
                self.frame = Some(Arc::new(frame.clone()));
            }
            Body::Tombstone { message, .. } => self.forget(*message),
            Body::System(System::LoopState(record)) => {
                if let Some(standing) = Standing::read(&record.state) {
                    standing.seen.into_iter().for_each(|fact| self.read_cache.put(seen_file(fact)));
                    self.cwd = standing.cwd.or(self.cwd.take());
                }
            }
            Body::System(_)
            | Body::Result(_)
            | Body::PermissionRequest(_)
            | Body::PermissionResolved(_)
            | Body::Question(_)
            | Body::Answer(_)
            | Body::Queue(_)
            | Body::Task(_) => {}
        }
    }

    fn fold_user(&mut self, user: &UserMessage) {
        for block in &user.content {
            let Block::ToolResult { tool_use_id, is_error: false, .. } = block else { continue };
            let call = self.calls.iter().find(|call| call.id == *tool_use_id && call.name == todo::NAME);
            if let Some(todos) = call.and_then(|call| todo::written(&call.input)) {
                self.todos = todos;
            }
        }
        self.say(user.message, Role::User, &user.content, None);
    }

    fn fold_assistant(&mut self, assistant: &AssistantMessage) {
        self.calls = assistant.content.iter().filter_map(as_call).collect();
        Arc::make_mut(&mut self.call_ids).extend(self.calls.iter().map(|call| call.id.clone()));
        self.replies += 1;
        self.last_usage = assistant.usage;
        self.bytes_since = 0;
        self.say(assistant.message, Role::Assistant, &assistant.content, Some(Arc::from(assistant.model.as_str())));
    }

    fn say(&mut self, id: MessageId, role: Role, content: &[Block], model: Option<Arc<str>>) {
        self.bytes_since += content.iter().map(|block| block.bytes() as u64).sum::<u64>();
        self.ids.push(id);
        self.said.push(Said { role, content: content.iter().cloned().map(Arc::new).collect(), model });
    }

    fn forget(&mut self, message: MessageId) {
        while let Some(at) = self.ids.iter().rposition(|id| *id == message) {
            self.ids.remove(at);
            let said = self.said.remove(at);
            // Taken back on purpose: the next request is shorter, and that is no break.
            self.sent = None;
            if said.role == Role::Assistant {
                self.calls.clear();
                self.replies = self.replies.saturating_sub(1);
            }
        }
    }

    /// Tokens the next request will hold: the last real count, and an estimate for what came after it (4 bytes a token).
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.last_usage.total_input() + self.last_usage.output + self.bytes_since / 4
    }
}

fn as_call(block: &Block) -> Option<Call> {
    match block {
        Block::ToolUse { id, name, input } => Some(Call { id: id.clone(), name: name.clone(), input: input.clone() }),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Other { .. } => None,
    }
}

/// As files keep it.
#[must_use]
pub fn seen_file(fact: SeenFact) -> SeenFile {
    SeenFile { path: fact.path, mtime_ns: i128::from(fact.mtime_ns), len: fact.len, crc: fact.crc, range: fact.range }
}

/// As the log keeps it.
#[must_use]
pub fn seen_fact(seen: &SeenFile) -> SeenFact {
    SeenFact {
        path: seen.path.clone(),
        mtime_ns: i64::try_from(seen.mtime_ns).unwrap_or(i64::MAX),
        len: seen.len,
        crc: seen.crc,
        range: seen.range,
    }
}

#[cfg(test)]
mod tests;
