//! What a typed line means, and which request an answer is for. It sends nothing, and never guesses between requests.

use agentd_types::RequestId;
use agentd_types::permission::{AllowScope, Decision, PermissionRequest};

/// What a typed line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Nothing,
    Say(String),
    Answer {
        request: RequestId,
        decision: Decision,
    },
    Interrupt,
    Detach,
    /// It cannot be done; why.
    Wrong(String),
}

/// Reads `line` where `open` are the requests that wait.
#[must_use]
pub fn read(line: &str, open: &[PermissionRequest]) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match word {
        "" => Typed::Nothing,
        "/allow" => match request(rest, open) {
            Ok((request, "")) => Typed::Answer { request, decision: Decision::Allow { scope: AllowScope::Once, updated_input: None } },
            Ok((_, more)) => Typed::Wrong(format!("`{more}` is no open request: /allow takes an id, or nothing when only one is open")),
            Err(why) => Typed::Wrong(why),
        },
        "/deny" => match request(rest, open) {
            Ok((request, message)) => {
                let message = Some(message.to_owned()).filter(|it| !it.is_empty());
                Typed::Answer { request, decision: Decision::Deny { message } }
            }
            Err(why) => Typed::Wrong(why),
        },
        "/interrupt" => Typed::Interrupt,
        "/detach" => Typed::Detach,
        _ if word.starts_with('/') && !word[1..].contains('/') => {
            Typed::Wrong(format!("{word}? there are /allow [id], /deny [id] [message], /interrupt and /detach"))
        }
        _ => Typed::Say(line.to_owned()),
    }
}

/// The request that `rest` begins with (an id, or an id's beginning of four characters and more), and what follows it; without
/// one, the only open request.
fn request<'a>(rest: &'a str, open: &[PermissionRequest]) -> Result<(RequestId, &'a str), String> {
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Ok(id) = word.parse::<RequestId>() {
        // The daemon says what became of one that is not open any more.
        return Ok((id, after.trim()));
    }
    if word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
        let fits: Vec<RequestId> = open.iter().map(|it| it.id).filter(|id| id.to_string().starts_with(&word.to_lowercase())).collect();
        match fits[..] {
            [id] => return Ok((id, after.trim())),
            [] => {}
            [..] => return Err(format!("`{word}` fits several open requests; give more of the id")),
        }
    }
    match open {
        [] => Err("nothing is asked".to_owned()),
        [only] => Ok((only.id, rest)),
        [..] => {
            let ids: Vec<String> = open.iter().map(|it| format!("{} ({})", it.id, it.tool_name)).collect();
            Err(format!("several requests are open, name one: {}", ids.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
