//! `agent rehearse`: a script played headless, its expectations checked; then each call, who decided what, and why.

mod script;
mod summary;

use std::path::{Path, PathBuf};

use agentd_client::{Attach, Connection, InterruptOutcome, NewSession, Submission, Update};
use agentd_types::permission::{AllowScope, Decision};
use agentd_types::queue::{Batching, OnAsk, Priority, RunOptions};
use agentd_types::{Block, Body, Event};
use tokio::signal::unix::{SignalKind, signal};

use self::script::Expectations;
use self::summary::Summary;
use super::connected;
use crate::args::{Global, SessionArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::place;

pub async fn run(global: &Global, file: PathBuf, permission_mode: Option<String>, answers: &[String]) -> Result<Exit, Failure> {
    let answers = answers.iter().map(|text| answer(text)).collect::<Result<Vec<_>, _>>()?;
    let file = place::absolute(file)?;
    let expectations = expectations(&file)?;
    let connection = connected(global).await?;
    let made = SessionArgs { model: Some(format!("rehearsal:{}", file.display())), permission_mode, ..SessionArgs::default() };
    let info = connection.create(NewSession { meta: place::meta(&made, None)?, idempotency_key: None }).await?;
    let id = info.id.to_string();
    let attach = connection.attach(&id, None, false).await?;
    let on_ask = if answers.is_empty() { OnAsk::Deny } else { OnAsk::Wait };
    let submission = Submission {
        content: vec![Block::text("Rehearse.")],
        priority: Priority::Next,
        origin: None,
        idempotency_key: None,
        batching: Batching::Alone,
        options: RunOptions { on_ask, ..RunOptions::default() },
    };
    connection.submit(&id, submission).await?;
    let summary = play(global, &connection, attach, &id, &answers).await?;
    let missed = match summary.exit() {
        Exit::Done => expectations.missed(summary.replies()),
        // It says itself why it went no further.
        Exit::Failed | Exit::Usage | Exit::Limit | Exit::Parked | Exit::Unreachable | Exit::NoSession | Exit::Interrupted => Vec::new(),
    };
    if global.json {
        Out::json(&summary.json(&id, &missed))?;
    } else {
        summary.lines(&missed).iter().try_for_each(|line| Out::line(line))?;
    }
    Ok(match summary.exit() {
        Exit::Done if !missed.is_empty() => Exit::Failed,
        exit => exit,
    })
}

fn expectations(file: &Path) -> Result<Expectations, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("the script {}: {error}", file.display())))?;
    Expectations::read(&text).map_err(|why| Failure::Usage(format!("the script {}: {why}", file.display())))
}

/// Until the submission has ended. Ctrl+C interrupts it.
async fn play(
    global: &Global,
    connection: &Connection,
    mut attach: Attach,
    id: &str,
    answers: &[(u32, Decision)],
) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    let mut ctrl_c = signal(SignalKind::interrupt())?;
    let mut asked = 0;
    while !summary.is_over() {
        let update = tokio::select! {
            update = attach.next() => update?,
            _ = ctrl_c.recv() => {
                match connection.interrupt(id, None).await? {
                    InterruptOutcome::Ended { .. } | InterruptOutcome::AlreadyEnded | InterruptOutcome::NothingRunning => continue,
                }
            }
        };
        match update {
            Update::Event(event) => {
                summary.note(&event);
                if global.verbose {
                    agentd_tui::plain::describe(&event).iter().for_each(|text| Out::note(text));
                }
                if let Event { body: Body::PermissionRequest(request), .. } = &*event {
                    asked += 1;
                    let given = answers.iter().find(|(number, _)| *number == asked).map(|(_, decision)| decision.clone());
                    let none = || Decision::Deny { message: Some(format!("the rehearsal has no answer to request {asked}")) };
                    if !answers.is_empty() {
                        connection.respond(id, request.id, given.unwrap_or_else(none)).await?;
                    }
                }
                // Nobody thought of an answer: the first option, as a rehearsal that runs through would have it.
                if let Event { body: Body::Question(question), .. } = &*event
                    && !answers.is_empty()
                {
                    connection.answer(id, question.id, vec!["1".to_owned()]).await?;
                }
            }
            Update::Draining => return Err(Failure::Other("the daemon is shutting down; nothing was shown to hold".to_owned())),
            Update::Snapshot(_)
            | Update::Delta(_)
            | Update::Progress(_)
            | Update::Countdown(_)
            | Update::Lagged { .. }
            | Update::Link(_) => {}
        }
    }
    Ok(summary)
}

/// `N=allow` or `N=deny`.
fn answer(text: &str) -> Result<(u32, Decision), Failure> {
    let bad = || Failure::Usage(format!("--answer {text}: write N=allow or N=deny, N from 1"));
    let (number, word) = text.split_once('=').ok_or_else(bad)?;
    let number = number.parse().ok().filter(|n| *n > 0).ok_or_else(bad)?;
    match word {
        "allow" => Ok((number, Decision::Allow { scope: AllowScope::Once, updated_input: None })),
        "deny" => Ok((number, Decision::Deny { message: None })),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests;
