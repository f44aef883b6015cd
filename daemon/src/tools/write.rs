//! `Write`: a whole file, made or replaced. It never replaces what was not read, or changed since, and keeps how that was written.

use std::borrow::Cow;

use agentd_core::permission::Subject;
use agentd_core::tools::line_ends::{self, LineEnd};
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::is_fresh;
use super::input;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::files::SeenFile;
use crate::files::open::{self, FileError, Place, Target};
use crate::files::text::{Coding, NotInEncoding, decode};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, absolute or relative to the working folder.
    file_path: String,
    /// Its whole new content.
    content: String,
}

pub struct Write {
    spec: ToolSpec,
}

impl Write {
    pub fn new() -> Write {
        Write { spec: input::spec::<Input>("Write", include_str!("write.md")) }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::SideEffects, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        match input::read::<Input>("Write", input) {
            Ok(wanted) => input::editing(context, wanted.file_path),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Write", input)?;
            let place = input::allowed(&call)?;
            let known = call.context.read_cache.get(&place.path).cloned();
            let lines = wanted.content.lines().count();
            let (seen, kept) = input::blocking(move || write(&place, known.as_ref(), &wanted.content)).await??;
            let text = format!("{} is written ({lines} lines{kept}).", seen.path);
            Ok(ToolOutput { changes: vec![ContextChange::Seen(seen)], ..ToolOutput::text(text) })
        })
    }
}

/// Writes it, and says what was kept of the file that was there.
fn write(place: &Place, known: Option<&SeenFile>, content: &str) -> Result<(SeenFile, String), ToolFailure> {
    let tell = |text: String| ToolFailure::TellModel(text);
    let path = &place.path;
    let (bytes, target, kept) = match open::read(place) {
        Ok(now) => {
            is_fresh(&now.seen, known)?;
            let (bytes, kept) = like(&now.bytes, content).map_err(|why| {
                tell(format!("{path} was left alone: {why}; write it without, or remove the file first to have it in UTF-8"))
            })?;
            (bytes, Target::Existing(now.standing), kept)
        }
        Err(FileError::Missing(..)) => (content.as_bytes().to_vec(), Target::New, String::new()),
        Err(error) => return Err(tell(error.to_string())),
    };
    let seen = open::replace(place, &bytes, target).map_err(|error| tell(error.to_string()))?;
    Ok((seen, kept))
}

/// `content` with the line ends, the encoding and the byte order mark of what it replaces; which these are, if not the usual.
fn like(old: &[u8], content: &str) -> Result<(Vec<u8>, String), NotInEncoding> {
    // What was no text has nothing to keep.
    let Ok(old) = decode(old) else { return Ok((content.as_bytes().to_vec(), String::new())) };
    let (content, ends) = match line_ends::only(&old.text) {
        Some(LineEnd::CrLf) => (Cow::Owned(line_ends::with(content, LineEnd::CrLf)), ", CRLF line ends kept"),
        Some(LineEnd::Lf) | None => (Cow::Borrowed(content), ""),
    };
    let usual = old.coding == Coding::UTF_8;
    // A mark of its own is not written twice.
    let content = if usual { content.as_ref() } else { content.strip_prefix('\u{feff}').unwrap_or(&content) };
    let coding = if usual { String::new() } else { format!(", {} kept", old.coding.name()) };
    Ok((old.coding.encode(content)?, format!("{coding}{ends}")))
}
