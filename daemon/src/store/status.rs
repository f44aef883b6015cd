//! How the store is, for whoever asks: what happened, what is set apart, how much room it takes. It never repairs anything.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use agentd_types::{SessionId, Timestamp};

use super::limits::TOLD;

/// How much a person should care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// In the order of things.
    Note,
    /// It should not have happened, though it was dealt with.
    Attention,
}

/// Something a person should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    pub at: Timestamp,
    pub weight: Weight,
    pub text: String,
}

/// How the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Why nothing is acknowledged any more, or why what is behind the journal does not get on.
    pub trouble: Option<String>,
    /// Since the daemon started, oldest first.
    pub happened: Vec<Happened>,
    /// Sessions that are kept apart, and why.
    pub quarantined: Vec<(SessionId, String)>,
    /// Databases that were moved aside.
    pub aside: Vec<PathBuf>,
    pub sessions: u64,
    pub segments: u64,
    /// Bytes of the database on disk.
    pub database_bytes: u64,
}

/// What happened, the newest `TOLD` of it. Pushed and copied under its lock, never more.
#[derive(Debug, Default)]
pub struct Told(Mutex<VecDeque<Happened>>);

impl Told {
    pub fn say(&self, at: Timestamp, weight: Weight, text: String) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() == TOLD {
            told.pop_front();
        }
        told.push_back(Happened { at, weight, text });
    }

    #[must_use]
    pub fn all(&self) -> Vec<Happened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
