//! `AskUser`: questions to whoever is attached. It asks nobody itself: its chain does, and hands the answers in.

use std::collections::BTreeMap;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use agentd_types::question::Choice;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::permissions::asker::Asked;

/// Questions of one call.
const QUESTIONS: std::ops::RangeInclusive<usize> = 1..=4;
/// Options of one question.
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=4;
/// Characters of a header.
const HEADER: usize = 12;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// One to four questions.
    questions: Vec<OneQuestion>,
    /// Filled in by who answers, by question: leave it out.
    #[serde(default)]
    answers: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneQuestion {
    /// The question, ending with a question mark.
    question: String,
    /// A label of at most 12 characters.
    header: String,
    /// Two to four options.
    options: Vec<OneOption>,
    /// Whether several options may be chosen.
    #[serde(default, rename = "multiSelect")]
    multi_select: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneOption {
    /// What is chosen, in one to five words.
    label: String,
    /// What it means.
    #[serde(default)]
    description: String,
}

/// The tool.
pub struct AskUser {
    spec: ToolSpec,
}

impl Default for AskUser {
    fn default() -> AskUser {
        AskUser { spec: input::spec::<Input>("AskUser", include_str!("ask.md")) }
    }
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["AskUserQuestion"]
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::ReadOnly, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(std::future::ready(input::read::<Input>("AskUser", input).and_then(|wanted| checked(&wanted))))
    }

    fn asks(&self, input: &Json) -> Vec<Asked> {
        match input.read::<Input>() {
            Ok(wanted) if wanted.answers.is_none() => wanted.questions.into_iter().map(asked).collect(),
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    fn call<'a>(&'a self, input: &'a Json, _call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("AskUser", input)?;
            let answers = wanted.answers.unwrap_or_default();
            let lines = wanted.questions.iter().map(|it| {
                let answer = answers.get(&it.question).map_or("(no answer)", String::as_str);
                format!("{}\n→ {answer}", it.question)
            });
            Ok(ToolOutput::text(lines.collect::<Vec<_>>().join("\n\n")))
        })
    }
}

/// The input with answers to its questions, in their order.
pub fn with_answers(input: &Json, answers: &[(String, String)]) -> Json {
    let Ok(mut fields) = input.read::<BTreeMap<String, Json>>() else { return input.clone() };
    let answers: BTreeMap<&str, &str> = answers.iter().map(|(question, answer)| (question.as_str(), answer.as_str())).collect();
    let Ok(answers) = Json::of(&answers) else { return input.clone() };
    fields.insert("answers".to_owned(), answers);
    Json::of(&fields).unwrap_or_else(|_| input.clone())
}

fn asked(it: OneQuestion) -> Asked {
    let options = it.options.into_iter().map(|option| Choice { label: option.label, description: option.description }).collect();
    Asked { header: it.header, question: it.question, options, multi_select: it.multi_select }
}

fn checked(wanted: &Input) -> Result<Subject, ToolFailure> {
    let tell = |text: String| Err(ToolFailure::TellModel(text));
    if !QUESTIONS.contains(&wanted.questions.len()) {
        return tell(format!("questions: 1 to 4 are asked at once, not {}", wanted.questions.len()));
    }
    for (at, it) in wanted.questions.iter().enumerate() {
        let place = at + 1;
        if it.question.trim().is_empty() {
            return tell(format!("question {place} is empty"));
        }
        if wanted.questions[..at].iter().any(|before| before.question == it.question) {
            return tell(format!("question {place} is asked twice"));
        }
        if it.header.chars().count() > HEADER {
            return tell(format!("question {place}: its header has more than {HEADER} characters"));
        }
        if !OPTIONS.contains(&it.options.len()) {
            return tell(format!("question {place}: 2 to 4 options are offered, not {}", it.options.len()));
        }
        let labels: Vec<&str> = it.options.iter().map(|option| option.label.trim()).collect();
        if labels.iter().enumerate().any(|(at, label)| label.is_empty() || labels[..at].contains(label)) {
            return tell(format!("question {place}: each option has a label of its own"));
        }
    }
    Ok(Subject::Other)
}

#[cfg(test)]
mod tests;
