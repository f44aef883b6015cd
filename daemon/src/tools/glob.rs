//! `Glob`: files by name, the newest first. It opens none of them.

use std::path::PathBuf;
use std::time::SystemTime;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::{AbsPath, Json};
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::search::{self, Bounds, Hidden, Pattern, Stop, Walk};
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

/// Files one call names.
const PAGE: usize = 100;
/// The same, if asked for.
const MAX_PAGE: usize = 1_000;
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
    /// Files named at most: 100 if absent, 1000 at most.
    #[serde(default)]
    head_limit: Option<usize>,
}

impl Input {
    /// The folder that is looked in, and the pattern from there on: one that starts at the root, or goes up, names its folder.
    fn place(&self, context: &ToolContext) -> (AbsPath, String) {
        let place = search::place(context, self.path.as_ref());
        if !["/", "./", "../"].iter().any(|start| self.pattern.starts_with(start)) {
            return (place, self.pattern.clone());
        }
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let parts: Vec<&str> = self.pattern.split('/').collect();
        let plain = parts.iter().take(parts.len() - 1).take_while(|part| is_plain(part)).count();
        let folder = parts[..plain].join("/");
        let folder = if self.pattern.starts_with('/') { format!("/{folder}") } else { folder };
        // From there on, not at any depth.
        (place.join(folder), format!("/{}", parts[plain..].join("/")))
    }
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
            let (place, pattern) = wanted.place(context);
            Pattern::new(&pattern)?;
            search::reading(place).await
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Glob", input)?;
            let cwd = call.context.cwd.clone();
            let (place, pattern) = wanted.place(call.context);
            let policy = call.policy.clone();
            let find = move |bounds: &Bounds| {
                let hidden = Hidden::new(&policy, &place);
                let found = find((&place, &pattern), &hidden, bounds)?;
                Ok::<_, ToolFailure>(page(&wanted, &found, &cwd, &hidden.note()))
            };
            let text = search::bounded(&call, find).await??;
            Ok(ToolOutput::text(text))
        })
    }
}

/// What a walk found.
struct Found {
    /// The newest first, then by path.
    files: Vec<PathBuf>,
    /// Files that were too many to be sorted in.
    over: usize,
    stop: Option<Stop>,
}

fn find(place: (&AbsPath, &str), hidden: &Hidden, bounds: &Bounds) -> Result<Found, ToolFailure> {
    let (place, pattern) = place;
    search::is_folder(place)?;
    let pattern = Pattern::new(pattern)?;
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    let mut over = 0_usize;
    let stop = search::walk(place.as_path(), None, hidden, bounds, |path, entry| {
        if path.strip_prefix(place.as_path()).is_ok_and(|below| pattern.takes(below)) {
            if found.len() < MAX_FOUND {
                let changed = entry.metadata().ok().and_then(|found| found.modified().ok());
                found.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), path));
            } else {
                over += 1;
            }
        }
        Walk::On
    });
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    Ok(Found { files: found.into_iter().map(|(_, path)| path).collect(), over, stop })
}

fn page(wanted: &Input, found: &Found, cwd: &AbsPath, hidden: &str) -> String {
    let (skip, total) = (wanted.offset.unwrap_or(0), found.files.len());
    let most = wanted.head_limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let start = skip.min(total);
    let files = &found.files[start..start.saturating_add(most).min(total)];
    let mut rows: Vec<String> = files.iter().map(|path| search::shown(path, cwd)).collect();
    match files.len() {
        0 if total == 0 => rows.push(format!("No file matches `{}`.", wanted.pattern)),
        0 => rows.push(format!("There are {total} files; offset {skip} is past the last.")),
        count if skip + count < total => {
            rows.push(format!("[{} to {} of {total}; go on with offset {}]", skip + 1, skip + count, skip + count));
        }
        _ => {}
    }
    if found.over > 0 {
        rows.push(format!("[{} more were not sorted in; use a narrower pattern]", found.over));
    }
    if !hidden.is_empty() {
        rows.push(hidden.to_owned());
    }
    if let Some(stop) = found.stop {
        rows.push(format!("[the search did not see everything: {stop}; look in a smaller folder]"));
    }
    rows.join("\n")
}
