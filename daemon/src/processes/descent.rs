//! Who descends from whom, read from /proc. A process that ends meanwhile is simply not there.

use std::collections::BTreeMap;
use std::fs;

/// Every descendant of `root` that is no zombie, itself not counted.
#[must_use]
pub fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
        if let Some(stat) = parse_stat(&stat)
            && stat.state != 'Z'
        {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// What is needed of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub state: char,
    pub parent: u32,
    /// Clock ticks after boot: with the pid it names a process for good.
    pub started: u64,
}

/// Reads a stat line. The name may hold anything, parentheses too: what counts comes after the last one.
#[must_use]
pub fn parse_stat(line: &[u8]) -> Option<Stat> {
    let after = line.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(&line[after..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat { state: fields.first()?.chars().next()?, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Stat, parse_stat};

    #[test]
    fn a_hostile_name_fools_nobody() {
        let line = b"7 (a) R 1 (b) S 42 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 12345 1 1";
        assert_eq!(parse_stat(line), Some(Stat { state: 'S', parent: 42, started: 12345 }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = parse_stat(&bytes);
        }
    }
}
