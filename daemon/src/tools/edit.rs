//! `Edit`: one exact replacement in a file that was read. Bytes outside of it stay; a file that is no text is left alone.

use agentd_core::permission::Subject;
use agentd_core::tools::alike::Likeness;
use agentd_core::tools::edit::{Edited, Which, edit};
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::{AbsPath, Json};
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::change;
use super::input;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::files::SeenFile;
use crate::files::open::Place;

/// Lines around the change that the result shows.
const AROUND: usize = 3;
/// Lines of the result at most.
const SHOWN: usize = 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, absolute or relative to the working folder.
    file_path: String,
    /// The text to replace, exactly as it stands in the file.
    old_string: String,
    /// What to put in its place.
    new_string: String,
    /// Replace every match instead of the only one.
    #[serde(default)]
    replace_all: bool,
}

pub struct Edit {
    spec: ToolSpec,
}

impl Edit {
    pub fn new() -> Edit {
        Edit { spec: input::spec::<Input>("Edit", include_str!("edit.md")) }
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::SideEffects, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        match input::read::<Input>("Edit", input) {
            Ok(wanted) => input::editing(context, wanted.file_path),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Edit", input)?;
            let place = input::allowed(&call)?;
            let known = call.context.read_cache.get(&place.path).cloned();
            let (seen, text) = input::blocking(move || replace(&place, known.as_ref(), &wanted)).await??;
            Ok(ToolOutput { changes: vec![ContextChange::Seen(seen)], ..ToolOutput::text(text) })
        })
    }
}

fn replace(place: &Place, known: Option<&SeenFile>, wanted: &Input) -> Result<(SeenFile, String), ToolFailure> {
    let which = if wanted.replace_all { Which::All } else { Which::Only };
    change(place, known, |text| {
        let edited = edit(text, &wanted.old_string, &wanted.new_string, which).map_err(|error| error.to_string())?;
        let shown = shown(&place.path, &edited);
        Ok((edited.text, shown))
    })
}

/// The changed lines, with some around them.
fn shown(path: &AbsPath, edited: &Edited) -> String {
    let first = edited.lines.0.saturating_sub(AROUND).max(1);
    let count = (edited.lines.1 + AROUND + 1 - first).min(SHOWN);
    let forgiven = match edited.likeness {
        Likeness::Exact | Likeness::LineEnds => "",
        Likeness::Characters | Likeness::Trailing => " (found but for quotes or spaces: those of the file were kept)",
    };
    let place = if edited.replaced == 1 { "Now" } else { "Around the first, now" };
    let mut shown = format!("{path}: {} replaced{forgiven}. {place}:\n", edited.replaced);
    for (line, number) in edited.text.lines().zip(1u64..).skip(first - 1).take(count) {
        shown.push_str(&input::numbered(number, line));
    }
    shown
}
