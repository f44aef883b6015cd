//! What the tests share. Nothing of the product depends on it.

pub mod model;
pub mod program;
pub mod sim;
