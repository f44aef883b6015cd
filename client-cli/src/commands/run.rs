//! `agent run` and `agent -p`: one submission, headless; ends with it.

use std::io::{IsTerminal, Read};

use agentd_client::{Connection, NewSession, Submission};
use agentd_types::Block;
use agentd_types::queue::{Batching, OnAsk, Priority, RunOptions};
use agentd_types::session::SessionInfo;
use agentd_types::system::SessionChanges;

use super::{connected, tour};
use crate::args::{Format, Global, OnAskArg, RunArgs};
use crate::exit::{Exit, Failure};
use crate::follow::{Asking, How, follow};
use crate::output::Out;
use crate::place;

/// Bytes of a prompt from stdin at most: 10 MB.
const MAX_STDIN: u64 = 10 * 1024 * 1024;

pub async fn run(global: &Global, prompt: Option<String>, args: &RunArgs, on_ask: OnAskArg) -> Result<Exit, Failure> {
    let prompt = with_stdin(prompt)?;
    let connection = connected(global).await?;
    let Some(prompt) = prompt else {
        let rehearsed = match args.model.as_deref() {
            Some(model) => model == "rehearsal" || model == "rehearsal:tour",
            None => connection.info().default_model == "rehearsal",
        };
        return if rehearsed && args.session.is_none() && !args.continue_newest {
            tour::run(global, &connection, args).await
        } else {
            Err(Failure::Usage("there is no prompt: give one, or pipe it in".to_owned()))
        };
    };
    let info = session(&connection, args).await?;
    submit(global, &connection, &info, prompt, args, on_ask).await
}

/// Submits `prompt` and follows it to its end.
pub async fn submit(
    global: &Global,
    connection: &Connection,
    info: &SessionInfo,
    prompt: String,
    args: &RunArgs,
    on_ask: OnAskArg,
) -> Result<Exit, Failure> {
    let person = place::on_terminal() && args.on_ask.is_none() && on_ask == OnAskArg::Park;
    let on_ask = match (person, args.on_ask.unwrap_or(on_ask)) {
        (true, _) | (false, OnAskArg::Wait) => OnAsk::Wait,
        (false, OnAskArg::Park) => OnAsk::Park,
        (false, OnAskArg::Deny) => OnAsk::Deny,
    };
    let format = if global.json { Format::Json } else { args.output_format };
    let id = info.id.to_string();
    let partials = format == Format::Text || args.include_partial_messages;
    let attach = connection.attach(&id, None, partials).await?;
    let submission = Submission {
        content: vec![Block::text(prompt)],
        priority: Priority::Next,
        origin: None,
        idempotency_key: Some(uuid::Uuid::now_v7().to_string()),
        batching: Batching::Alone,
        options: RunOptions { on_ask, max_turns: args.max_turns, max_budget: place::budget(args.max_budget_usd)? },
    };
    let receipt = connection.submit(&id, submission).await?;
    if args.detach {
        Out::line(&id)?;
        return Ok(Exit::Done);
    }
    let asking = if person { Asking::Person } else { Asking::Others };
    follow(connection, attach, info.id, receipt.command, How { format, partials: args.include_partial_messages, asking }).await
}

async fn session(connection: &Connection, args: &RunArgs) -> Result<SessionInfo, Failure> {
    let found = match (&args.session, args.continue_newest) {
        (Some(session), _) => Some(connection.session(session).await?),
        (None, true) => {
            let cwd = place::meta(args, None)?.cwd;
            let newest = connection.list(Some(cwd.clone()), false).await?.into_iter().next();
            Some(newest.ok_or_else(|| Failure::Usage(format!("there is no session in {cwd} to continue")))?)
        }
        (None, false) => None,
    };
    let Some(info) = found else {
        let meta = place::meta(args, args.name.clone())?;
        return Ok(connection.create(NewSession { meta, idempotency_key: None }).await?);
    };
    let changes = SessionChanges {
        model: args.model.clone(),
        permission_mode: place::mode(args.permission_mode.as_deref())?,
        ..SessionChanges::default()
    };
    if changes == SessionChanges::default() { Ok(info) } else { Ok(connection.update(&info.id.to_string(), changes).await?) }
}

/// The prompt, and what is piped in: alone, or below the prompt.
fn with_stdin(prompt: Option<String>) -> Result<Option<String>, Failure> {
    let stdin = std::io::stdin();
    if prompt.is_some() || stdin.is_terminal() {
        return Ok(prompt);
    }
    let mut piped = String::new();
    stdin.lock().take(MAX_STDIN + 1).read_to_string(&mut piped).map_err(|error| Failure::Usage(format!("stdin is no text: {error}")))?;
    if piped.len() as u64 > MAX_STDIN {
        return Err(Failure::Usage("stdin holds more than 10 MB: put it into a file and name the file".to_owned()));
    }
    Ok(Some(piped).filter(|it| !it.trim().is_empty()))
}
