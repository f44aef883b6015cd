//! One file per command, or per few that are one idea. Each connects, calls, prints.

mod daemon;
mod doctor;
mod log;
mod permissions;
mod rehearse;
mod run;
mod send;
mod sessions;
mod tasks;
mod tour;

use agentd_types::session::SessionInfo;

use crate::args::{Args, Command, Global, OnAskArg};
use crate::exit::{Exit, Failure};
use crate::output::{Out, rows};
use crate::place::connect;

/// Does what was asked.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    if args.has_stray_options() {
        return Err(Failure::Usage("options of `-p` stand before a command that does not know them: put them behind it".to_owned()));
    }
    let Args { global, print, run: options, command } = args;
    let Some(command) = command else {
        return match print {
            Some(prompt) => run::run(&global, Some(prompt), &options, OnAskArg::Deny).await,
            None => Err(Failure::Usage("what shall it do? `agent run PROMPT` runs a prompt, `agent --help` lists the commands".to_owned())),
        };
    };
    match command {
        Command::Run { prompt, run } => run::run(&global, prompt, &run, OnAskArg::Park).await,
        Command::Rehearse { file, permission_mode, answer } => rehearse::run(&global, file, permission_mode, &answer).await,
        Command::New { session_name, notes, made } => sessions::new(&global, session_name, notes, &made).await,
        Command::Ls { all } => sessions::list(&global, all).await,
        Command::Show { session } => sessions::show(&global, &session).await,
        Command::Rm { session } => sessions::remove(&global, &session).await,
        Command::Rename { session, name } => sessions::rename(&global, &session, name).await,
        Command::Send { session, text, now, later, wait, idempotency_key, origin } => {
            let send = send::Send { session, text, now, later, wait, idempotency_key, origin };
            send::send(&global, send).await
        }
        Command::Interrupt { session, task: None, all_tasks: false } => send::interrupt(&global, &session).await,
        Command::Interrupt { session, task, all_tasks: _ } => tasks::interrupt(&global, &session, task.as_deref()).await,
        Command::Tasks { session } => tasks::list(&global, &session).await,
        Command::Task { command } => tasks::run(&global, &command).await,
        Command::Queue { session } => send::queue(&global, &session).await,
        Command::Log { session, from, tail, follow, output_format } => log::run(&global, &session, from, tail, follow, output_format).await,
        Command::Attach { session, plain, read_only } => log::attach(&global, &session, plain, read_only).await,
        Command::Permissions { session, all } => permissions::list(&global, &session, all).await,
        Command::Allow { session, request, always, for_session } => {
            permissions::allow(&global, &session, &request, always, for_session).await
        }
        Command::Answer { session, question, choice } => permissions::answer(&global, &session, &question, choice).await,
        Command::Deny { session, request, message } => permissions::deny(&global, &session, &request, message).await,
        Command::Doctor { rebuild_store } => {
            let treatment = if rebuild_store { doctor::Treatment::RebuildStore } else { doctor::Treatment::Look };
            doctor::run(&global, treatment).await
        }
        Command::Daemon { command } => daemon::run(&global, &command).await,
    }
}

/// A session's row, as asked.
fn print_session(global: &Global, info: &SessionInfo) -> Result<(), Failure> {
    if global.json { Out::json(&rows::session(info)) } else { Out::line(&rows::session_line(info)) }
}

async fn connected(global: &Global) -> Result<agentd_client::Connection, Failure> {
    let connection = connect(global).await?;
    if global.verbose {
        let info = connection.info();
        Out::note(&format!("daemon {} (protocol {}), pid {}, {}", info.version, info.protocol, info.pid, info.state));
    }
    Ok(connection)
}
