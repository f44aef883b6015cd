//! Questions and their answers.

use agentd_types::question::{Answered, Asks, Choice, Question, Reply};

use super::{all, text};
use crate::v1;

impl From<&Question> for v1::Question {
    fn from(question: &Question) -> Self {
        use v1::question::Asks as Wire;
        let asks = match &question.asks {
            Asks::Call { tool_use, place } => Wire::Call(v1::CallQuestion { tool_use_id: tool_use.to_string(), place: *place }),
            Asks::Resume => Wire::Resume(v1::ResumeQuestion {}),
        };
        v1::Question {
            id: question.id.to_string(),
            agent_id: text(&question.agent),
            asks: Some(asks),
            header: question.header.clone(),
            question: question.question.clone(),
            options: all(&question.options),
            multi_select: question.multi_select,
            asked_at_ms: question.asked_at.0,
        }
    }
}

impl From<&Choice> for v1::Choice {
    fn from(choice: &Choice) -> Self {
        v1::Choice { label: choice.label.clone(), description: choice.description.clone() }
    }
}

impl From<&Answered> for v1::Answered {
    fn from(answered: &Answered) -> Self {
        use v1::reply::Kind;
        let kind = match &answered.reply {
            Reply::Chosen { choices } => Kind::Chosen(v1::Chosen { choices: choices.clone() }),
            Reply::Withdrawn => Kind::Withdrawn(v1::Withdrawn {}),
        };
        v1::Answered { id: answered.id.to_string(), reply: Some(v1::Reply { kind: Some(kind) }), by: Some((&answered.by).into()) }
    }
}
