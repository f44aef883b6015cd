//! `Read`: a file's lines, numbered. It changes nothing but what is remembered as read.

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::files::open;

/// Lines shown unless asked otherwise.
const LINES: u64 = 2_000;
/// Bytes of text one call returns.
const MAX_TEXT: usize = 256 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, absolute or relative to the working folder.
    file_path: String,
    /// The first line to show, from 1.
    #[serde(default)]
    offset: Option<u64>,
    /// How many lines to show.
    #[serde(default)]
    limit: Option<u64>,
}

pub struct Read {
    spec: ToolSpec,
}

impl Read {
    pub fn new() -> Read {
        Read { spec: input::spec::<Input>("Read", include_str!("read.md")) }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Read", input)?;
            if wanted.offset == Some(0) || wanted.limit == Some(0) {
                return Err(ToolFailure::TellModel("offset and limit count from 1".to_owned()));
            }
            let path = context.cwd.join(&wanted.file_path);
            input::blocking(move || Subject::Read { real: open::resolve(&path), path }).await
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Read", input)?;
            let path = call.context.cwd.join(&wanted.file_path);
            let content = input::blocking(move || open::read(&path)).await?.map_err(|error| ToolFailure::TellModel(error.to_string()))?;
            let mut seen = content.seen;
            let (text, range) = show(&content.bytes, &wanted, &seen.path.to_string())?;
            // Always what was shown: what Write and Edit leave has no range, and is never taken for something shown.
            seen.range = Some(range);
            if call.context.read_cache.get(&seen.path) == Some(&seen) {
                return Ok(ToolOutput::text(format!("{} is unchanged since you last read it; its content stands above.", seen.path)));
            }
            Ok(ToolOutput { changes: vec![ContextChange::Seen(seen)], ..ToolOutput::text(text) })
        })
    }
}

/// The wanted lines, numbered, and which these are; what is left out is said.
fn show(bytes: &[u8], wanted: &Input, path: &str) -> Result<(String, (u64, u64)), ToolFailure> {
    if bytes.is_empty() {
        return Ok((format!("{path} is empty."), (1, 0)));
    }
    if bytes.contains(&0) {
        return Err(ToolFailure::TellModel(format!("{path} is binary ({} bytes); use Bash to look at it", bytes.len())));
    }
    let lossy = String::from_utf8_lossy(bytes);
    let text = lossy.strip_prefix('\u{feff}').unwrap_or(&lossy);
    let (first, most) = (wanted.offset.unwrap_or(1).max(1), wanted.limit.unwrap_or(LINES));
    let total = text.lines().count() as u64;
    if first > total {
        return Err(ToolFailure::TellModel(format!("{path} has {total} lines; there is no line {first}")));
    }
    let mut out = String::new();
    let mut shown = first - 1;
    for (line, number) in
        text.lines().zip(1u64..).skip_while(|(_, number)| *number < first).take(usize::try_from(most).unwrap_or(usize::MAX))
    {
        let line = input::numbered(number, line);
        if out.len() + line.len() > MAX_TEXT {
            break;
        }
        out.push_str(&line);
        shown = number;
    }
    if shown < total {
        out.push_str(&format!("[lines {first} to {shown} of {total}; go on with offset {}]\n", shown + 1));
    }
    if std::str::from_utf8(bytes).is_err() {
        out.push_str("[not UTF-8: bytes that are no text are shown as \u{fffd}; Edit will refuse this file]\n");
    }
    Ok((out, (first, shown)))
}
