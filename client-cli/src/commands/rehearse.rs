//! `agent rehearse`: a script played headless, its expectations checked, who decided what told at the end.

use std::path::PathBuf;

use agentd_client::{NewSession, Submission, Update};
use agentd_types::permission::{AllowScope, Decision};
use agentd_types::queue::{Batching, OnAsk, Priority, RunOptions};
use agentd_types::{Block, Body};

use super::connected;
use crate::args::{Global, RunArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::place;

pub async fn run(global: &Global, file: PathBuf, permission_mode: Option<String>, answers: &[String]) -> Result<Exit, Failure> {
    let answers = answers.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    let file = place::absolute(file)?;
    if !file.is_file() {
        return Err(Failure::Usage(format!("there is no script {}", file.display())));
    }
    let connection = connected(global).await?;
    let args = RunArgs { model: Some(format!("rehearsal:{}", file.display())), permission_mode, ..RunArgs::default() };
    let info = connection.create(NewSession { meta: place::meta(&args, None)?, idempotency_key: None }).await?;
    let id = info.id.to_string();
    let mut attach = connection.attach(&id, None, false).await?;
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
    let mut asked = 0;
    loop {
        let Update::Event(event) = attach.next().await? else { continue };
        if let Some(text) = agentd_tui::plain::describe(&event) {
            Out::line(&text)?;
        }
        match &event.body {
            Body::PermissionRequest(request) => {
                asked += 1;
                let answer = answers.iter().find(|(n, _)| *n == asked).map(|(_, decision)| decision.clone());
                let unanswered = || Decision::Deny { message: Some(format!("the rehearsal gives no answer to request {asked}")) };
                connection.respond(&id, request.id, answer.unwrap_or_else(unanswered)).await?;
            }
            Body::Result(result) => return Ok(Exit::of(result.terminal)),
            Body::User(_)
            | Body::Assistant(_)
            | Body::Attachment(_)
            | Body::System(_)
            | Body::Tombstone { .. }
            | Body::PermissionResolved(_)
            | Body::Queue(_) => {}
        }
    }
}

/// `N=allow` or `N=deny`.
fn parse(text: &str) -> Result<(u32, Decision), Failure> {
    let bad = || Failure::Usage(format!("--answer {text}: write N=allow or N=deny, N from 1"));
    let (number, word) = text.split_once('=').ok_or_else(bad)?;
    let number = number.parse().ok().filter(|n| *n > 0).ok_or_else(bad)?;
    match word {
        "allow" => Ok((number, Decision::Allow { scope: AllowScope::Once, updated_input: None })),
        "deny" => Ok((number, Decision::Deny { message: None })),
        _ => Err(bad()),
    }
}
