//! One file searched: only a regular one, without waiting, with bounded memory. What is found goes to the report.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use super::report::Report;
use super::{Input, Mode};
use crate::tools::search::Bounds;

/// Bytes of one line, and of a file that is searched over lines.
const MAX_HEAP: usize = 32 << 20;

pub(super) fn search_file(path: &Path, matcher: &RegexMatcher, wanted: &Input, bounds: &Bounds, report: &mut Report) {
    // A pipe or a device that took the file's place must not hold us up.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(nonblock).open(path);
    let file = match opened.and_then(|file| file.metadata().map(|found| (file, found))) {
        Ok((file, found)) if found.is_file() => file,
        Ok(_) => return report.skipped(path, "it is no regular file"),
        Err(error) => return report.skipped(path, &error.to_string()),
    };
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(if wanted.output_mode == Mode::Content { wanted.lines_before() } else { 0 })
        .after_context(if wanted.output_mode == Mode::Content { wanted.lines_after() } else { 0 })
        .multi_line(Input::is(wanted.multiline))
        .heap_limit(Some(MAX_HEAP))
        .build();
    report.enter(path);
    let mut found = Found { report, matcher, wanted };
    let searched = searcher.search_reader(matcher, Watched { file, bounds }, &mut found);
    if let Err(error) = searched {
        report.skipped(path, &error.to_string());
    }
    report.leave();
}

/// Reading ends when the bounds do.
struct Watched<'a> {
    file: File,
    bounds: &'a Bounds,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bounds.reached() {
            // The end of the search, not of the file: the report says so.
            Some(_) => Ok(0),
            None => self.file.read(buffer),
        }
    }
}

struct Found<'a, 'b> {
    report: &'a mut Report<'b>,
    matcher: &'a RegexMatcher,
    wanted: &'a Input,
}

impl Sink for Found<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or(0);
        match self.wanted.output_mode {
            Mode::FilesWithMatches => {
                self.report.hit();
                return Ok(false);
            }
            Mode::Count => {
                let mut count = 0;
                // It never fails: it has no captures.
                let _ = self.matcher.find_iter(found.bytes(), |_| {
                    count += 1;
                    true
                });
                self.report.count(count.max(1));
            }
            Mode::Content if Input::is(self.wanted.only_matching) => {
                let mut parts = Vec::new();
                let _ = self.matcher.find_iter(found.bytes(), |part| {
                    parts.push(found.bytes()[part].to_vec());
                    true
                });
                parts.iter().for_each(|part| self.report.line(first, ':', part));
            }
            Mode::Content => {
                for (number, line) in (first..).zip(found.lines()) {
                    self.report.line(number, ':', line);
                }
            }
        }
        Ok(!self.report.is_full())
    }

    fn context(&mut self, _searcher: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.wanted.output_mode == Mode::Content && !Input::is(self.wanted.only_matching) {
            self.report.line(around.line_number().unwrap_or(0), '-', around.bytes());
        }
        Ok(!self.report.is_full())
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.report.gap();
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        if end.binary_byte_offset().is_some() {
            self.report.binary();
        }
        Ok(())
    }
}
