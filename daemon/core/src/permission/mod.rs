//! Permission as a function: mode, rules and what a call would do make a verdict. It never asks anyone.

pub mod subject;

pub use subject::Subject;
