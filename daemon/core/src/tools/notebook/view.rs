//! A notebook's cells as they are read. Lenient: what has another form than expected is left out. It changes nothing.

use serde_json::Value;

use super::{Notebook, NotebookError};

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its id, or `cell-N`.
    pub name: String,
    /// `code`, `markdown`, `raw`.
    pub kind: String,
    pub source: String,
    pub execution_count: Option<u64>,
    pub outputs: Vec<Output>,
}

/// What a code cell gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Text(String),
    /// Base64 data, as it stands.
    Image {
        media_type: String,
        data: String,
    },
    /// Of a kind that is not shown; which.
    Other(String),
}

/// Kinds of images that are shown.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The cells, in order.
///
/// # Errors
/// [`NotebookError::NoNotebook`].
pub fn cells(text: &str) -> Result<Vec<Cell>, NotebookError> {
    let notebook = Notebook::read(text)?;
    let cell = |(cell, at): (&super::RawCell<'_>, usize)| {
        let value = |name: &str| cell.fields.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()).unwrap_or(Value::Null);
        let outputs = value("outputs");
        Cell {
            name: cell.name(at),
            kind: cell.string("cell_type").unwrap_or_else(|| "raw".to_owned()),
            source: joined(&value("source")),
            execution_count: value("execution_count").as_u64(),
            outputs: outputs.as_array().into_iter().flatten().map(output).collect(),
        }
    };
    Ok(notebook.cells.iter().zip(0..).map(cell).collect())
}

/// A text, or the list of its lines.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn output(value: &Value) -> Output {
    let text = |name: &str| joined(&value[name]);
    match value["output_type"].as_str() {
        Some("stream") => Output::Text(text("text")),
        Some("error") => {
            let lines: Vec<String> = value["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).map(plain).collect();
            Output::Text(if lines.is_empty() { format!("{}: {}", text("ename"), text("evalue")) } else { lines.join("\n") })
        }
        Some("execute_result" | "display_data") => data(&value["data"]),
        Some(other) => Output::Other(other.to_owned()),
        None => Output::Other("an output of no kind".to_owned()),
    }
}

fn data(data: &Value) -> Output {
    let image = IMAGES.iter().find_map(|kind| data.get(kind).map(|data| ((*kind).to_owned(), joined(data))));
    if let Some((media_type, data)) = image {
        return Output::Image { media_type, data: data.chars().filter(|c| !c.is_ascii_whitespace()).collect() };
    }
    match data.get("text/plain") {
        Some(text) => Output::Text(joined(text)),
        None => Output::Other(data.as_object().and_then(|data| data.keys().next()).map_or_else(|| "nothing".to_owned(), Clone::clone)),
    }
}

/// Without the codes that colour a terminal.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let mut chars = rest.chars();
        if chars.next().is_some_and(|c| c.is_ascii_alphabetic()) {
            rest = chars.as_str();
        }
    }
    out.push_str(rest);
    out
}
