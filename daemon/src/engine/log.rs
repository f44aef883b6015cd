//! The executor's log, over the ledger: each call's start and result become entries. It decides nothing about a call.

use agentd_core::query::StoreFailure;
use agentd_core::tools::Effects;
use agentd_types::event::{ToolProgress, UserKind, UserMessage};
use agentd_types::live::Ephemeral;
use agentd_types::outcome::Denial;
use agentd_types::system::{System, ToolStarted};
use agentd_types::{Block, Body, Entry, MessageId, SubmissionId, ToolUseId};
use std::sync::Mutex;

use super::ledger::{Durability, Feed, Ledger, Receipt};
use crate::entropy::Entropy;
use crate::tools::tool::{Boxed, Call, CallLog};

/// The log of one round.
pub struct RoundLog<'a> {
    submission: SubmissionId,
    entropy: &'a dyn Entropy,
    ledger: &'a dyn Ledger,
    feed: &'a dyn Feed,
    /// Parallel calls report here; held for a push only, never over an await.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    appended: Receipt,
    denials: Vec<Denial>,
    started: bool,
}

impl<'a> RoundLog<'a> {
    #[must_use]
    pub fn new(submission: SubmissionId, entropy: &'a dyn Entropy, ledger: &'a dyn Ledger, feed: &'a dyn Feed) -> Self {
        Self { submission, entropy, ledger, feed, kept: Mutex::default() }
    }

    /// What was appended, in order, and what was denied.
    #[must_use]
    pub fn into_parts(self) -> (Receipt, Vec<Denial>) {
        let kept = self.kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        (kept.appended, kept.denials)
    }

    fn keep<T>(&self, with: impl FnOnce(&mut Kept) -> T) -> T {
        with(&mut self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    async fn append(&self, body: Body, durability: Durability) -> Result<(), StoreFailure> {
        let mut receipt = self.ledger.append(vec![Entry::of(self.submission, body)], durability).await?;
        self.keep(|kept| kept.appended.append(&mut receipt));
        Ok(())
    }
}

impl CallLog for RoundLog<'_> {
    fn started<'a>(&'a self, started: ToolStarted, effects: Effects) -> Boxed<'a, Result<(), StoreFailure>> {
        Box::pin(async move {
            // The first of a round is synced, and with it the message that asked for it; later ones survive kill -9.
            let first = self.keep(|kept| !std::mem::replace(&mut kept.started, true));
            let durability = match (effects, first) {
                (Effects::SideEffects, true) => Durability::Synced,
                (Effects::SideEffects, false) | (Effects::ReadOnly, _) => Durability::Written,
            };
            self.append(Body::System(System::ToolStarted(started)), durability).await
        })
    }

    fn finished<'a>(&'a self, result: Block) -> Boxed<'a, Result<(), StoreFailure>> {
        Box::pin(async move {
            let message = UserMessage {
                message: MessageId::from_u128(self.entropy.id()),
                kind: UserKind::ToolResults,
                content: vec![result],
                commands: Vec::new(),
            };
            self.append(Body::User(message), Durability::Written).await
        })
    }

    fn progress(&self, id: &ToolUseId, text: String) {
        self.feed.show(Ephemeral::Progress(ToolProgress { tool_use: id.clone(), text }));
    }

    fn denied(&self, call: &Call) {
        let denial = Denial { tool_name: call.name.clone(), tool_use: call.id.clone(), input: call.input.clone() };
        self.keep(|kept| kept.denials.push(denial));
    }
}
