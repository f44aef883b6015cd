//! `Read`: a file as the model can take it: numbered lines, an image, pages of a PDF, a notebook's cells. It changes nothing
//! but what is remembered as read.

mod image;
mod lines;
mod notebook;
mod pdf;

use std::ops::Range;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::content::ResultPart;
use agentd_types::{AbsPath, Json};
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::files::SeenFile;
use crate::files::open::{self, Place};
use crate::files::text::{NoText, decode};

/// Bytes of text one call returns: about 25000 tokens.
const MAX_TEXT: usize = 100_000;
/// Pages of one call.
const MAX_PAGES: u64 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, absolute or relative to the working folder.
    file_path: String,
    /// The first line to show, from 1; of a notebook, the first cell.
    #[serde(default)]
    offset: Option<u64>,
    /// How many lines (or cells) to show.
    #[serde(default)]
    limit: Option<u64>,
    /// Pages of a PDF, at most 20: "3", "1-5".
    #[serde(default)]
    pages: Option<String>,
}

impl Input {
    fn check(&self) -> Result<(), String> {
        if self.offset == Some(0) || self.limit == Some(0) {
            return Err("offset and limit count from 1".to_owned());
        }
        self.page_range().map(drop)
    }

    /// First and one past the last.
    fn page_range(&self) -> Result<Option<Range<u64>>, String> {
        let Some(pages) = &self.pages else { return Ok(None) };
        let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
        match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
            (Ok(first), Ok(last)) if 1 <= first && first <= last && last - first < MAX_PAGES => Ok(Some(first..last + 1)),
            (Ok(first), Ok(last)) if 1 <= first && first <= last => Err(format!("pages: at most {MAX_PAGES} at a time")),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(format!("pages is like \"3\" or \"1-5\", from 1, not \"{pages}\"")),
        }
    }

    /// Which of `total` (lines, cells) are wanted, `most` of them unless said otherwise; from 0, the end not included.
    fn window(&self, total: u64, most: u64, what: &str) -> Result<Range<u64>, String> {
        let first = self.offset.unwrap_or(1) - 1;
        if first >= total && total > 0 {
            return Err(format!("it has {total} {what}s; there is no {what} {}", first + 1));
        }
        Ok(first..first.saturating_add(self.limit.unwrap_or(most)).min(total))
    }
}

/// A file as the model is shown it.
#[derive(Debug)]
struct Shown {
    parts: Vec<ResultPart>,
    /// Lines, cells or pages, from 1.
    range: (u64, u64),
}

impl Shown {
    fn text(text: String, range: (u64, u64)) -> Shown {
        Shown { parts: vec![ResultPart::Text { text }], range }
    }
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

    /// Bounded by itself: what is read is never put into another file.
    fn max_result_bytes(&self) -> usize {
        4 * MAX_TEXT
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Safe, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Read", input)?;
            wanted.check().map_err(ToolFailure::TellModel)?;
            let path = context.cwd.join(&wanted.file_path);
            let Place { path, real } = input::blocking(move || Place::of(path)).await?;
            Ok(Subject::Read { path, real })
        })
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Read", input)?;
            let place = input::allowed(&call)?;
            let (seen, parts) = input::until_cancelled(&call, move || look(&place, &wanted)).await??;
            if call.context.read_cache.get(&seen.path) == Some(&seen) {
                return Ok(ToolOutput::text(format!("{} is unchanged since you last read it; its content stands above.", seen.path)));
            }
            Ok(ToolOutput { content: parts, changes: vec![ContextChange::Seen(seen)] })
        })
    }
}

/// Reads it and makes it fit to be shown. Blocks.
fn look(place: &Place, wanted: &Input) -> Result<(SeenFile, Vec<ResultPart>), ToolFailure> {
    let path = &place.path;
    let content = open::read(place).map_err(|error| ToolFailure::TellModel(error.to_string()))?;
    let mut seen = content.seen;
    match show(path, &content.bytes, wanted) {
        Ok(shown) => {
            // Always what was shown: what Write and Edit leave has no range, and is never taken for something shown.
            seen.range = Some(shown.range);
            Ok((seen, shown.parts))
        }
        // It is known what it is, so that it may be replaced by something else.
        Err(Refusal::Kind(why)) => {
            Err(ToolFailure::Failed { text: format!("{path} {why}; use Bash to look at it"), changes: vec![ContextChange::Seen(seen)] })
        }
        Err(Refusal::Request(why)) => Err(ToolFailure::TellModel(format!("{path}: {why}"))),
    }
}

/// Why a file is not shown.
enum Refusal {
    /// It is nothing that can be.
    Kind(String),
    /// Not in this way.
    Request(String),
}

fn show(path: &AbsPath, bytes: &[u8], wanted: &Input) -> Result<Shown, Refusal> {
    if bytes.is_empty() {
        return Ok(Shown::text(format!("{path} is empty."), (1, 0)));
    }
    if let Some(format) = image::format(bytes) {
        return image::show(bytes, format).map_err(|why| Refusal::Kind(format!("cannot be shown: {why}")));
    }
    if bytes.starts_with(b"%PDF-") {
        return pdf::show(bytes, wanted.page_range().map_err(Refusal::Request)?);
    }
    if wanted.pages.is_some() {
        return Err(Refusal::Request("it is no PDF; pages are for PDFs, offset and limit for lines".to_owned()));
    }
    if path.as_path().extension().is_some_and(|it| it.eq_ignore_ascii_case("ipynb"))
        && let Some(shown) = notebook::show(bytes, wanted)
    {
        return shown.map_err(Refusal::Request);
    }
    match decode(bytes) {
        Ok(text) => lines::show(&text.text, text.coding, wanted).map_err(Refusal::Request),
        Err(why @ NoText::Binary(_)) => Err(Refusal::Kind(why.to_string())),
        Err(NoText::Unknown(_)) => lines::show_lossy(bytes, wanted).map_err(Refusal::Request),
    }
}

#[cfg(test)]
mod tests;
