//! Our types as wire messages; it cannot fail. Only the bytes of a path that are no UTF-8 become U+FFFD.

mod event;
mod live;
mod message;
mod permission;
mod question;
mod queue;
mod session;
mod system;
mod task;

use std::fmt::Display;

use agentd_types::AbsPath;

/// An enum as its number.
pub(crate) fn number<W: Into<i32>>(value: impl Into<W>) -> i32 {
    value.into().into()
}

/// Each element converted.
pub(crate) fn all<'a, T: 'a, W: From<&'a T>>(items: &'a [T]) -> Vec<W> {
    items.iter().map(W::from).collect()
}

/// The text of an id that may be absent.
pub(crate) fn text(id: &Option<impl Display>) -> Option<String> {
    id.as_ref().map(ToString::to_string)
}

/// The texts of ids.
pub(crate) fn texts(ids: &[impl Display]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// A path's text.
pub(crate) fn path(path: &AbsPath) -> String {
    path.as_path().to_string_lossy().into_owned()
}
