//! Opening and replacing files safely: only regular files, never blocking on a pipe or a device, replaced in one step.
//! Everything here blocks: callers use `spawn_blocking`. No permission is decided here.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agentd_types::AbsPath;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::freshness::SeenFile;

/// Bytes of a file that is read whole at most.
pub const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// A file's content and state.
#[derive(Debug, Clone)]
pub struct Content {
    pub bytes: Vec<u8>,
    pub seen: SeenFile,
    pub standing: Standing,
}

/// What a file is besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    mode: u32,
    owner: (u32, u32),
    /// Device, inode, length, modification time: whether it is still the same.
    stamp: (u64, u64, u64, i64, i64),
}

impl Standing {
    fn of(meta: &fs::Metadata) -> Standing {
        Standing {
            mode: meta.permissions().mode() & 0o7777,
            owner: (meta.uid(), meta.gid()),
            stamp: (meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()),
        }
    }
}

/// Why a file cannot be used; says what to do where that helps.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0} does not exist{1}")]
    Missing(AbsPath, String),
    #[error("{0} is a folder; list it with Bash (ls)")]
    Folder(AbsPath),
    #[error("{0} is no regular file (a pipe, a socket or a device)")]
    Special(AbsPath),
    #[error("{0} has {1} bytes, more than {MAX_BYTES}; use Bash to look at parts of it")]
    TooLarge(AbsPath, u64),
    #[error("{0} leads elsewhere than a moment ago, when it was allowed; nothing was opened")]
    Moved(AbsPath),
    #[error("{0} is read-only; it was left alone")]
    ReadOnly(AbsPath),
    #[error("{0} changed at this very moment; read it again")]
    Changed(AbsPath),
    #[error("{path}: {error}")]
    Io { path: AbsPath, error: io::Error },
}

/// A file by the name it was given and the one it has with links resolved. What is opened is the latter, without following a
/// link: one that was put in its way since does not lead elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: AbsPath,
    pub real: AbsPath,
}

impl Place {
    /// Where `path` leads now.
    #[must_use]
    pub fn of(path: AbsPath) -> Place {
        Place { real: resolve(&path), path }
    }

    fn error(&self, error: io::Error) -> FileError {
        match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => FileError::Moved(self.path.clone()),
            Some(_) | None => FileError::Io { path: self.path.clone(), error },
        }
    }

    fn errno(&self, errno: Errno) -> FileError {
        self.error(errno.into())
    }
}

/// Opens `path` beneath `at`, following no link; by name alone where the system cannot promise that.
fn open_no_links(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    match rustix::fs::openat2(at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(at, path, flags | OFlags::NOFOLLOW, Mode::empty()),
        opened => opened,
    }
}

/// Reads the whole file.
///
/// # Errors
/// [`FileError`], named.
pub fn read(place: &Place) -> Result<Content, FileError> {
    let path = &place.path;
    let io = |error: io::Error| place.error(error);
    // Non-blocking: opening a pipe without a writer must not hang.
    let mut file = match open_no_links(CWD, place.real.as_path(), OFlags::RDONLY | OFlags::NONBLOCK) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(FileError::Missing(path.clone(), near(path))),
        // A socket, or a device without a driver.
        Err(Errno::NXIO) => return Err(FileError::Special(path.clone())),
        Err(errno) => return Err(place.errno(errno)),
    };
    let meta = file.metadata().map_err(io)?;
    if meta.is_dir() {
        return Err(FileError::Folder(path.clone()));
    }
    if !meta.is_file() {
        return Err(FileError::Special(path.clone()));
    }
    if meta.len() > MAX_BYTES {
        return Err(FileError::TooLarge(path.clone(), meta.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    Read::by_ref(&mut file).take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(FileError::TooLarge(path.clone(), bytes.len() as u64));
    }
    let seen = seen(path, &meta, &bytes);
    Ok(Content { bytes, seen, standing: Standing::of(&meta) })
}

/// What is known of the file to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// It does not exist: made with the process's default mode, and refused if something came to be there meanwhile.
    New,
    /// It exists, was this when it was read, and keeps mode and owner. One that became another is not replaced, nor is one
    /// that we may not write.
    Existing(Standing),
}

/// Replaces the file's content in one step: a reader sees the old or the new one. A link stays a link, its target is replaced;
/// the mode is kept, missing folders are made.
///
/// # Errors
/// [`FileError`]; the file is untouched then.
pub fn replace(place: &Place, bytes: &[u8], known: Target) -> Result<SeenFile, FileError> {
    let path = &place.path;
    let io = |error: io::Error| place.error(error);
    let (Some(folder), Some(name)) = (place.real.as_path().parent(), place.real.as_path().file_name()) else {
        return Err(FileError::Folder(path.clone()));
    };
    let folder = open_folder(folder, known).map_err(|errno| place.errno(errno))?;
    // The folder that is open, whatever its name stands for by now.
    let folder_path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let target = folder_path.join(name);
    if let Target::Existing(_) = known
        && let Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) = rustix::fs::access(&target, rustix::fs::Access::WRITE_OK)
    {
        return Err(FileError::ReadOnly(path.clone()));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".agentd-");
    if known == Target::New {
        // The system takes the process's umask off this.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temp = builder.tempfile_in(&folder_path).map_err(io)?;
    temp.write_all(bytes).map_err(io)?;
    if let Target::Existing(was) = known {
        let (uid, gid) = was.owner;
        if Standing::of(&temp.as_file().metadata().map_err(io)?).owner != was.owner {
            // As far as we may: a file of somebody else that we may write becomes ours.
            let _ = std::os::unix::fs::fchown(temp.as_file(), Some(uid), Some(gid));
        }
        temp.as_file().set_permissions(fs::Permissions::from_mode(was.mode)).map_err(io)?;
    }
    // Before the rename: after a power cut the name must not stand for an empty file.
    temp.as_file().sync_data().map_err(io)?;
    if let Target::Existing(was) = known
        && fs::symlink_metadata(&target).map_or(true, |now| Standing::of(&now).stamp != was.stamp)
    {
        return Err(FileError::Changed(path.clone()));
    }
    let persisted = match known {
        Target::New => temp.persist_noclobber(&target),
        Target::Existing(_) => temp.persist(&target),
    };
    let file: File = persisted.map_err(|error| io(error.error))?;
    let meta = file.metadata().map_err(io)?;
    Ok(seen(path, &meta, bytes))
}

/// Opens the folder without following a link; for a new file missing ones are made on the way.
fn open_folder(folder: &Path, known: Target) -> Result<OwnedFd, Errno> {
    match (open_no_links(CWD, folder, OFlags::DIRECTORY | OFlags::RDONLY), known, folder.parent(), folder.file_name()) {
        (Err(Errno::NOENT), Target::New, Some(parent), Some(name)) => {
            let parent = open_folder(parent, known)?;
            match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                // Somebody else made it meanwhile.
                Ok(()) | Err(Errno::EXIST) => open_no_links(parent.as_fd(), Path::new(name), OFlags::DIRECTORY | OFlags::RDONLY),
                Err(errno) => Err(errno),
            }
        }
        (opened, _, _, _) => opened,
    }
}

/// Links that lead nowhere yet which are followed at most, as many as the system follows.
const MAX_LINKS: usize = 40;

/// The path with links resolved: of its deepest existing ancestor, if it does not exist itself. A link whose target does not
/// exist stands for that target: that is where a write would go.
#[must_use]
pub fn resolve(path: &AbsPath) -> AbsPath {
    let mut tail = PathBuf::new();
    let mut head = path.as_path().to_path_buf();
    let mut links = 0;
    loop {
        if let Ok(real) = fs::canonicalize(&head) {
            let whole = if tail.as_os_str().is_empty() { real } else { real.join(&tail) };
            return AbsPath::new(whole).unwrap_or_else(|_| path.clone());
        }
        if let (Ok(to), Some(folder)) = (fs::read_link(&head), head.parent()) {
            links += 1;
            if links > MAX_LINKS {
                return path.clone();
            }
            // `..` of a link's target is meant from where its folder really is.
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
            let Ok(folder) = AbsPath::new(folder) else { return path.clone() };
            head = folder.join(to).into();
            continue;
        }
        let (Some(name), Some(parent)) = (head.file_name().map(ToOwned::to_owned), head.parent().map(Path::to_path_buf)) else {
            return path.clone();
        };
        tail = if tail.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(&name).join(tail) };
        head = parent;
    }
}

fn seen(path: &AbsPath, meta: &fs::Metadata, bytes: &[u8]) -> SeenFile {
    SeenFile {
        path: path.clone(),
        mtime_ns: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
        len: bytes.len() as u64,
        crc: crc32c::crc32c(bytes),
        range: None,
    }
}

/// Names in the folder that resemble the missing one, as a hint.
fn near(path: &AbsPath) -> String {
    let (Some(folder), Some(name)) = (path.as_path().parent(), path.as_path().file_name().and_then(|it| it.to_str())) else {
        return String::new();
    };
    let start: String = name.chars().take(3).collect::<String>().to_lowercase();
    let names = fs::read_dir(folder).into_iter().flatten().flatten().take(10_000);
    let mut near: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).filter(|it| it.to_lowercase().starts_with(&start)).collect();
    near.sort_unstable();
    near.truncate(3);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

#[cfg(test)]
mod tests;
