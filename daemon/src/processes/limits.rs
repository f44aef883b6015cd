//! What a tree may use. A value: the daemon may raise its own limits without its trees noticing.

use rustix::process::{Resource, Rlimit};
use serde::{Deserialize, Serialize};

/// The limits of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Open files of each process (the soft limit; the hard one stays). `u64::MAX` is no limit.
    pub open_files: u64,
}

impl Limits {
    /// Those this process has now: to be taken before it raises them for itself.
    #[must_use]
    pub fn of_this_process() -> Limits {
        Limits { open_files: rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) }
    }

    /// Sets them for this process and its children; never above the hard limit.
    ///
    /// # Errors
    /// What the system says.
    pub fn apply(self) -> std::io::Result<()> {
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let wanted = self.open_files.min(maximum.unwrap_or(u64::MAX));
        let current = (wanted != u64::MAX).then_some(wanted);
        Ok(rustix::process::setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
    }
}
