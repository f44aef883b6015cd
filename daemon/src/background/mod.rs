//! Work that goes on without anybody waiting for it: who runs, how it is told to end. It never decides what becomes of it.

pub mod tasks;

pub use tasks::Tasks;
