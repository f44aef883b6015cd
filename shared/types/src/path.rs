//! `AbsPath`: every path in the system; it never touches the file system.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A relative path where an absolute one is required: a daemon has no useful working folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not an absolute path", .0.display())]
pub struct NotAbsolute(pub PathBuf);

/// An absolute path. `.` and `..` are resolved lexically by [`AbsPath::join`], links are not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct AbsPath(PathBuf);

impl AbsPath {
    /// Takes an absolute path as it is.
    ///
    /// # Errors
    /// [`NotAbsolute`] when it is relative.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, NotAbsolute> {
        let path = path.into();
        if path.is_absolute() { Ok(Self(path)) } else { Err(NotAbsolute(path)) }
    }

    /// `other` seen from here, with `.` and `..` resolved lexically; an absolute `other` stands for itself.
    #[must_use]
    pub fn join(&self, other: impl AsRef<Path>) -> AbsPath {
        let mut out = PathBuf::new();
        for part in self.0.join(other).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    out.pop();
                }
                Component::RootDir | Component::Prefix(_) | Component::Normal(_) => out.push(part),
            }
        }
        AbsPath(out)
    }

    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    #[must_use]
    pub fn parent(&self) -> Option<AbsPath> {
        self.0.parent().map(|parent| AbsPath(parent.to_path_buf()))
    }

    /// Whether this is `folder` or lies below it, by names alone.
    #[must_use]
    pub fn is_within(&self, folder: &AbsPath) -> bool {
        self.0.starts_with(&folder.0)
    }
}

impl TryFrom<PathBuf> for AbsPath {
    type Error = NotAbsolute;
    fn try_from(path: PathBuf) -> Result<Self, NotAbsolute> {
        Self::new(path)
    }
}

impl From<AbsPath> for PathBuf {
    fn from(path: AbsPath) -> PathBuf {
        path.0
    }
}

impl AsRef<Path> for AbsPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
