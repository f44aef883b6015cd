//! `Grep`: lines that match, found by ripgrep's own crates. It changes nothing and never waits for a pipe or a device.

mod file;
mod report;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::{AbsPath, Json};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use self::file::search_file;
use self::report::Report;
use super::input;
use super::search::{self, Bounds, Pattern};
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};

/// Bytes of a compiled pattern.
const MAX_REGEX: usize = 10 << 20;
/// Lines around a match at most.
const MAX_AROUND: usize = 1_000;

/// What is shown of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The regular expression.
    pattern: String,
    /// The file or folder to search; the working folder if absent.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose path matches this pattern.
    #[serde(default)]
    glob: Option<String>,
    /// Only files of this type, as ripgrep names them.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    output_mode: Mode,
    /// Lines shown after each match.
    #[serde(default, rename = "-A")]
    after: Option<usize>,
    /// Lines shown before each match.
    #[serde(default, rename = "-B")]
    before: Option<usize>,
    /// Lines shown around each match.
    #[serde(default, rename = "-C", alias = "context")]
    around: Option<usize>,
    /// Whether lines have their numbers; true if absent.
    #[serde(default, rename = "-n")]
    numbers: Option<bool>,
    /// Whether case does not matter.
    #[serde(default, rename = "-i")]
    any_case: Option<bool>,
    /// Whether only the matching part of a line is shown.
    #[serde(default, rename = "-o")]
    only_matching: Option<bool>,
    /// Whether a match may span lines.
    #[serde(default)]
    multiline: Option<bool>,
    /// Lines (or files) shown at most; 250 if absent, 0 = as many as fit.
    #[serde(default)]
    head_limit: Option<usize>,
    /// Lines (or files) to skip, for the next page.
    #[serde(default)]
    offset: Option<usize>,
}

impl Input {
    fn is(flag: Option<bool>) -> bool {
        flag.unwrap_or(false)
    }

    fn lines_before(&self) -> usize {
        self.before.or(self.around).unwrap_or(0).min(MAX_AROUND)
    }

    fn lines_after(&self) -> usize {
        self.after.or(self.around).unwrap_or(0).min(MAX_AROUND)
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolFailure> {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(Input::is(self.any_case)).multi_line(true).size_limit(MAX_REGEX).dfa_size_limit(MAX_REGEX);
        if Input::is(self.multiline) {
            builder.dot_matches_new_line(true);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        builder.build(&self.pattern).map_err(|error| {
            let advice = "escape what is meant literally, as in `interface\\{\\}`; a pattern over several lines needs multiline";
            ToolFailure::TellModel(format!("`{}` is no regular expression: {error}; {advice}", self.pattern))
        })
    }
}

pub struct Grep {
    spec: ToolSpec,
}

impl Grep {
    pub fn new() -> Grep {
        Grep { spec: input::spec::<Input>("Grep", include_str!("grep.md")) }
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Grep", input)?;
            wanted.matcher()?;
            wanted.glob.as_deref().map(Pattern::new).transpose()?;
            search::types(wanted.kind.as_ref())?;
            search::reading(search::place(context, wanted.path.as_ref())).await
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Grep", input)?;
            let (place, cwd) = (search::place(call.context, wanted.path.as_ref()), call.context.cwd.clone());
            let text = search::bounded(&call, move |bounds| look(&wanted, &place, &cwd, bounds)).await??;
            Ok(ToolOutput::text(text))
        })
    }
}

fn look(wanted: &Input, place: &AbsPath, cwd: &AbsPath, bounds: &Bounds) -> Result<String, ToolFailure> {
    let matcher = wanted.matcher()?;
    let found =
        std::fs::metadata(place.as_path()).map_err(|error| ToolFailure::TellModel(format!("{place} cannot be searched: {error}")))?;
    let mut report = Report::new(wanted, cwd);
    let stop = if found.is_dir() {
        let pattern = wanted.glob.as_deref().map(Pattern::new).transpose()?;
        search::walk(place.as_path(), search::types(wanted.kind.as_ref())?, bounds, |path, _| {
            let below = path.strip_prefix(place.as_path()).unwrap_or(&path);
            if !report.is_full() && pattern.as_ref().is_none_or(|pattern| pattern.takes(below)) {
                search_file(&path, &matcher, wanted, bounds, &mut report);
            }
        })
    } else {
        search_file(place.as_path(), &matcher, wanted, bounds, &mut report);
        bounds.reached()
    };
    Ok(report.finish(stop))
}
