//! Models: who can be asked, and how. Nothing here knows a session.

pub mod provider;
