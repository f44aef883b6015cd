//! Who waits for what: the reply channels behind the machine's tickets. It never answers on its own.

use std::collections::HashMap;

use agentd_core::query::StoreFailure;
use agentd_core::session::{NotStarted, Ticket};
use agentd_types::permission::PermissionResolved;
use agentd_types::question::Answered;
use agentd_types::queue::QueuedCommand;
use agentd_types::session::SessionInfo;
use agentd_types::task::Task;
use agentd_types::{AgentId, TaskId};
use tokio::sync::oneshot;

use super::handle::Reply;
use super::request::{Interrupted, SubmitReceipt};
use crate::engine::ledger::Receipt;
use crate::permissions::asker::{Answer, Said};
use crate::tools::host::{Spawned, Work};

/// A reply channel, by what it takes.
pub(super) enum Waiter {
    Submit(Reply<SubmitReceipt>),
    Interrupt(Reply<Interrupted>),
    Respond(Reply<PermissionResolved>),
    Answer(Reply<Answered>),
    Update(Reply<SessionInfo>),
    Delete(Reply<()>),
    Append(oneshot::Sender<Result<Receipt, StoreFailure>>),
    Ask(oneshot::Sender<Answer>),
    AskPerson(oneshot::Sender<Said>),
    Lease(oneshot::Sender<Vec<QueuedCommand>>),
    /// Its work waits with it.
    TaskStart {
        work: Work,
        reply: oneshot::Sender<Result<TaskId, NotStarted>>,
    },
    /// The same for a subagent.
    SpawnAgent {
        agent: AgentId,
        work: Work,
        reply: oneshot::Sender<Result<Spawned, NotStarted>>,
    },
    /// A prompt for a subagent that runs.
    Told(oneshot::Sender<Result<Spawned, NotStarted>>),
    Tasks(Reply<Vec<Task>>),
    /// A loop ended a task of its own.
    OwnStop(oneshot::Sender<()>),
}

/// Tickets and the channels behind them; bounded by the calls in flight.
#[derive(Default)]
pub(super) struct Waiting {
    next: u64,
    waiters: HashMap<Ticket, Waiter>,
}

impl Waiting {
    pub(super) fn add(&mut self, waiter: Waiter) -> Ticket {
        self.next += 1;
        let ticket = Ticket(self.next);
        self.waiters.insert(ticket, waiter);
        ticket
    }

    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Waiter> {
        self.waiters.remove(&ticket)
    }
}
