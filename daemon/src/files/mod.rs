//! Files as tools see them: opened without following surprises, remembered as they were. It decides no permission.

pub mod freshness;
pub mod open;
pub mod pieces;
pub mod text;

pub use freshness::{ReadCache, SeenFile};
