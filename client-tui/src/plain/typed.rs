//! What a typed line means, and which request an answer is for. It sends nothing, and never guesses between requests.

use agentd_types::RequestId;
use agentd_types::permission::{AllowScope, Decision, PermissionRequest};
use agentd_types::question::Question;

/// What a typed line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Nothing,
    Say(String),
    Answer {
        request: RequestId,
        decision: Decision,
    },
    Choose {
        question: RequestId,
        choice: String,
    },
    Interrupt,
    Detach,
    /// It cannot be done; why.
    Wrong(String),
}

/// What waits for an answer, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Open {
    pub requests: Vec<PermissionRequest>,
    pub questions: Vec<Question>,
}

impl Open {
    /// Ids, each with what a person knows it by.
    fn requests(&self) -> Vec<(RequestId, &str)> {
        self.requests.iter().map(|it| (it.id, it.tool_name.as_str())).collect()
    }

    fn questions(&self) -> Vec<(RequestId, &str)> {
        self.questions.iter().map(|it| (it.id, it.header.as_str())).collect()
    }
}

/// Reads `line` where `open` is what waits.
#[must_use]
pub fn read(line: &str, open: &Open) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match word {
        "" => Typed::Nothing,
        "/allow" => match request(rest, &open.requests()) {
            Ok((request, "")) => Typed::Answer { request, decision: Decision::Allow { scope: AllowScope::Once, updated_input: None } },
            Ok((_, more)) => Typed::Wrong(format!("`{more}` is no open request: /allow takes an id, or nothing when only one is open")),
            Err(why) => Typed::Wrong(why),
        },
        "/answer" => match request(rest, &open.questions()) {
            Ok((_, "")) => Typed::Wrong("/answer takes a choice: a number, a label, or your own words".to_owned()),
            Ok((question, choice)) => Typed::Choose { question, choice: choice.to_owned() },
            Err(why) => Typed::Wrong(why),
        },
        "/deny" => match request(rest, &open.requests()) {
            Ok((request, message)) => {
                let message = Some(message.to_owned()).filter(|it| !it.is_empty());
                Typed::Answer { request, decision: Decision::Deny { message } }
            }
            Err(why) => Typed::Wrong(why),
        },
        "/interrupt" => Typed::Interrupt,
        "/detach" => Typed::Detach,
        _ if word.starts_with('/') && !word[1..].contains('/') => {
            Typed::Wrong(format!("{word}? there are /allow [id], /deny [id] [message], /answer [id] choice, /interrupt and /detach"))
        }
        _ => Typed::Say(line.to_owned()),
    }
}

/// The request that `rest` begins with (an id, or an id's beginning of four characters and more), and what follows it; without
/// one, the only open request.
fn request<'a>(rest: &'a str, open: &[(RequestId, &str)]) -> Result<(RequestId, &'a str), String> {
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Ok(id) = word.parse::<RequestId>() {
        // The daemon says what became of one that is not open any more.
        return Ok((id, after.trim()));
    }
    if word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
        let fits: Vec<RequestId> = open.iter().map(|(id, _)| *id).filter(|id| id.to_string().starts_with(&word.to_lowercase())).collect();
        match fits[..] {
            [id] => return Ok((id, after.trim())),
            [] => {}
            [..] => return Err(format!("`{word}` fits several that are open; give more of the id")),
        }
    }
    match open {
        [] => Err("nothing is asked".to_owned()),
        [(id, _)] => Ok((*id, rest)),
        [..] => {
            let ids: Vec<String> = open.iter().map(|(id, what)| format!("{id} ({what})")).collect();
            Err(format!("several are open, name one: {}", ids.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
