//! The queue from outside: send, look, interrupt.

use agentd_client::{InterruptOutcome, Submission};
use agentd_types::queue::{Batching, Priority, RunOptions};
use agentd_types::{Block, Origin};
use serde_json::json;

use super::connected;
use crate::args::{Format, Global};
use crate::exit::{Exit, Failure};
use crate::follow::{Asking, Follow, Source};
use crate::output::printer::{Pieces, Printer};
use crate::output::{Out, rows};

/// What to send, and how.
pub struct Send {
    pub session: String,
    pub text: String,
    pub now: bool,
    pub later: bool,
    pub wait: bool,
    pub idempotency_key: Option<String>,
    pub origin: Option<String>,
}

pub async fn send(global: &Global, send: Send) -> Result<Exit, Failure> {
    let origin = send.origin.as_deref().map(bridge).transpose()?;
    let connection = connected(global).await?;
    let info = connection.session(&send.session).await?;
    let id = info.id.to_string();
    let attach = if send.wait { Some(connection.attach(&id, None, true).await?) } else { None };
    let submission = Submission {
        content: vec![Block::text(send.text)],
        priority: match (send.now, send.later) {
            (true, _) => Priority::Now,
            (false, true) => Priority::Later,
            (false, false) => Priority::Next,
        },
        origin,
        idempotency_key: send.idempotency_key,
        batching: if send.wait { Batching::Alone } else { Batching::Fold },
        options: RunOptions::default(),
    };
    let receipt = connection.submit(&id, submission).await?;
    let Some(attach) = attach else {
        if global.json {
            Out::json(&json!({"id": receipt.command.to_string(), "seq": receipt.seq.0}))?;
        } else {
            Out::line(&format!("{} {}", receipt.command, receipt.seq))?;
        }
        return Ok(Exit::Done);
    };
    let format = if global.json { Format::Json } else { Format::Text };
    let printer = Printer::new(info.id, format, Pieces::LeftOut);
    Follow::new(&connection, info.id, printer, Asking::Others, Source::One(receipt.command)).run(attach).await
}

fn bridge(text: &str) -> Result<Origin, Failure> {
    match text.split_once(':') {
        Some((name, author)) if !name.is_empty() && !author.is_empty() => {
            Ok(Origin::Bridge { name: name.to_owned(), author: author.to_owned() })
        }
        Some(_) | None => Err(Failure::Usage(format!("--origin {text}: write BRIDGE:AUTHOR, like slack:ada"))),
    }
}

pub async fn interrupt(global: &Global, session: &str) -> Result<Exit, Failure> {
    let outcome = connected(global).await?.interrupt(session, None).await?;
    let (word, seq) = match outcome {
        InterruptOutcome::Ended { seq, .. } => ("interrupted", Some(seq.0)),
        InterruptOutcome::AlreadyEnded => ("it had ended already", None),
        InterruptOutcome::NothingRunning => ("nothing runs", None),
    };
    if global.json {
        Out::json(&json!({"outcome": word, "seq": seq}))?;
    } else {
        Out::line(word)?;
    }
    Ok(Exit::Done)
}

pub async fn queue(global: &Global, session: &str) -> Result<Exit, Failure> {
    let commands = connected(global).await?.queue(session).await?;
    if global.json {
        Out::json(&commands.iter().map(rows::queued).collect())?;
    } else {
        commands.iter().try_for_each(|command| Out::line(&rows::queued_line(command)))?;
    }
    Ok(Exit::Done)
}
