//! The executor's log, over the ledger: each call's start and result become entries. It decides nothing about a call.

use agentd_core::query::StoreFailure;
use agentd_types::event::{ToolProgress, UserKind, UserMessage};
use agentd_types::live::Ephemeral;
use agentd_types::outcome::Denial;
use agentd_types::system::{System, ToolStarted};
use agentd_types::{Block, Body, Entry, MessageId, SubmissionId, ToolUseId};
use tokio::sync::OnceCell;

use super::conversation::Conversation;
use super::ledger::{Durability, Feed, Ledger};
use super::tally::Tally;
use crate::entropy::Entropy;
use crate::tools::tool::{Boxed, Call, CallLog, Results};

/// The starts and the progress of one round's calls.
pub struct RoundLog<'a> {
    submission: SubmissionId,
    ledger: &'a dyn Ledger,
    feed: &'a dyn Feed,
    /// Set when the round's first start, and with it the message that asked for it, is on disk.
    first: OnceCell<()>,
}

impl<'a> RoundLog<'a> {
    #[must_use]
    pub fn new(submission: SubmissionId, ledger: &'a dyn Ledger, feed: &'a dyn Feed) -> Self {
        Self { submission, ledger, feed, first: OnceCell::new() }
    }

    async fn append(&self, started: ToolStarted, durability: Durability) -> Result<(), StoreFailure> {
        let entry = Entry::of(self.submission, Body::System(System::ToolStarted(started)));
        self.ledger.append(vec![entry], durability).await.map(|_| ())
    }
}

impl CallLog for RoundLog<'_> {
    /// The first of a round is synced, and nothing with effects starts before that; later ones survive kill -9.
    fn started(&self, started: ToolStarted) -> Boxed<'_, Result<(), StoreFailure>> {
        Box::pin(async move {
            let mut mine = Some(started);
            self.first
                .get_or_try_init(|| {
                    let started = mine.take();
                    async move {
                        match started {
                            Some(started) => self.append(started, Durability::Synced).await,
                            None => Ok(()),
                        }
                    }
                })
                .await?;
            match mine {
                Some(started) => self.append(started, Durability::Written).await,
                None => Ok(()),
            }
        })
    }

    fn progress(&self, id: &ToolUseId, text: String) {
        self.feed.show(Ephemeral::Progress(ToolProgress { tool_use: id.clone(), text }));
    }
}

/// The results of one round's calls: appended, and folded into the conversation.
pub struct RoundResults<'a> {
    pub submission: SubmissionId,
    pub entropy: &'a dyn Entropy,
    pub ledger: &'a dyn Ledger,
    pub conversation: &'a mut Conversation,
    pub tally: &'a mut Tally,
}

impl Results for RoundResults<'_> {
    fn finished(&mut self, results: Vec<Block>) -> Boxed<'_, Result<(), StoreFailure>> {
        Box::pin(async move {
            let message = |result| UserMessage {
                message: MessageId::from_u128(self.entropy.id()),
                kind: UserKind::ToolResults,
                content: vec![result],
                commands: Vec::new(),
            };
            let entries = results.into_iter().map(|result| Entry::of(self.submission, Body::User(message(result)))).collect();
            let receipt = self.ledger.append(entries, Durability::Written).await?;
            receipt.iter().for_each(|event| self.conversation.fold(event));
            Ok(())
        })
    }

    fn denied(&mut self, call: &Call) {
        self.tally.denied(vec![Denial { tool_name: call.name.clone(), tool_use: call.id.clone(), input: call.input.clone() }]);
    }
}
