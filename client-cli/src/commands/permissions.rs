//! Open permission requests and questions, and their answers.

use agentd_client::printable;
use agentd_types::RequestId;
use agentd_types::id::BadId;
use agentd_types::permission::{AllowScope, Decision};

use super::connected;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output::{Out, rows};

pub async fn list(global: &Global, session: &str, all: bool) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    let info = connection.session(session).await?;
    let requests = connection.permissions(session, all).await?;
    let questions = connection.questions(session, all).await?;
    if global.json {
        let requests = requests.iter().map(|row| rows::permission(&info, row));
        Out::json(&requests.chain(questions.iter().map(|row| rows::question(&info, row))).collect())?;
    } else {
        requests.iter().try_for_each(|row| Out::line(&rows::permission_line(row)))?;
        questions.iter().try_for_each(|row| Out::line(&rows::question_line(row)))?;
    }
    Ok(Exit::Done)
}

/// Each choice an option's number or label, or a text of one's own.
pub async fn answer(global: &Global, session: &str, question: &str, choices: Vec<String>) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    let id = match question.parse::<RequestId>() {
        Ok(id) => id,
        Err(error) => {
            let open = connection.questions(session, false).await?;
            one(question, open.iter().map(|row| row.question.id), "questions", error)?
        }
    };
    let answered = connection.answer(session, id, choices).await?;
    Out::line(&format!("{} {}", printable(&answered.reply.words()), answered.id))?;
    Ok(Exit::Done)
}

pub async fn allow(global: &Global, session: &str, request: &str, always: bool, for_session: bool) -> Result<Exit, Failure> {
    let scope = match (always, for_session) {
        (true, _) => AllowScope::Always,
        (false, true) => AllowScope::Session,
        (false, false) => AllowScope::Once,
    };
    respond(global, session, request, Decision::Allow { scope, updated_input: None }).await
}

pub async fn deny(global: &Global, session: &str, request: &str, message: Option<String>) -> Result<Exit, Failure> {
    respond(global, session, request, Decision::Deny { message }).await
}

/// By id, or an id's unique beginning among the open requests.
async fn respond(global: &Global, session: &str, request: &str, decision: Decision) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    let id = match request.parse::<RequestId>() {
        Ok(id) => id,
        Err(error) => {
            let open = connection.permissions(session, false).await?;
            one(request, open.iter().map(|row| row.request.id), "requests", error)?
        }
    };
    let resolved = connection.respond(session, id, decision).await?;
    Out::line(&format!("{} {}", resolved.decision.word(), resolved.id))?;
    match (&resolved.decision, &resolved.rule) {
        (Decision::Allow { scope: AllowScope::Once, .. } | Decision::Deny { .. } | Decision::Withdrawn, _) => {}
        (Decision::Allow { scope: AllowScope::Session, .. }, Some(rule)) => Out::note(&format!("from now on in this session: {rule}")),
        (Decision::Allow { scope: AllowScope::Always, .. }, Some(rule)) => Out::note(&format!("from now on in this folder: {rule}")),
        (Decision::Allow { scope: AllowScope::Session | AllowScope::Always, .. }, None) => {
            Out::note("no rule can be made of this call without allowing more than it: it is allowed once");
        }
    }
    Ok(Exit::Done)
}

/// The one of `open` that begins with `given`.
fn one(given: &str, open: impl Iterator<Item = RequestId>, what: &str, error: BadId) -> Result<RequestId, Failure> {
    let mut fits = open.filter(|id| !given.is_empty() && id.to_string().starts_with(given));
    match (fits.next(), fits.next()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => Err(Failure::Usage(format!("`{given}` fits several open {what}; give more of the id"))),
        (None, _) => Err(Failure::Usage(error.to_string())),
    }
}
