//! What bash is started with, and where the command left it. It never decides which folders are allowed.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use agentd_types::AbsPath;
use tempfile::NamedTempFile;

use crate::processes::session_environment;
use crate::tools::tool::ToolContext;

/// Runs the command as if it stood alone, then says where it ended up; the command's own status stays.
const SCRIPT: &str = "__agentd_cwd=$1 __agentd_line=$2; set --; trap 'pwd -P >\"$__agentd_cwd\" 2>/dev/null' EXIT; eval \"$__agentd_line\"";
/// Bytes of a path that are read.
const MAX_PATH: usize = 4096;

/// A command line, ready to run once.
pub struct Script {
    /// Where it writes its last folder: a file, so that nothing that stays in the background holds it open.
    cwd: NamedTempFile,
}

impl Script {
    /// # Errors
    /// No temporary file.
    pub fn new() -> std::io::Result<Script> {
        Ok(Script { cwd: NamedTempFile::new()? })
    }

    /// The shell's arguments.
    #[must_use]
    pub fn args(&self, command: &str) -> Vec<String> {
        ["-c", SCRIPT, "bash", &self.cwd.path().to_string_lossy(), command].map(ToOwned::to_owned).to_vec()
    }

    /// Where the command left the shell. One that was ended, or has a trap of its own, does not say: it stayed.
    pub fn moved(&self, context: &ToolContext) -> Moved {
        // By our own handle: whatever the command put in the file's place, it is not opened.
        let mut said = vec![0; MAX_PATH];
        match self.cwd.as_file().read_at(&mut said, 0) {
            Ok(0) | Err(_) => return Moved::No,
            Ok(bytes) => said.truncate(bytes),
        }
        if said.last() == Some(&b'\n') {
            said.pop();
        }
        moved(Path::new(&std::ffi::OsString::from_vec(said)), context)
    }
}

/// What the command sees: its shell starts in `cwd` by the name it has for the session.
#[must_use]
pub fn environment(context: &ToolContext) -> Vec<(String, String)> {
    let mut environment = session_environment(&context.environment);
    environment.retain(|(name, _)| name != "PWD" && name != "OLDPWD");
    environment.push(("PWD".to_owned(), context.cwd.to_string()));
    environment
}

/// Where a command left the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    No,
    To(AbsPath),
    Outside,
}

/// `said` has links resolved; the folders it is compared with may not.
fn moved(said: &Path, context: &ToolContext) -> Moved {
    let real = |folder: &AbsPath| std::fs::canonicalize(folder.as_path()).unwrap_or_else(|_| folder.as_path().to_path_buf());
    if said == real(&context.cwd) {
        return Moved::No;
    }
    let named = context.allowed.iter().find_map(|folder| {
        let below = said.strip_prefix(real(folder)).ok()?;
        // By the name the session has for it. A path that is no text could not be kept.
        let path: PathBuf = folder.as_path().join(below.to_str()?);
        AbsPath::new(if below.as_os_str().is_empty() { folder.as_path().to_path_buf() } else { path }).ok()
    });
    match named.filter(|folder| folder.as_path().is_dir()) {
        Some(folder) => Moved::To(folder),
        None => Moved::Outside,
    }
}

#[cfg(test)]
mod tests;
