//! A session as a state machine: an event and the state make effects; the state itself is folded from durable events.
//! It never performs an effect and never reads a clock.

pub mod calls;
pub mod choice;
pub mod effect;
pub mod event;
pub mod fold;
pub mod machine;
pub mod phase;
pub mod questions;
pub mod recover;
pub mod running;
pub mod standing;
pub mod summary;
pub mod tasks;

pub use choice::BadChoice;
pub use effect::{AskOutcome, Effect, NotStarted, Outcome, Refusal, Start, StartFrom};
pub use event::{DrainStage, Durability, Event, Fresh, TaskEnd, TaskScope, Ticket};
pub use fold::{OpenCall, Point, Projection, Run, Unfoldable};
pub use machine::Machine;
pub use phase::{Phase, PhaseName};
pub use standing::{SeenFact, Standing};
pub use summary::Summary;
