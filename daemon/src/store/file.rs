//! Files as the journal needs them, and the real ones. Nothing here knows what is written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// A file system: names and folders. Every call blocks.
pub trait FileSystem: Send + Sync + 'static {
    /// Makes the folder and its parents, for the owner only. An existing one is left as it is.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// The names of the files in a folder, in no order. Names that are no UTF-8 are left out: none of ours is one.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// A new, empty file for the owner only; an existing one is emptied.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// An existing file, to read and write.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Gives a file another name, replacing what had it. Durable after `sync_dir`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name. Durable after `sync_dir`.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the folder's names durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// An open file. Every call blocks; calls at the same time do not disturb each other.
pub trait File: Send + Sync + 'static {
    /// Bytes from the start to the end.
    fn size(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`; `UnexpectedEof` when the file is shorter.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, growing the file as needed. After an error a prefix of them may be there.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts the file, or lengthens it with zeros that take no room yet.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes what was written, and the file's length, durable. After an error nobody knows what is on the disk, and asking
    /// again would answer for nothing: the system has forgotten which pages were missing.
    fn sync_data(&self) -> io::Result<()>;
}

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileSystem for Disk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Arc::new(DiskFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(DiskFile(OpenOptions::new().read(true).write(true).open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }
}

#[derive(Debug)]
struct DiskFile(fs::File);

impl File for DiskFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
