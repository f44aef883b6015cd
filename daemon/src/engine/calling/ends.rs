//! How a call ends: what of the answer is stored, held back or taken back, and what the table is told. It never asks a model.

use agentd_core::model::ending::Ending;
use agentd_core::model::{ErrorClass, ModelError};
use agentd_core::query::{FailureKind, ModelFailure, Observed, ReplyEnd, ToolBatch, Withheld};
use agentd_types::Body;
use agentd_types::content::plain_text;

use super::{Answer, Called, Calling, SoFar, notice};
use crate::engine::conversation::Conversation;
use crate::engine::tally::{Bill, Tally};

/// What became of an answer.
enum Fate {
    /// With a notice, if something was odd.
    Store(Option<String>),
    /// The table decides.
    HoldBack,
    /// What was shown does not count, and why.
    TakeBack(String),
}

impl Calling<'_> {
    /// Stores the answer, or what stands for it, and says how the call ended.
    pub(super) async fn answered(
        &self,
        conversation: &mut Conversation,
        answer: Answer,
        ending: Ending,
        mut so_far: SoFar,
        tally: &mut Tally,
    ) -> Observed<Called> {
        let Answer { message, folded } = answer;
        let calls = ToolBatch { calls: folded.calls().map(|(id, _, _)| id.clone()).collect() };
        let refusal = folded.refusal.clone();
        let assistant = self.as_message(message, folded);
        so_far.said.push(plain_text(&assistant.content));
        so_far.said.retain(|text| !text.is_empty());
        tally.said(so_far.said.join("\n"), assistant.stop_reason.clone());
        let (end, fate) = match ending {
            Ending::Refused => {
                let category = refusal.as_deref().map(|it| format!(" ({it})")).unwrap_or_default();
                let said = format!("the model refused to answer{category}");
                let failure = ModelFailure { kind: FailureKind::Refusal(refusal), status: None, message: said.clone() };
                // Sent again, a refusal makes the next one: nothing of it stays.
                (ReplyEnd::Failed(failure), Fate::TakeBack(said))
            }
            Ending::WindowFull => (ReplyEnd::Withheld(Withheld::PromptTooLong), Fate::HoldBack),
            Ending::OutputLimit if calls.calls.is_empty() => (ReplyEnd::OutputLimit { calls }, Fate::HoldBack),
            Ending::OutputLimit => (ReplyEnd::OutputLimit { calls }, Fate::Store(None)),
            Ending::PausedOut => {
                let text = format!("the model paused {} times in a row; its answer is taken as it is", self.limits.pauses);
                (ReplyEnd::Whole { calls }, Fate::Store(Some(text)))
            }
            Ending::Silent => (ReplyEnd::Whole { calls }, Fate::Store(Some("the model's answer is empty".to_owned()))),
            Ending::Stands | Ending::SendBack | Ending::AskAgain => (ReplyEnd::Whole { calls }, Fate::Store(None)),
        };
        let mut withheld = None;
        match fate {
            Fate::HoldBack => withheld = Some(assistant),
            Fate::Store(why) => {
                let entries = std::iter::once(Body::Assistant(assistant)).chain(why.map(notice)).collect();
                self.append(conversation, entries).await?;
            }
            Fate::TakeBack(_) if assistant.content.is_empty() => {}
            Fate::TakeBack(reason) => self.append(conversation, vec![Body::Tombstone { message, reason }]).await?,
        }
        Ok(Called { reply: so_far.bill.reply(end), withheld })
    }

    pub(super) fn gave_up(&self, error: ModelError, bill: Bill) -> Called {
        let end = match error.class {
            ErrorClass::PromptTooLong | ErrorClass::RequestTooLarge => ReplyEnd::Withheld(Withheld::PromptTooLong),
            ErrorClass::MediaTooLarge => ReplyEnd::Withheld(Withheld::MediaTooLarge),
            ErrorClass::ExpectFailed => failed(FailureKind::ExpectFailed, error),
            class @ (ErrorClass::InvalidRequest
            | ErrorClass::Authentication
            | ErrorClass::Billing
            | ErrorClass::Permission
            | ErrorClass::NotFound
            | ErrorClass::RateLimit
            | ErrorClass::SpendLimit
            | ErrorClass::Server
            | ErrorClass::Overloaded
            | ErrorClass::Timeout
            | ErrorClass::Connect
            | ErrorClass::StreamCut
            | ErrorClass::Silence
            | ErrorClass::Protocol) => failed(FailureKind::Api(class.name().to_owned()), error),
        };
        Called { reply: bill.reply(end), withheld: None }
    }
}

fn failed(kind: FailureKind, error: ModelError) -> ReplyEnd {
    ReplyEnd::Failed(ModelFailure { kind, status: error.status, message: error.message })
}
