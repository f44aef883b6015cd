//! Where the store's parts lie below the data folder. It never looks at the disk.

use std::path::{Path, PathBuf};

/// The store's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Segments of the journal.
    pub journal: PathBuf,
    /// The database.
    pub db: PathBuf,
    /// A database that is being built; whatever is there at opening is unfinished.
    pub new_db: PathBuf,
    /// Cold copies, one file a session.
    pub archive: PathBuf,
    /// Large values, one folder a session.
    pub blobs: PathBuf,
}

impl Places {
    #[must_use]
    pub fn within(data_dir: &Path) -> Places {
        Places {
            journal: data_dir.join("journal"),
            db: data_dir.join("db"),
            new_db: data_dir.join("db.new"),
            archive: data_dir.join("archive"),
            blobs: data_dir.join("blobs"),
        }
    }
}
