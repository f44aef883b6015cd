//! What a search found, as it is shown: bounded in lines and bytes, paged, with what was left out told. It searches nothing.

use std::path::{Path, PathBuf};

use agentd_types::AbsPath;

use super::{Input, Mode};
use crate::tools::search::{Stop, shown};

/// Lines or files shown unless asked otherwise.
const PAGE: usize = 250;
/// Bytes of text one call returns.
const MAX_TEXT: usize = 200 * 1024;
/// Characters of one line that is shown.
const LINE_CHARS: usize = 500;
/// Skipped files that are named.
const NAMED: usize = 5;

pub(super) struct Report<'a> {
    wanted: &'a Input,
    cwd: &'a AbsPath,
    out: String,
    /// Rows to skip still.
    skip: usize,
    /// Rows that may still be shown.
    room: usize,
    /// Rows shown.
    rows: usize,
    state: State,
    file: Option<File>,
    skipped: Vec<String>,
    skips: usize,
    binaries: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// One more row was there than fits.
    Full,
}

/// The file that is being searched.
struct File {
    path: PathBuf,
    count: u64,
    /// A gap was announced and no line came yet.
    gap: bool,
    rows: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(wanted: &'a Input, cwd: &'a AbsPath) -> Report<'a> {
        let room = match wanted.head_limit {
            None => PAGE,
            Some(0) => usize::MAX,
            Some(limit) => limit,
        };
        let skip = wanted.offset.unwrap_or(0);
        let (rows, state) = (0, State::Open);
        Report { wanted, cwd, out: String::new(), skip, room, rows, state, file: None, skipped: Vec::new(), skips: 0, binaries: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.state == State::Full
    }

    pub(super) fn enter(&mut self, path: &Path) {
        self.file = Some(File { path: path.to_path_buf(), count: 0, gap: false, rows: 0 });
    }

    pub(super) fn leave(&mut self) {
        let Some(file) = self.file.take() else { return };
        if file.count == 0 {
            return;
        }
        let path = shown(&file.path, self.cwd);
        match self.wanted.output_mode {
            Mode::Content => {}
            Mode::FilesWithMatches => self.row(&path),
            Mode::Count => self.row(&format!("{path}:{}", file.count)),
        }
    }

    pub(super) fn hit(&mut self) {
        self.count(1);
    }

    pub(super) fn count(&mut self, more: u64) {
        if let Some(file) = &mut self.file {
            file.count += more;
        }
    }

    /// Lines that follow do not touch those before.
    pub(super) fn gap(&mut self) {
        if let Some(file) = &mut self.file {
            file.gap = true;
        }
    }

    pub(super) fn line(&mut self, number: u64, mark: char, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let gap = std::mem::take(&mut file.gap) && file.rows > 0;
        file.rows += 1;
        let text = cut(&String::from_utf8_lossy(bytes));
        let path = shown(&file.path, self.cwd);
        let row = match self.wanted.numbers {
            Some(false) => format!("{path}{mark}{text}"),
            Some(true) | None => format!("{path}{mark}{number}{mark}{text}"),
        };
        if gap && self.skip == 0 && self.rows > 0 && self.state == State::Open {
            self.out.push_str("--\n");
        }
        self.row(&row);
    }

    pub(super) fn binary(&mut self) {
        self.binaries += 1;
    }

    pub(super) fn skipped(&mut self, path: &Path, why: &str) {
        self.skips += 1;
        if self.skipped.len() < NAMED {
            self.skipped.push(format!("{} ({why})", shown(path, self.cwd)));
        }
    }

    fn row(&mut self, row: &str) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.room == 0 || self.out.len() + row.len() > MAX_TEXT {
            self.state = State::Full;
        } else if self.state == State::Open {
            self.room -= 1;
            self.rows += 1;
            self.out.push_str(row);
            self.out.push('\n');
        }
    }

    pub(super) fn finish(mut self, stop: Option<Stop>) -> String {
        let offset = self.wanted.offset.unwrap_or(0);
        if self.rows == 0 {
            self.out = match offset {
                0 => "No matches.\n".to_owned(),
                _ => format!("No matches from offset {offset} on.\n"),
            };
        }
        if self.state == State::Full {
            self.out += &format!("[more than is shown; go on with offset {}]\n", offset + self.rows);
        }
        if self.skips > 0 {
            let more = self.skips - self.skipped.len();
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.out += &format!("[not searched: {}{rest}]\n", self.skipped.join(", "));
        }
        if self.binaries > 0 && self.rows == 0 {
            self.out += &format!("[{} binary files were left at their first zero byte]\n", self.binaries);
        }
        if let Some(stop) = stop {
            self.out += &format!("[the search did not see everything: {stop}; look in a smaller folder]\n");
        }
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

fn cut(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}… [line cut at {LINE_CHARS} characters]", &line[..at]),
        None => line.to_owned(),
    }
}
