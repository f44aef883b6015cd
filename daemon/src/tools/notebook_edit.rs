//! `NotebookEdit`: one cell of a notebook that was read is replaced, inserted or deleted. No byte of another cell changes.

use agentd_core::permission::Subject;
use agentd_core::tools::notebook::{CellKind, Change, apply};
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::change;
use super::input;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The notebook, absolute or relative to the working folder.
    notebook_path: String,
    /// The cell, as Read names it; for insert the one before, or none for the front.
    #[serde(default)]
    cell_id: Option<String>,
    /// The cell's whole new text; not needed for delete.
    #[serde(default)]
    new_source: Option<String>,
    /// What the cell holds: needed for insert; a replaced one stays what it is without.
    #[serde(default)]
    cell_type: Option<Kind>,
    #[serde(default)]
    edit_mode: Mode,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Code,
    Markdown,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl Mode {
    const fn done(self) -> &'static str {
        match self {
            Mode::Replace => "replaced",
            Mode::Insert => "inserted",
            Mode::Delete => "deleted",
        }
    }
}

impl Input {
    fn change<'a>(&'a self, id: &'a str) -> Result<Change<'a>, ToolFailure> {
        let tell = |text: &str| ToolFailure::TellModel(text.to_owned());
        let cell = self.cell_id.as_deref();
        let named = || cell.ok_or_else(|| tell("cell_id is missing: which cell? Read shows their ids"));
        let source = || self.new_source.as_deref().ok_or_else(|| tell("new_source is missing: the cell's whole new text"));
        let kind = self.cell_type.map(|kind| match kind {
            Kind::Code => CellKind::Code,
            Kind::Markdown => CellKind::Markdown,
        });
        Ok(match self.edit_mode {
            Mode::Replace => Change::Replace { cell: named()?, source: source()?, kind },
            Mode::Insert => {
                let kind = kind.ok_or_else(|| tell("cell_type is missing: a new cell is `code` or `markdown`"))?;
                Change::Insert { after: cell, source: source()?, kind, id }
            }
            Mode::Delete => Change::Delete { cell: named()? },
        })
    }
}

pub struct NotebookEdit {
    spec: ToolSpec,
}

impl NotebookEdit {
    pub fn new() -> NotebookEdit {
        NotebookEdit { spec: input::spec::<Input>("NotebookEdit", include_str!("notebook_edit.md")) }
    }
}

impl Tool for NotebookEdit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::SideEffects, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        let wanted = input::read::<Input>("NotebookEdit", input).and_then(|wanted| wanted.change("").map(|_| ()).map(|()| wanted));
        match wanted {
            Ok(wanted) => input::editing(context, wanted.notebook_path),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("NotebookEdit", input)?;
            let place = input::allowed(&call)?;
            let known = call.context.read_cache.get(&place.path).cloned();
            // Of the call, so that the same call makes the same cell.
            let id = format!("{:08x}", crc32c::crc32c(call.id.as_str().as_bytes()));
            let (seen, text) = input::blocking(move || {
                let new = wanted.change(&id)?;
                let (seen, name) = change(&place, known.as_ref(), |text| apply(text, &new).map_err(|error| error.to_string()))?;
                Ok::<_, ToolFailure>((seen, format!("{}: cell `{name}` is {}.", place.path, wanted.edit_mode.done())))
            })
            .await??;
            Ok(ToolOutput { changes: vec![ContextChange::Seen(seen)], ..ToolOutput::text(text) })
        })
    }
}
