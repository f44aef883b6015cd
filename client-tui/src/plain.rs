//! The plain view: a session line by line, and lines typed into it. It never controls the terminal.

mod describe;
mod typed;
mod view;

pub use describe::{answer, asked, call, describe, question, replied, result_text};
pub use typed::{Open, Typed, read};
pub use view::View;

use std::io::{self, BufRead};

use agentd_client::{ClientError, Connection, InterruptOutcome, Submission, Update};
use agentd_types::Block;
use agentd_types::queue::{Batching, Priority, RunOptions};
use tokio::sync::mpsc;

/// Lines typed and not yet acted upon.
const TYPED: usize = 64;

/// Whether typed lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Full,
    ReadOnly,
}

/// Follows `session` until it is detached from, nobody reads any more, or the daemon goes down.
///
/// # Errors
/// When a call fails for another reason than a link that can be made again.
pub async fn run(connection: &Connection, session: &str, access: Access) -> Result<(), ClientError> {
    let mut attach = connection.attach(session, None, true).await?;
    let mut view = View::new(io::stdout());
    let mut lines = match access {
        Access::Full => Some(typed_lines()),
        Access::ReadOnly => None,
    };
    loop {
        let shown = tokio::select! {
            update = attach.next() => {
                let update = update?;
                let last = update == Update::Draining;
                let shown = view.show(update);
                if last {
                    return Ok(());
                }
                shown
            }
            line = next_line(&mut lines) => match line {
                // Input ended: it goes on as a view.
                None => { lines = None; Ok(()) }
                Some(line) => match act(connection, session, view.open(), &line).await {
                    Ok(After::Quiet) => Ok(()),
                    Ok(After::Say(text)) => view.line(&text),
                    Ok(After::Leave) => return Ok(()),
                    Err(error) => view.line(&format!("! {error}")),
                },
            },
        };
        // A reader that went away has seen enough.
        if shown.is_err() {
            return Ok(());
        }
    }
}

/// What follows upon a typed line.
enum After {
    Quiet,
    Say(String),
    Leave,
}

async fn act(connection: &Connection, session: &str, open: &Open, line: &str) -> Result<After, ClientError> {
    match read(line, open) {
        Typed::Nothing => {}
        Typed::Say(text) => {
            let submission = Submission {
                content: vec![Block::text(text)],
                priority: Priority::Next,
                origin: None,
                idempotency_key: None,
                batching: Batching::Fold,
                options: RunOptions::default(),
            };
            connection.submit(session, submission).await?;
        }
        Typed::Answer { request, decision } => {
            connection.respond(session, request, decision).await?;
        }
        Typed::Choose { question, choice } => {
            connection.answer(session, question, vec![choice]).await?;
        }
        Typed::Interrupt => match connection.interrupt(session, None).await? {
            InterruptOutcome::Ended { .. } => {}
            InterruptOutcome::AlreadyEnded => return Ok(After::Say("· it had ended already".to_owned())),
            InterruptOutcome::NothingRunning => return Ok(After::Say("· nothing runs".to_owned())),
        },
        Typed::Detach => return Ok(After::Leave),
        Typed::Wrong(why) => return Ok(After::Say(format!("! {why}"))),
    }
    Ok(After::Quiet)
}

async fn next_line(lines: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// Lines of stdin, from a thread of their own: a blocking read must not hold up the view.
fn typed_lines() -> mpsc::Receiver<String> {
    let (to, from) = mpsc::channel(TYPED);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if to.blocking_send(line).is_err() {
                return;
            }
        }
    });
    from
}
