//! Open permission requests, and their answers.

use agentd_types::RequestId;
use agentd_types::permission::{AllowScope, Decision};

use super::connected;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output::{Out, rows};

pub async fn list(global: &Global, session: &str, all: bool) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    let info = connection.session(session).await?;
    let requests = connection.permissions(session, all).await?;
    if global.json {
        Out::json(&requests.iter().map(|row| rows::permission(&info, row)).collect())?;
    } else {
        requests.iter().try_for_each(|row| Out::line(&rows::permission_line(row)))?;
    }
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
            let mut fits = open.iter().map(|row| row.request.id).filter(|id| id.to_string().starts_with(request));
            match (fits.next(), fits.next()) {
                (Some(id), None) => id,
                (Some(_), Some(_)) => return Err(Failure::Usage(format!("`{request}` fits several open requests; give more of the id"))),
                (None, _) => return Err(Failure::Usage(error.to_string())),
            }
        }
    };
    let resolved = connection.respond(session, id, decision).await?;
    Out::line(&format!("{} {}", resolved.decision.word(), resolved.id))?;
    Ok(Exit::Done)
}
