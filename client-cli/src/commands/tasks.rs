//! Tasks from outside: listed, read, stopped, moved to the background.

use std::io::Write as _;

use agentd_client::{Follow, TaskPiece};

use super::connected;
use crate::args::{Global, TaskCommand};
use crate::exit::{Exit, Failure};
use crate::output::{Out, rows};

pub async fn list(global: &Global, session: &str) -> Result<Exit, Failure> {
    let tasks = connected(global).await?.tasks(session).await?;
    if global.json {
        Out::json(&tasks.iter().map(rows::task).collect())?;
    } else {
        tasks.iter().try_for_each(|task| Out::line(&rows::task_line(task)))?;
    }
    Ok(Exit::Done)
}

pub async fn run(global: &Global, command: &TaskCommand) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    let task = match command {
        TaskCommand::Output { session, task, follow } => {
            let follow = if *follow { Follow::UntilEnd } else { Follow::No };
            let mut output = connection.task_output(session, task, 0, follow).await?;
            while let Some(piece) = output.next().await? {
                match piece {
                    TaskPiece::Data { bytes, .. } => raw(&bytes)?,
                    TaskPiece::End(task) => Out::note(&rows::task_line(&task)),
                }
            }
            return Ok(Exit::Done);
        }
        TaskCommand::Stop { session, task } => connection.stop_task(session, task).await?,
        TaskCommand::Background { session, tool_use } => connection.background(session, tool_use).await?,
    };
    if global.json {
        Out::json(&rows::task(&task))?;
    } else {
        Out::line(&rows::task_line(&task))?;
    }
    Ok(Exit::Done)
}

/// As it was printed: whoever wants it shown safely pipes it through something.
fn raw(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    Ok(out.write_all(bytes).and_then(|()| out.flush())?)
}

/// Ends one task, or all.
pub async fn interrupt(global: &Global, session: &str, task: Option<&str>) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    let tasks = match task {
        Some(task) => vec![connection.stop_task(session, task).await?],
        None => connection.stop_all_tasks(session).await?,
    };
    if global.json {
        Out::json(&tasks.iter().map(rows::task).collect())?;
    } else if tasks.is_empty() {
        Out::line("no task runs")?;
    } else {
        tasks.iter().try_for_each(|task| Out::line(&rows::task_line(task)))?;
    }
    Ok(Exit::Done)
}
