//! A notebook's cells with what they gave, bounded. It reads no file and changes none.

use agentd_core::tools::notebook::{Cell, Output, cells};
use agentd_types::content::ResultPart;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Input, MAX_TEXT, Shown, image};
use crate::files::text::decode;

/// Bytes of one output.
const MAX_OUTPUT: usize = 10_000;
/// Images of one call.
const MAX_IMAGES: usize = 8;

/// Nothing if the bytes are no notebook: then they are shown as the text they are.
pub(super) fn show(bytes: &[u8], wanted: &Input) -> Option<Result<Shown, String>> {
    let text = decode(bytes).ok()?;
    let cells = cells(&text.text).ok()?;
    Some(render(&cells, wanted))
}

fn render(cells: &[Cell], wanted: &Input) -> Result<Shown, String> {
    let total = cells.len() as u64;
    if total == 0 {
        return Ok(Shown::text("The notebook has no cells.".to_owned(), (1, 0)));
    }
    let window = wanted.window(total, u64::MAX, "cell")?;
    let mut page = Page { parts: Vec::new(), text: String::new(), said: 0, images: 0 };
    let mut shown = window.start;
    let skipped = usize::try_from(window.start).unwrap_or(usize::MAX);
    for (cell, number) in cells.iter().skip(skipped).zip(window.start + 1..=window.end) {
        let size = cell.source.len() + cell.outputs.iter().map(size).sum::<usize>();
        if page.said + size > MAX_TEXT && number > window.start + 1 {
            break;
        }
        page.cell(cell);
        shown = number;
    }
    if shown < total {
        page.say(&format!("[cells {} to {shown} of {total}; go on with offset {}]\n", window.start + 1, shown + 1));
    }
    Ok(Shown { parts: page.finish(), range: (window.start + 1, shown) })
}

fn size(output: &Output) -> usize {
    match output {
        Output::Text(text) => text.len().min(MAX_OUTPUT),
        Output::Image { .. } | Output::Other(_) => 0,
    }
}

/// What is shown so far.
struct Page {
    parts: Vec<ResultPart>,
    text: String,
    /// Bytes of text.
    said: usize,
    images: usize,
}

impl Page {
    fn say(&mut self, text: &str) {
        self.text.push_str(text);
        self.said += text.len();
    }

    fn cell(&mut self, cell: &Cell) {
        let run = cell.execution_count.map_or_else(String::new, |count| format!(" run=\"{count}\""));
        self.say(&format!("<cell id=\"{}\" type=\"{}\"{run}>\n", cell.name, cell.kind));
        self.say(&cut(&cell.source, MAX_TEXT));
        self.say("\n</cell>\n");
        for (output, at) in cell.outputs.iter().zip(0..) {
            if self.said > 2 * MAX_TEXT {
                return self.say(&format!("[{} more outputs left out]\n", cell.outputs.len() - at));
            }
            match output {
                Output::Text(text) => {
                    let text = cut(text.trim_end(), MAX_OUTPUT);
                    self.say(&format!("<output>\n{text}\n</output>\n"));
                }
                Output::Image { data, .. } if self.images < MAX_IMAGES => self.image(data),
                Output::Image { media_type, .. } => self.say(&format!("<output>[{media_type}, left out]</output>\n")),
                Output::Other(kind) => self.say(&format!("<output>[{kind}, not shown]</output>\n")),
            }
        }
    }

    fn image(&mut self, data: &str) {
        let fitted = STANDARD.decode(data).ok().and_then(|bytes| image::fit(&bytes, image::format(&bytes)?).ok());
        let Some(fitted) = fitted else { return self.say("<output>[an image that cannot be shown]</output>\n") };
        self.images += 1;
        let text = std::mem::take(&mut self.text);
        self.parts.extend([ResultPart::Text { text }, fitted.part]);
    }

    fn finish(mut self) -> Vec<ResultPart> {
        if !self.text.is_empty() {
            self.parts.push(ResultPart::Text { text: self.text });
        }
        self.parts
    }
}

/// A long text's beginning and end.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}
