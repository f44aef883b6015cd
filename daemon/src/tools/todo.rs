//! `TodoWrite`: the conversation's list of what is to be done. The list is the call's own input: nothing else keeps it.

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

/// Items of a list.
const MAX_ITEMS: usize = 200;
/// Characters of an item.
const MAX_CHARS: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The whole list, in order.
    todos: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// What is to be done.
    content: String,
    status: Status,
    /// The same while it is being done: "Running the tests".
    #[serde(rename = "activeForm")]
    active_form: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

pub struct TodoWrite {
    spec: ToolSpec,
}

impl TodoWrite {
    pub fn new() -> TodoWrite {
        TodoWrite { spec: input::spec::<Input>("TodoWrite", include_str!("todo.md")) }
    }
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    // Two lists of one message: the later one counts, so they keep their order.
    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("TodoWrite", input)?;
            if wanted.todos.len() > MAX_ITEMS {
                let count = wanted.todos.len();
                return Err(ToolFailure::TellModel(format!("{count} items are too many; at most {MAX_ITEMS}: drop what is completed")));
            }
            for (number, item) in (1..).zip(&wanted.todos) {
                for (field, text) in [("content", &item.content), ("activeForm", &item.active_form)] {
                    if text.trim().is_empty() {
                        return Err(ToolFailure::TellModel(format!("item {number}: {field} is empty")));
                    }
                    if text.chars().count() > MAX_CHARS {
                        return Err(ToolFailure::TellModel(format!("item {number}: {field} is longer than {MAX_CHARS} characters")));
                    }
                }
            }
            Ok(Subject::Other)
        })
    }

    fn call<'a>(&'a self, input: &'a Json, _call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("TodoWrite", input)?;
            let count = |status| wanted.todos.iter().filter(|item| item.status == status).count();
            let (pending, doing, done) = (count(Status::Pending), count(Status::InProgress), count(Status::Completed));
            let advice = if doing > 1 { " Work on one at a time: keep one in_progress." } else { "" };
            Ok(ToolOutput::text(format!("The list is kept: {pending} pending, {doing} in progress, {done} completed.{advice}")))
        })
    }
}
