//! Sessions made, listed, shown, renamed, deleted.

use agentd_client::NewSession;
use agentd_types::session::{NotesMode, SessionMeta};
use agentd_types::system::SessionChanges;

use super::{connected, print_session};
use crate::args::{Global, NotesArg, SessionArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Out, rows};
use crate::place;

pub async fn new(global: &Global, name: Option<String>, notes: NotesArg, made: &SessionArgs) -> Result<Exit, Failure> {
    let notes = match notes {
        NotesArg::Start => NotesMode::Start,
        NotesArg::Record => NotesMode::Record,
    };
    let meta = SessionMeta { notes, ..place::meta(made, name)? };
    let info = connected(global).await?.create(NewSession { meta, idempotency_key: None }).await?;
    if global.json {
        Out::json(&rows::session(&info))?;
    } else {
        Out::line(&info.id.to_string())?;
    }
    Ok(Exit::Done)
}

pub async fn list(global: &Global, all: bool) -> Result<Exit, Failure> {
    let infos = connected(global).await?.list(None, all).await?;
    if global.json {
        Out::json(&infos.iter().map(rows::session).collect())?;
    } else {
        infos.iter().try_for_each(|info| Out::line(&rows::session_line(info)))?;
    }
    Ok(Exit::Done)
}

pub async fn show(global: &Global, session: &str) -> Result<Exit, Failure> {
    let info = connected(global).await?.session(session).await?;
    print_session(global, &info)?;
    Ok(Exit::Done)
}

pub async fn rename(global: &Global, session: &str, name: String) -> Result<Exit, Failure> {
    let changes = SessionChanges { name: Some(name), ..SessionChanges::default() };
    let info = connected(global).await?.update(session, changes).await?;
    print_session(global, &info)?;
    Ok(Exit::Done)
}

pub async fn remove(global: &Global, session: &str) -> Result<Exit, Failure> {
    connected(global).await?.delete(session).await?;
    Ok(Exit::Done)
}
