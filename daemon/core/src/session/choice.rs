//! What a choice means: an option's number or label, or a text of the answerer's own. It never guesses between options.

use agentd_types::question::{Asks, Question};

/// Bytes of an answer's text at most.
pub const MAX_TEXT: usize = 64 * 1024;

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChoice {
    #[error("choose one of: {options}")]
    None { options: String },
    #[error("one answer is asked for, {given} were given")]
    TooMany { given: usize },
    #[error("`{given}` is no option; choose one of: {options}")]
    NoOption { given: String, options: String },
    #[error("an answer has at most {MAX_TEXT} bytes")]
    TooLong,
}

/// The answer as it is recorded: labels for what names an option, the text itself else.
///
/// # Errors
/// [`BadChoice`] when there is none, are too many, or only options are taken.
pub fn read(question: &Question, given: &[String]) -> Result<Vec<String>, BadChoice> {
    let options = || {
        let numbered = question.options.iter().enumerate().map(|(at, option)| format!("{} {}", at + 1, option.label));
        numbered.collect::<Vec<_>>().join(", ")
    };
    let mut chosen: Vec<String> = Vec::new();
    for text in given.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        if text.len() > MAX_TEXT {
            return Err(BadChoice::TooLong);
        }
        let several = several(question, text);
        for one in several.as_deref().unwrap_or(&[text]) {
            let label = match (option(question, one), &question.asks) {
                (Some(label), _) => label,
                (None, Asks::Call { .. }) => (*one).to_owned(),
                (None, Asks::Resume) => return Err(BadChoice::NoOption { given: (*one).to_owned(), options: options() }),
            };
            if !chosen.contains(&label) {
                chosen.push(label);
            }
        }
    }
    match chosen.len() {
        0 => Err(BadChoice::None { options: options() }),
        given if given > 1 && !question.multi_select => Err(BadChoice::TooMany { given }),
        _ => Ok(chosen),
    }
}

/// `1,3` where several may be chosen: only if every part names an option.
fn several<'a>(question: &Question, text: &'a str) -> Option<Vec<&'a str>> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    (question.multi_select && parts.len() > 1 && parts.iter().all(|part| option(question, part).is_some())).then_some(parts)
}

/// The option that `text` names: a label as it stands, else a number from 1, else a label in other letters.
fn option(question: &Question, text: &str) -> Option<String> {
    let labels = || question.options.iter().map(|option| &option.label);
    let exact = labels().find(|label| label.as_str() == text);
    let numbered = || text.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).and_then(|at| labels().nth(at));
    let folded = || labels().find(|label| label.to_lowercase() == text.to_lowercase());
    exact.or_else(numbered).or_else(folded).cloned()
}

#[cfg(test)]
mod tests;
