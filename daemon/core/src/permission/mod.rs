//! Permission as a function: mode, rules and what a call would do make a verdict. It never asks anyone.

pub mod dangerous;
pub mod decide;
pub mod matching;
pub mod shell;
pub mod subject;

pub use decide::{Policy, Scope, Verdict, decide, forbids};
pub use subject::Subject;
