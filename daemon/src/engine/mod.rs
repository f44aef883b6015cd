//! The engine: one conversation's loop, driven. It knows no store, no session and no client.

pub mod drive;
pub mod ledger;
