//! Tests of the loop as a whole, and what all tests of it share. It never touches a store, a model or a clock.

pub mod make;
mod names;
mod properties;
mod script;
mod traces;
