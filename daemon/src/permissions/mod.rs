//! Permissions at work: decide by the rules, or ask and wait. Who is asked and how is not known here.

pub mod asker;
pub mod gate;
pub mod rules;
