//! A command that goes on in the background: its output into a file, its end confirmed. Nobody waits for it.

use agentd_types::SessionId;
use agentd_types::task::{Placement, TaskEnd, TaskKind, TaskOutcome};
use tokio_util::sync::CancellationToken;

use super::survivors::Survivors;
use super::verdict::{self, Counts};
use super::{Listening, end, left, listen_on, read, take};
use crate::processes::{Exit, Reason, Status, Tree};
use crate::tools::host::{TaskWish, Work};
use crate::tools::tool::{CallContext, ToolFailure, ToolOutput};

/// Characters of a command that describe it, if nothing else does.
const DESCRIBED: usize = 120;
/// TERM, as every system we run on numbers it: what a tree is ended with first.
const TERM: i32 = 15;

/// A command on its way into the background.
pub(super) struct Leaving {
    pub tree: Tree,
    pub listening: Listening,
    pub command: String,
    pub description: Option<String>,
    /// What was to be told anyway.
    pub note: String,
}

impl Leaving {
    /// Hands it to the session; returns at once, with what the model is told.
    pub(super) async fn go(self, call: &CallContext<'_>, survivors: &Survivors) -> Result<ToolOutput, ToolFailure> {
        let Leaving { tree, mut listening, command, description, note } = self;
        let output_file = listening.kept.keep_all().await;
        let described = description.filter(|text| !text.trim().is_empty());
        let wish = TaskWish {
            kind: TaskKind::Bash,
            description: described.unwrap_or_else(|| command.chars().take(DESCRIBED).collect()),
            tool_use: call.id.clone(),
            placement: Placement::Background,
            output_file: output_file.clone(),
            lane: None,
        };
        let minded = Minded { tree, listening, command, survivors: survivors.clone(), session: call.context.session };
        let work: Work = Box::new(move |stop| Box::pin(minded.mind(stop)));
        match call.tasks.start(wish, work).await {
            Ok(id) => Ok(ToolOutput::text(format!(
                "{note}It runs in the background as task {id}. Its output goes to {output_file}; a note comes when it has ended. \
                 Do something else meanwhile, or end your turn."
            ))),
            Err(why) => Err(ToolFailure::TellModel(format!("{note}It cannot go on in the background, and was ended: {why}."))),
        }
    }
}

/// A command in the background.
struct Minded {
    tree: Tree,
    listening: Listening,
    command: String,
    survivors: Survivors,
    session: SessionId,
}

impl Minded {
    /// Until it has ended by itself, or is told to.
    async fn mind(mut self, stop: CancellationToken) -> TaskEnd {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    let killed = end(&mut self.tree, &mut self.listening, Reason::Cancelled, &mut buffer).await;
                    self.listening.kept.flush().await;
                    let summary = left(&killed).trim().to_owned();
                    return TaskEnd { signal: Some(TERM), summary, ..TaskEnd::of(TaskOutcome::Killed) };
                }
                exit = self.tree.wait_child() => match exit {
                    Some(exit) => {
                        listen_on(&mut self.listening, &stop, &mut buffer).await;
                        self.listening.kept.flush().await;
                        return self.exited(exit);
                    }
                    None => {
                        let killed = end(&mut self.tree, &mut self.listening, Reason::Lost, &mut buffer).await;
                        self.listening.kept.flush().await;
                        let summary = format!("its shim was killed, so its outcome is unknown{}", left(&killed));
                        return TaskEnd { summary, ..TaskEnd::of(TaskOutcome::Killed) };
                    }
                },
                bytes = read(&mut self.listening.output, &mut buffer) => {
                    take(&mut self.listening, bytes, &buffer).await;
                    // Whoever reads the file sees it.
                    self.listening.kept.flush().await;
                }
            }
        }
    }

    fn exited(self, exit: Exit) -> TaskEnd {
        let summary = verdict::still_running(&exit.survivors).trim().to_owned();
        let end = match (exit.status, verdict::counts(&self.command, exit.status)) {
            (Status::Code(code), Counts::AsSuccess) => TaskEnd { exit_code: Some(code), ..TaskEnd::of(TaskOutcome::Completed) },
            (Status::Code(code), Counts::AsFailure) => TaskEnd { exit_code: Some(code), ..TaskEnd::of(TaskOutcome::Failed) },
            (Status::Signal(signal), _) => TaskEnd { signal: Some(signal), ..TaskEnd::of(TaskOutcome::Killed) },
        };
        if !exit.survivors.is_empty() {
            self.survivors.keep(self.session, self.tree, self.listening.output);
        }
        TaskEnd { summary, ..end }
    }
}
