//! A Jupyter notebook as text: its cells are read, and one is changed without touching a byte of the others. It touches no file.

mod layout;
mod view;

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use self::layout::{Fields, Layout, span};
pub use self::view::{Cell, Output, cells};

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellKind {
    Code,
    Markdown,
}

impl CellKind {
    const fn name(self) -> &'static str {
        match self {
            CellKind::Code => "code",
            CellKind::Markdown => "markdown",
        }
    }
}

/// A change of one cell, named by its id, or by `cell-N` (from 0) where it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Its text; a code cell's outputs are of the old one, and go. Without a kind it stays what it is.
    Replace {
        cell: &'a str,
        source: &'a str,
        kind: Option<CellKind>,
    },
    /// A new cell after `after`, or in front of all; it gets `id` where the notebook's cells have ids.
    Insert {
        after: Option<&'a str>,
        source: &'a str,
        kind: CellKind,
        id: &'a str,
    },
    Delete {
        cell: &'a str,
    },
}

/// Why nothing was changed; says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotebookError {
    #[error("it is no notebook: {0}")]
    NoNotebook(String),
    #[error("there is no cell `{wanted}`; there are {}", named(.there))]
    NoCell { wanted: String, there: Vec<String> },
    #[error("the cell already holds this: nothing would change")]
    NoChange,
}

/// Cells that an error names at most.
const NAMED: usize = 20;

fn named(there: &[String]) -> String {
    match there.len() {
        0 => "none".to_owned(),
        more if more > NAMED => format!("{} and {} more", there[..NAMED].join(", "), more - NAMED),
        _ => there.join(", "),
    }
}

/// A notebook, taken apart as far as is needed.
struct Notebook<'a> {
    text: &'a str,
    /// `nbformat`, `nbformat_minor`.
    version: (u64, u64),
    /// The whole list of cells.
    list: Range<usize>,
    cells: Vec<RawCell<'a>>,
}

struct RawCell<'a> {
    at: Range<usize>,
    fields: Fields<'a>,
}

impl<'a> Notebook<'a> {
    fn read(text: &'a str) -> Result<Notebook<'a>, NotebookError> {
        let wrong = |error: serde_json::Error| NotebookError::NoNotebook(error.to_string());
        let whole: Fields<'a> = serde_json::from_str(text).map_err(wrong)?;
        let number = |name: &str| whole.get(name).and_then(|raw| raw.get().parse::<u64>().ok());
        let version = (number("nbformat").unwrap_or(4), number("nbformat_minor").unwrap_or(0));
        let list = whole.get("cells").ok_or_else(|| NotebookError::NoNotebook(no_cells(version.0)))?;
        let raw: Vec<&'a RawValue> = serde_json::from_str(list.get()).map_err(wrong)?;
        let cells = raw.into_iter().map(|raw| Ok(RawCell { at: span(text, raw), fields: serde_json::from_str(raw.get()).map_err(wrong)? }));
        Ok(Notebook { text, version, list: span(text, list), cells: cells.collect::<Result<_, _>>()? })
    }

    fn names(&self) -> Vec<String> {
        self.cells.iter().zip(0..).map(|(cell, at)| cell.name(at)).collect()
    }

    fn find(&self, wanted: &str) -> Result<usize, NotebookError> {
        let names = self.names();
        let found = names.iter().position(|name| name == wanted);
        // By its number, too, if nothing is called that.
        let numbered = || wanted.strip_prefix("cell-").and_then(|at| at.parse::<usize>().ok()).filter(|at| *at < names.len());
        found.or_else(numbered).ok_or_else(|| NotebookError::NoCell { wanted: wanted.to_owned(), there: names.clone() })
    }

    /// How its cells are laid out: as the first one is.
    fn layout(&self) -> Layout {
        self.cells.first().map_or_else(Layout::usual, |cell| Layout::of(&self.text[cell.at.clone()], &cell.fields, self.text))
    }

    fn has_ids(&self) -> bool {
        self.version >= (4, 5) || self.cells.iter().any(|cell| cell.fields.get("id").is_some())
    }
}

fn no_cells(version: u64) -> String {
    match version {
        ..4 => format!("it is of format {version}; convert it with `jupyter nbconvert --to notebook` first"),
        _ => "it has no list of cells".to_owned(),
    }
}

impl RawCell<'_> {
    fn name(&self, at: usize) -> String {
        self.string("id").unwrap_or_else(|| format!("cell-{at}"))
    }

    fn string(&self, field: &str) -> Option<String> {
        self.fields.get(field).and_then(|raw| String::deserialize(raw).ok())
    }

    fn is_code(&self) -> bool {
        self.string("cell_type").as_deref() == Some(CellKind::Code.name())
    }
}

/// The notebook with the change, and the cell's name.
///
/// # Errors
/// [`NotebookError`]; nothing is changed then.
pub fn apply(text: &str, change: &Change<'_>) -> Result<(String, String), NotebookError> {
    let notebook = Notebook::read(text)?;
    let (changed, name) = match *change {
        Change::Replace { cell, source, kind } => {
            let at = notebook.find(cell)?;
            (notebook.replace(at, source, kind), notebook.cells[at].name(at))
        }
        Change::Insert { after, source, kind, id } => {
            let at = after.map(|cell| notebook.find(cell)).transpose()?.map_or(0, |at| at + 1);
            let id = notebook.has_ids().then(|| notebook.fresh(id));
            let name = id.clone().unwrap_or_else(|| format!("cell-{at}"));
            (notebook.insert(at, source, kind, id), name)
        }
        Change::Delete { cell } => {
            let at = notebook.find(cell)?;
            (notebook.delete(at), notebook.cells[at].name(at))
        }
    };
    if changed == text { Err(NotebookError::NoChange) } else { Ok((changed, name)) }
}

impl Notebook<'_> {
    fn splice(&self, at: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..at.start], &self.text[at.end..])
    }

    fn replace(&self, at: usize, source: &str, kind: Option<CellKind>) -> String {
        let cell = &self.cells[at];
        let layout = Layout::of(&self.text[cell.at.clone()], &cell.fields, self.text);
        let is_code = kind.map_or(cell.is_code(), |kind| kind == CellKind::Code);
        let as_list = cell.fields.get("source").is_none_or(|raw| raw.get().starts_with('['));
        let source = if as_list { layout.lines(source) } else { layout::json(source) };
        let mut fields: Vec<(String, String)> = cell
            .fields
            .0
            .iter()
            .map(|(name, raw)| (name.clone(), raw.get().to_owned()))
            .filter(|(name, _)| is_code || !is_of_code(name))
            .collect();
        let mut set = |name: &str, value: &str| match fields.iter_mut().find(|field| field.0 == name) {
            Some(field) => value.clone_into(&mut field.1),
            None => fields.push((name.to_owned(), value.to_owned())),
        };
        if let Some(kind) = kind {
            set("cell_type", &layout::json(kind.name()));
        }
        if is_code {
            set("execution_count", "null");
            set("outputs", "[]");
        }
        set("source", &source);
        self.splice(cell.at.clone(), &layout.object(&fields))
    }

    fn insert(&self, at: usize, source: &str, kind: CellKind, id: Option<String>) -> String {
        let layout = self.layout();
        let field = |name: &str, value: String| (name.to_owned(), value);
        let mut fields = vec![field("cell_type", layout::json(kind.name()))];
        match kind {
            CellKind::Code => fields.push(field("execution_count", "null".to_owned())),
            CellKind::Markdown => {}
        }
        fields.extend(id.map(|id| field("id", layout::json(&id))));
        fields.push(field("metadata", "{}".to_owned()));
        match kind {
            CellKind::Code => fields.push(field("outputs", "[]".to_owned())),
            CellKind::Markdown => {}
        }
        fields.push(field("source", layout.lines(source)));
        let cell = layout.object(&fields);
        match (at.checked_sub(1).and_then(|before| self.cells.get(before)), self.cells.first()) {
            (Some(before), _) => self.splice(before.at.end..before.at.end, &format!(",{}{cell}", self.gap())),
            (None, Some(first)) => self.splice(first.at.start..first.at.start, &format!("{cell},{}", self.gap())),
            (None, None) => self.splice(self.list.clone(), &format!("[{}{cell}{}]", layout.close, layout.outer_close())),
        }
    }

    fn delete(&self, at: usize) -> String {
        let end = self.cells[at].at.end;
        match (at.checked_sub(1), self.cells.get(at + 1)) {
            (Some(before), _) => self.splice(self.cells[before].at.end..end, ""),
            (None, Some(next)) => self.splice(self.cells[at].at.start..next.at.start, ""),
            (None, None) => self.splice(self.list.clone(), "[]"),
        }
    }

    /// What stands in front of the first cell, and so between any two.
    fn gap(&self) -> &str {
        self.cells.first().map_or("", |first| &self.text[self.list.start + 1..first.at.start])
    }

    /// `id`, or, where a cell has it, one like it that none has.
    fn fresh(&self, id: &str) -> String {
        let names = self.names();
        let mut fresh = id.to_owned();
        let mut number = 1;
        while names.contains(&fresh) {
            number += 1;
            fresh = format!("{id}-{number}");
        }
        fresh
    }
}

/// Fields that only a code cell may have.
fn is_of_code(name: &str) -> bool {
    matches!(name, "execution_count" | "outputs")
}

#[cfg(test)]
mod tests;
