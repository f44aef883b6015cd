//! What a session is in the middle of, with what belongs to it, and which change of phase is legal.

use agentd_types::Origin;
use agentd_types::SubmissionId;
use agentd_types::system::InterruptReason;

use super::event::Ticket;

/// The phase; each variant carries its own data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Nothing runs; gate B may fire.
    Idle,
    /// What it starts with is on its way to disk.
    Starting {
        submission: SubmissionId,
        end: Option<EndWish>,
    },
    /// Its task runs.
    Running {
        submission: SubmissionId,
        end: Option<EndWish>,
    },
    /// It waits for an answer and costs nothing.
    Parked {
        submission: SubmissionId,
    },
    /// `system: deleted` is on its way; nothing is accepted.
    Deleting,
    /// The store does not take entries; queued input waits until it does.
    Failed,
    Closed,
}

/// A wish that the running submission should end, and who waits for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndWish {
    pub reason: InterruptReason,
    pub by: Option<Origin>,
    pub waiting: Vec<Ticket>,
}

/// A phase without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhaseName {
    Idle,
    Starting,
    Running,
    Parked,
    Deleting,
    Failed,
    Closed,
}

impl Phase {
    #[must_use]
    pub const fn name(&self) -> PhaseName {
        match self {
            Phase::Idle => PhaseName::Idle,
            Phase::Starting { .. } => PhaseName::Starting,
            Phase::Running { .. } => PhaseName::Running,
            Phase::Parked { .. } => PhaseName::Parked,
            Phase::Deleting => PhaseName::Deleting,
            Phase::Failed => PhaseName::Failed,
            Phase::Closed => PhaseName::Closed,
        }
    }

    /// The submission that holds the session.
    #[must_use]
    pub const fn submission(&self) -> Option<SubmissionId> {
        match self {
            Phase::Starting { submission, .. } | Phase::Running { submission, .. } | Phase::Parked { submission } => Some(*submission),
            Phase::Idle | Phase::Deleting | Phase::Failed | Phase::Closed => None,
        }
    }
}

/// The legality table, written out.
#[must_use]
pub const fn is_legal(from: PhaseName, to: PhaseName) -> bool {
    use PhaseName::{Closed, Deleting, Failed, Idle, Parked, Running, Starting};
    match (from, to) {
        // A prompt is taken; or, after a restart, a cut submission goes on or still waits.
        (Idle, Starting | Parked | Deleting | Failed) => true,
        (Starting, Running | Failed) => true,
        (Running, Idle | Parked | Failed) => true,
        // An answer resumes it; `now`, a cancel or a deletion ends it without a task.
        (Parked, Starting | Idle | Failed) => true,
        (Deleting, Closed | Failed) => true,
        // There is room again.
        (Failed, Idle) => true,
        (
            Idle | Starting | Running | Parked | Deleting | Failed | Closed,
            Idle | Starting | Running | Parked | Deleting | Failed | Closed,
        ) => false,
    }
}
