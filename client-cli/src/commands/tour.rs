//! The built-in tour: a small project in a temporary folder, and somebody who answers when no person is there.

use agentd_client::{Connection, NewSession, Update};
use agentd_types::Body;
use agentd_types::permission::{AllowScope, Decision};

use super::run::submit;
use crate::args::{Global, OnAskArg, RunArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::place;

/// The project the tour's script works on.
const FILES: [(&str, &str); 2] = [
    ("greet.sh", include_str!("../../../daemon/src/models/rehearsal/tour/greet.sh")),
    ("test.sh", include_str!("../../../daemon/src/models/rehearsal/tour/test.sh")),
];

pub async fn run(global: &Global, connection: &Connection, args: &RunArgs) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("agent-tour-").tempdir()?.keep();
    for (name, content) in FILES {
        std::fs::write(folder.join(name), content)?;
    }
    Out::note(&format!("The tour: no language model is involved. Its project is in {}", folder.display()));
    let args = RunArgs { cwd: Some(folder), model: Some("rehearsal:tour".to_owned()), ..args.clone() };
    let info = connection.create(NewSession { meta: place::meta(&args, args.name.clone())?, idempotency_key: None }).await?;
    let prompt = "Show me what you can do.".to_owned();
    if place::on_terminal() {
        return submit(global, connection, &info, prompt, &args, OnAskArg::Park).await;
    }
    // Nobody is here to be asked: a second client answers, and is recorded as the one who decided.
    let guide = Connection::open(&place::layout(global)?.socket, "tour guide").await?;
    let args = RunArgs { on_ask: Some(OnAskArg::Wait), ..args };
    let id = info.id.to_string();
    tokio::select! {
        ended = submit(global, connection, &info, prompt, &args, OnAskArg::Wait) => ended,
        failed = answer(&guide, &id) => Err(failed.err().unwrap_or_else(|| Failure::Other("the tour guide left".to_owned()))),
    }
}

/// Allows whatever is asked.
async fn answer(guide: &Connection, session: &str) -> Result<(), Failure> {
    let mut attach = guide.attach(session, None, false).await?;
    loop {
        if let Update::Event(event) = attach.next().await?
            && let Body::PermissionRequest(request) = &event.body
        {
            let allow = Decision::Allow { scope: AllowScope::Once, updated_input: None };
            guide.respond(session, request.id, allow).await?;
        }
    }
}
