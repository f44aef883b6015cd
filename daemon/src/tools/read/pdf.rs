//! The text of a PDF, page by page. Bounded, whatever the file claims; it draws nothing.

use std::ops::Range;

use lopdf::{Document, LoadOptions};

use super::{MAX_PAGES, MAX_TEXT, Refusal, Shown};

/// Pages that are shown without being asked for.
const WITHOUT_ASKING: u64 = 10;
/// Bytes that one stream of the file, and one page, may unpack to.
const MAX_STREAM: usize = 32 << 20;

pub(super) fn show(bytes: &[u8], wanted: Option<Range<u64>>) -> Result<Shown, Refusal> {
    let options = LoadOptions { max_decompressed_size: Some(MAX_STREAM), ..LoadOptions::default() };
    let document =
        Document::load_mem_with_options(bytes, options).map_err(|error| Refusal::Kind(format!("is a PDF that cannot be read: {error}")))?;
    if document.is_encrypted() {
        return Err(Refusal::Kind("is a PDF under a password".to_owned()));
    }
    let total = document.get_pages().len() as u64;
    if total == 0 {
        return Err(Refusal::Kind("is a PDF without pages".to_owned()));
    }
    let pages = match wanted {
        Some(wanted) if wanted.start > total => {
            return Err(Refusal::Request(format!("it has {total} pages; there is no page {}", wanted.start)));
        }
        Some(wanted) => wanted.start..wanted.end.min(total + 1),
        None if total > WITHOUT_ASKING => {
            return Err(Refusal::Request(format!(
                "it has {total} pages: say which with pages, at most {MAX_PAGES} at a time (\"1-{WITHOUT_ASKING}\")"
            )));
        }
        None => 1..total + 1,
    };
    let mut out = String::new();
    let (first, mut shown) = (pages.start, pages.start);
    for page in pages.clone() {
        let number = u32::try_from(page).unwrap_or(u32::MAX);
        let text = match document.extract_text_with_limit(&[number], MAX_STREAM) {
            Ok(text) if text.trim().is_empty() => "[no text on this page: it may be an image]".to_owned(),
            Ok(text) => text.trim_end().to_owned(),
            Err(error) => format!("[this page cannot be read: {error}]"),
        };
        let head = format!("--- page {page} of {total} ---\n");
        let room = MAX_TEXT.saturating_sub(out.len() + head.len());
        if text.len() > room && page > first {
            break;
        }
        out += &head;
        if text.len() > room {
            out += &format!("{}\n[page cut at {room} bytes]\n", &text[..text.floor_char_boundary(room)]);
        } else {
            out += &text;
            out.push('\n');
        }
        shown = page;
    }
    if shown + 1 < pages.end {
        out += &format!("[pages {first} to {shown} of {total}; the next ones did not fit: pages \"{}-{}\"]\n", shown + 1, pages.end - 1);
    }
    Ok(Shown::text(out, (first, shown)))
}
