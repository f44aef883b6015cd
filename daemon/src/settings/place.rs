//! Where in a JSON text something is: the key at a line and column. It never judges the text.

/// The byte offset of a 1-based line and column (columns in bytes, as serde counts them), at most the text's length.
#[must_use]
pub fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// The path of the value at `offset`, like `permissions.allow[2]`; empty at the top. The text may be broken after `offset`.
#[must_use]
pub fn key_at(text: &str, offset: usize) -> String {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, end: offset, levels: Vec::new() };
    scan.run();
    let mut path = String::new();
    for level in &scan.levels {
        match level {
            Level::Object { key: Some(key), .. } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Level::Object { key: None, .. } => {}
            Level::Array { index } => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

enum Level {
    Object { key: Option<String>, expects: Expects },
    Array { index: usize },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Key,
    Value,
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    levels: Vec<Level>,
}

impl Scan<'_> {
    fn run(&mut self) {
        while self.at < self.end {
            let byte = self.bytes[self.at];
            match byte {
                b'{' => self.levels.push(Level::Object { key: None, expects: Expects::Key }),
                b'[' => self.levels.push(Level::Array { index: 0 }),
                // The level that ends where the trouble is still names it.
                b'}' | b']' if self.at + 1 < self.end => {
                    self.levels.pop();
                }
                b',' if self.at + 1 < self.end => match self.levels.last_mut() {
                    Some(Level::Array { index }) => *index += 1,
                    Some(Level::Object { expects, .. }) => *expects = Expects::Key,
                    None => {}
                },
                b':' => {
                    if let Some(Level::Object { expects, .. }) = self.levels.last_mut() {
                        *expects = Expects::Value;
                    }
                }
                b'"' => {
                    let text = self.string();
                    if let Some(Level::Object { key, expects: Expects::Key }) = self.levels.last_mut() {
                        *key = Some(text);
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The text of the string that begins here; leaves the scan on its last byte.
    fn string(&mut self) -> String {
        let start = self.at + 1;
        let mut at = start;
        while at < self.bytes.len() && self.bytes[at] != b'"' {
            at += if self.bytes[at] == b'\\' { 2 } else { 1 };
        }
        let end = at.min(self.bytes.len());
        self.at = end;
        String::from_utf8_lossy(&self.bytes[start.min(end)..end]).into_owned()
    }
}
