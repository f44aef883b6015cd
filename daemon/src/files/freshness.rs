//! What was read and in which state it was, so that nothing is overwritten unseen. It never touches the disk itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentd_types::AbsPath;

/// A file's state when it was last read or written here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    pub path: AbsPath,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i128,
    pub len: u64,
    /// Checksum of the whole content.
    pub crc: u32,
    /// Lines shown, from 1; absent = all of it.
    pub range: Option<(u64, u64)>,
}

/// The read-file cache: cheap to clone, changed by replacing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadCache(Arc<BTreeMap<AbsPath, SeenFile>>);

impl ReadCache {
    #[must_use]
    pub fn get(&self, path: &AbsPath) -> Option<&SeenFile> {
        self.0.get(path)
    }

    /// Remembers `seen`, in place of what was known of that path.
    pub fn put(&mut self, seen: SeenFile) {
        Arc::make_mut(&mut self.0).insert(seen.path.clone(), seen);
    }

    /// Entries that `before` does not have, or has otherwise.
    #[must_use]
    pub fn changed_since(&self, before: &ReadCache) -> Vec<SeenFile> {
        self.0.values().filter(|seen| before.get(&seen.path) != Some(seen)).cloned().collect()
    }
}
