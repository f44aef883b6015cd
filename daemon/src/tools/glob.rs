//! `Glob`: files by name, the newest first. It opens none of them.

use std::path::PathBuf;
use std::time::SystemTime;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::{AbsPath, Json};
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::search::{self, Bounds, Pattern, Stop};
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

/// Files one call names.
const PAGE: usize = 100;
/// Files one call finds at all.
const MAX_FOUND: usize = 100_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The pattern of the files' paths.
    pattern: String,
    /// The folder to look in; the working folder if absent.
    #[serde(default)]
    path: Option<String>,
    /// Files to skip, for the next page.
    #[serde(default)]
    offset: Option<usize>,
}

pub struct Glob {
    spec: ToolSpec,
}

impl Glob {
    pub fn new() -> Glob {
        Glob { spec: input::spec::<Input>("Glob", include_str!("glob.md")) }
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Glob", input)?;
            Pattern::new(&wanted.pattern)?;
            search::reading(search::place(context, wanted.path.as_ref())).await
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Glob", input)?;
            let (place, cwd) = (search::place(call.context, wanted.path.as_ref()), call.context.cwd.clone());
            let text = search::bounded(&call, move |bounds| find(&wanted, &place, &cwd, bounds)).await??;
            Ok(ToolOutput::text(text))
        })
    }
}

fn find(wanted: &Input, place: &AbsPath, cwd: &AbsPath, bounds: &Bounds) -> Result<String, ToolFailure> {
    search::is_folder(place)?;
    let pattern = Pattern::new(&wanted.pattern)?;
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    let mut over = 0_usize;
    let stop = search::walk(place.as_path(), None, bounds, |path, entry| {
        if path.strip_prefix(place.as_path()).is_ok_and(|below| pattern.takes(below)) {
            if found.len() < MAX_FOUND {
                let changed = entry.metadata().ok().and_then(|found| found.modified().ok());
                found.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), path));
            } else {
                over += 1;
            }
        }
    });
    // The newest first, then by path.
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let paths: Vec<String> = found.iter().map(|(_, path)| search::shown(path, cwd)).collect();
    Ok(page(&paths, wanted, over, stop))
}

fn page(paths: &[String], wanted: &Input, over: usize, stop: Option<Stop>) -> String {
    let skip = wanted.offset.unwrap_or(0);
    let shown = &paths[skip.min(paths.len())..(skip + PAGE).min(paths.len()).max(skip.min(paths.len()))];
    let mut out = shown.join("\n");
    match (paths.len(), shown.len()) {
        (0, _) => out = format!("No file matches `{}`.", wanted.pattern),
        (total, 0) => out = format!("There are {total} files; offset {skip} is past the last."),
        (total, count) if skip + count < total => {
            out += &format!("\n[{} to {} of {total}; go on with offset {}]", skip + 1, skip + count, skip + count);
        }
        _ => {}
    }
    if over > 0 {
        out += &format!("\n[{over} more were not sorted in; use a narrower pattern]");
    }
    if let Some(stop) = stop {
        out += &format!("\n[the search did not see everything: {stop}; look in a smaller folder]");
    }
    out
}
