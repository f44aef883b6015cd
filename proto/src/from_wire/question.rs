//! Questions and their answers.

use agentd_types::question::{Answered, Asks, Choice, Question, Reply};
use agentd_types::{Timestamp, ToolUseId};

use super::{id, maybe_id, required};
use crate::{WireError, v1};

impl TryFrom<v1::Question> for Question {
    type Error = WireError;
    fn try_from(question: v1::Question) -> Result<Self, WireError> {
        use v1::question::Asks as Wire;
        let asks = match required("question.asks", question.asks)? {
            Wire::Call(v1::CallQuestion { tool_use_id, place }) => Asks::Call { tool_use: ToolUseId(tool_use_id), place },
            Wire::Resume(v1::ResumeQuestion {}) => Asks::Resume,
        };
        Ok(Question {
            id: id("question.id", &question.id)?,
            agent: maybe_id("question.agent_id", question.agent_id.as_deref())?,
            asks,
            header: question.header,
            question: question.question,
            options: question.options.into_iter().map(Choice::from).collect(),
            multi_select: question.multi_select,
            asked_at: Timestamp(question.asked_at_ms),
        })
    }
}

impl From<v1::Choice> for Choice {
    fn from(choice: v1::Choice) -> Self {
        Choice { label: choice.label, description: choice.description }
    }
}

impl TryFrom<v1::Answered> for Answered {
    type Error = WireError;
    fn try_from(answered: v1::Answered) -> Result<Self, WireError> {
        use v1::reply::Kind;
        let reply = required("answer.reply", answered.reply)?;
        let reply = match required("answer.reply.kind", reply.kind)? {
            Kind::Chosen(v1::Chosen { choices }) => Reply::Chosen { choices },
            Kind::Withdrawn(v1::Withdrawn {}) => Reply::Withdrawn,
        };
        Ok(Answered { id: id("answer.id", &answered.id)?, reply, by: required("answer.by", answered.by)?.try_into()? })
    }
}
