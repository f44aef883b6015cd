//! Settings: reading the user's file. It never merges layers and never decides what a setting means.

pub mod files;
pub mod folders;
pub mod place;

pub use files::{Loaded, SettingsError, parse, read};
pub use folders::Folders;
