//! Patterns of file names as people know them from ignore files. A pattern looks at a path below a folder, never at the disk.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobMatcher};

use super::super::tool::ToolFailure;

/// A pattern without a slash matches at any depth; one with a slash, from the folder on. A leading `!` turns it around.
pub struct Pattern {
    matcher: GlobMatcher,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Takes,
    LeavesOut,
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Pattern, ToolFailure> {
        let (wanted, kind) = match text.strip_prefix('!') {
            Some(rest) => (rest, Kind::LeavesOut),
            None => (text, Kind::Takes),
        };
        let wanted = wanted.strip_prefix("./").unwrap_or(wanted);
        if wanted.is_empty() {
            return Err(ToolFailure::TellModel("the pattern is empty; `**/*.rs` finds all Rust files".to_owned()));
        }
        let whole = match wanted.strip_prefix('/') {
            Some(rooted) => rooted.to_owned(),
            None if wanted.contains('/') => wanted.to_owned(),
            None => format!("**/{wanted}"),
        };
        let glob: Result<Glob, _> = GlobBuilder::new(&whole).literal_separator(true).build();
        let glob = glob.map_err(|error| ToolFailure::TellModel(format!("`{text}` is no pattern: {}", error.kind())))?;
        Ok(Pattern { matcher: glob.compile_matcher(), kind })
    }

    /// Whether the file at `path`, given from the searched folder on, is wanted.
    pub fn takes(&self, path: &Path) -> bool {
        match self.kind {
            Kind::Takes => self.matcher.is_match(path),
            Kind::LeavesOut => !self.matcher.is_match(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).unwrap_or_else(|_| panic!("{pattern} is one")).takes(Path::new(path))
    }

    #[test]
    fn without_a_slash_any_depth_with_one_from_the_folder() {
        assert!(takes("*.rs", "a.rs") && takes("*.rs", "x/y/a.rs") && !takes("*.rs", "a.rsx"));
        assert!(takes("src/*.rs", "src/a.rs") && !takes("src/*.rs", "src/x/a.rs") && !takes("src/*.rs", "y/src/a.rs"));
        assert!(takes("src/**/*.rs", "src/a.rs") && takes("src/**/*.rs", "src/x/y/a.rs"));
        assert!(takes("*.{ts,tsx}", "a/b.tsx") && takes("/a.rs", "a.rs") && !takes("/a.rs", "x/a.rs"));
        assert!(takes("!*.rs", "a.ts") && !takes("!*.rs", "x/a.rs"));
    }

    #[test]
    fn what_is_none_is_told() {
        for bad in ["[", "{a", "", "!"] {
            assert!(Pattern::new(bad).is_err(), "{bad}");
        }
    }
}
