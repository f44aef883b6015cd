//! The built-in tour: a small project in a temporary folder, and somebody who answers when no person is there.

use agentd_client::{Attach, Connection, NewSession, Update, tour};
use agentd_types::Body;
use agentd_types::permission::{AllowScope, Decision};

use super::run::{Task, submit};
use crate::args::{Global, OnAskArg, RunArgs, SessionArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::place;

pub async fn run(global: &Global, connection: &Connection, args: &RunArgs) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("agent-tour-").tempdir()?.keep();
    tour::lay_down(&folder)?;
    Out::note(&format!("The tour: no language model is involved. Its project is in {}", folder.display()));
    let made = SessionArgs { cwd: Some(folder), model: Some(tour::MODEL.to_owned()), ..args.made.clone() };
    let info = connection.create(NewSession { meta: place::meta(&made, args.name.clone())?, idempotency_key: None }).await?;
    let task = Task::Prompt(tour::PROMPT.to_owned());
    if place::on_terminal() || args.on_ask.is_some() || args.detach {
        return submit(global, connection, &info, task, args, OnAskArg::Park).await;
    }
    // Nobody is here to be asked: a second client answers, and is recorded as the one who decided.
    let guide = Connection::open(&place::layout(global)?.socket, tour::GUIDE).await?;
    let id = info.id.to_string();
    let answering = guide.attach(&id, None, false).await?;
    tokio::select! {
        ended = submit(global, connection, &info, task, args, OnAskArg::Wait) => ended,
        failed = answer(&guide, answering, &id) => Err(failed.err().unwrap_or_else(|| Failure::Other("the tour guide left".to_owned()))),
    }
}

/// Allows whatever is asked.
async fn answer(guide: &Connection, mut attach: Attach, session: &str) -> Result<(), Failure> {
    loop {
        if let Update::Event(event) = attach.next().await?
            && let Body::PermissionRequest(request) = &event.body
        {
            let allow = Decision::Allow { scope: AllowScope::Once, updated_input: None };
            guide.respond(session, request.id, allow).await?;
        }
    }
}
