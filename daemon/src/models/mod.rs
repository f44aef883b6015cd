//! Models: who can be asked, and how. Nothing here knows a session.

pub mod provider;

pub mod http;
pub mod sse;

pub mod anthropic;
