//! `Bash`: a command line under a shim, ended as a whole tree. Its memory is bounded whatever is printed.

mod background;
mod script;
pub mod survivors;
pub(super) mod verdict;

use std::time::Duration;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::{AbsPath, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::time::Instant;

use self::background::Leaving;
use self::script::{Moved, Script};
use self::survivors::Survivors;
use self::verdict::{Counts, below, still_running};
use super::host::wished_away;
use super::input;
use super::output::Kept;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::processes::{Exit, Killed, Launch, Reason, Shims, SpawnError, Tree};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Bytes of a command line: the system takes no longer argument.
const MAX_COMMAND: usize = 128 * 1024 - 1;
/// After the child's end: silence that ends the call, whoever still holds its output; and the end of listening, if
/// somebody goes on printing.
const SILENCE: Duration = Duration::from_millis(50);
const LISTEN: Duration = Duration::from_millis(500);
/// Between two pieces of progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(50);

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The command line.
    command: String,
    /// Milliseconds after which it is ended; default 120000, at most 600000.
    #[serde(default)]
    timeout: Option<u64>,
    /// What it is for, in a few words.
    #[serde(default)]
    description: Option<String>,
    /// Go on at once; a note comes when it has ended. It has no time-out then.
    #[serde(default)]
    run_in_background: bool,
}

/// The tool.
pub struct Bash {
    spec: ToolSpec,
    shims: Shims,
    survivors: Survivors,
}

impl Bash {
    #[must_use]
    pub fn new(shims: Shims, survivors: Survivors) -> Bash {
        Bash { spec: input::spec::<Input>("Bash", include_str!("bash.md")), shims, survivors }
    }

    async fn run(&self, wanted: Input, call: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
        let timeout = Duration::from_millis(wanted.timeout.unwrap_or(DEFAULT_TIMEOUT_MS));
        let script = Script::new().map_err(|error| tell(format!("no temporary file can be made: {error}")))?;
        // Not raced with a cancel: the command may run already when we hear of it. `watch` looks at the token first.
        let (mut tree, note) = match self.start(&script, &wanted.command, call.context).await {
            Ok(started) => started,
            Err(SpawnError::Folder { folder, why }) => return Err(lost_folder(&folder, &why, call.context)),
            Err(error) => return Err(tell(error.to_string())),
        };
        let mut listening = Listening { output: tree.take_output(), kept: Kept::new(call.context.outputs.clone(), call.id.as_str()) };
        if wanted.run_in_background {
            let (command, description) = (wanted.command, wanted.description);
            return Leaving { tree, listening, command, description, note: note.to_owned() }.go(&call, &self.survivors).await;
        }
        let end = watch(&mut tree, &mut listening, timeout, &call).await;
        let Listening { output: pipe, kept } = listening;
        let counts = match &end {
            End::Exited(exit) => verdict::counts(&wanted.command, exit.status),
            End::TimedOut(_) | End::Cancelled(_) | End::Lost(_) => Counts::AsFailure,
            End::Away => {
                let note = format!("{note}The call was moved to the background by a client. ");
                let (command, description) = (wanted.command, wanted.description);
                let listening = Listening { output: pipe, kept };
                return Leaving { tree, listening, command, description, note }.go(&call, &self.survivors).await;
            }
        };
        let output = kept.finish(counts).await;
        let text = match &end {
            End::Exited(exit) => {
                if !exit.survivors.is_empty() {
                    self.survivors.keep(call.context.session, tree, pipe);
                }
                verdict::ended(exit, &output)
            }
            End::TimedOut(killed) => format!("timed out after {} s{}{}", timeout.as_secs_f64(), below(&output), left(killed)),
            End::Cancelled(killed) => format!("interrupted; everything it had started was ended{}{}", below(&output), left(killed)),
            End::Away => String::new(),
            End::Lost(killed) => format!("its shim was killed, so its outcome is unknown{}{}", below(&output), left(killed)),
        };
        let text = format!("{note}{text}");
        let moved = match &end {
            End::Exited(_) => script.moved(call.context),
            End::TimedOut(_) | End::Cancelled(_) | End::Lost(_) | End::Away => Moved::No,
        };
        result(counts, text, moved, call.context)
    }

    /// Starts it in bash, or in sh with a note that says so.
    async fn start(&self, script: &Script, command: &str, context: &ToolContext) -> Result<(Tree, &'static str), SpawnError> {
        let launch = |shell: &str| Launch {
            program: shell.to_owned(),
            args: script.args(command),
            cwd: context.cwd.clone(),
            environment: script::environment(context),
        };
        match self.shims.launch(launch("bash")).await {
            Ok(tree) => Ok((tree, "")),
            Err(SpawnError::NotFound { .. }) => {
                let tree = self.shims.launch(launch("sh")).await?;
                Ok((tree, "(there is no bash on the session's PATH: run by sh)\n"))
            }
            Err(error) => Err(error),
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::SideEffects, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(std::future::ready(input::read::<Input>("Bash", input).and_then(checked)))
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move { self.run(input::read("Bash", input)?, call).await })
    }
}

fn checked(wanted: Input) -> Result<Subject, ToolFailure> {
    let wrong = |text: &str| Err(tell(text.to_owned()));
    if wanted.command.trim().is_empty() {
        return wrong("command is empty");
    }
    if wanted.command.contains('\0') {
        return wrong("command holds a zero byte, which no command line can");
    }
    if wanted.command.len() > MAX_COMMAND {
        return Err(tell(format!("command is longer than {MAX_COMMAND} bytes: write it to a file with Write and run that")));
    }
    match wanted.timeout {
        Some(0) => wrong("timeout is in milliseconds and at least 1"),
        Some(ms) if ms > MAX_TIMEOUT_MS => Err(tell(format!("timeout is {ms} ms; at most {MAX_TIMEOUT_MS} (10 minutes) are possible"))),
        Some(_) | None => Ok(Subject::Command { line: wanted.command }),
    }
}

/// How a command ended, for us.
enum End {
    Exited(Exit),
    TimedOut(Killed),
    Cancelled(Killed),
    Lost(Killed),
    /// It runs on, and nobody waits for it any more.
    Away,
}

/// The output while it comes.
struct Listening {
    output: Option<ChildStdout>,
    kept: Kept,
}

/// Takes its output until it has ended, or ends it. Nobody of the tree is left after a time-out or a cancel, unless named.
async fn watch(tree: &mut Tree, listening: &mut Listening, timeout: Duration, call: &CallContext<'_>) -> End {
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    let mut buffer = vec![0; 64 * 1024];
    let mut told = Instant::now();
    let away = wished_away(call.tasks, call.id);
    tokio::pin!(away);
    loop {
        // Output last: however much there is, it holds up nothing else.
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return End::Cancelled(end(tree, listening, Reason::Cancelled, &mut buffer).await),
            () = &mut deadline => return End::TimedOut(end(tree, listening, Reason::TimedOut, &mut buffer).await),
            () = &mut away => return End::Away,
            exit = tree.wait_child() => return match exit {
                Some(exit) => {
                    listen_on(listening, &call.cancel, &mut buffer).await;
                    tell_progress(&mut listening.kept, call);
                    End::Exited(exit)
                }
                None => End::Lost(end(tree, listening, Reason::Lost, &mut buffer).await),
            },
            () = tokio::time::sleep_until(told + PROGRESS_PAUSE), if listening.kept.has_news() => {
                tell_progress(&mut listening.kept, call);
                told = Instant::now();
            }
            bytes = read(&mut listening.output, &mut buffer) => take(listening, bytes, &buffer).await,
        }
    }
}

fn tell_progress(kept: &mut Kept, call: &CallContext<'_>) {
    if kept.has_news() {
        (call.progress)(kept.news());
    }
}

/// What was printed before the child ended is in the pipe; what others print goes on, and is not waited for.
async fn listen_on(listening: &mut Listening, cancel: &tokio_util::sync::CancellationToken, buffer: &mut [u8]) {
    let until = Instant::now() + LISTEN;
    while listening.output.is_some() && Instant::now() < until {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            bytes = read(&mut listening.output, buffer) => take(listening, bytes, buffer).await,
            () = tokio::time::sleep(SILENCE) => return,
        }
    }
}

/// Ends the tree; its last words are taken meanwhile, lest it wait for room in the pipe.
async fn end(tree: &mut Tree, listening: &mut Listening, reason: Reason, buffer: &mut [u8]) -> Killed {
    let killed = {
        let kill = tree.kill(reason);
        tokio::pin!(kill);
        loop {
            tokio::select! {
                biased;
                killed = &mut kill => break killed,
                bytes = read(&mut listening.output, buffer) => take(listening, bytes, buffer).await,
            }
        }
    };
    // Nobody holds the other end any more, as a rule.
    while let Ok(bytes @ Some(_)) = tokio::time::timeout(SILENCE, read(&mut listening.output, buffer)).await {
        take(listening, bytes, buffer).await;
    }
    killed
}

async fn take(listening: &mut Listening, bytes: Option<usize>, buffer: &[u8]) {
    match bytes {
        Some(bytes) => listening.kept.take(&buffer[..bytes]).await,
        None => listening.output = None,
    }
}

/// `None` at the output's end; waits for ever once that was seen. Cancel-safe.
async fn read(output: &mut Option<ChildStdout>, buffer: &mut [u8]) -> Option<usize> {
    match output {
        Some(output) => output.read(buffer).await.ok().filter(|bytes| *bytes > 0),
        None => std::future::pending().await,
    }
}

fn left(killed: &Killed) -> String {
    match killed {
        Killed::Gone => String::new(),
        Killed::Stubborn { pids } => format!("{} (could not be ended)", still_running(pids)),
    }
}

fn result(counts: Counts, text: String, moved: Moved, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
    let (text, changes) = match moved {
        Moved::No => (text, Vec::new()),
        Moved::To(cwd) => (text, vec![ContextChange::Cwd(cwd)]),
        Moved::Outside => (format!("{text}\nShell cwd was reset to {}", context.cwd), Vec::new()),
    };
    match counts {
        Counts::AsSuccess => Ok(ToolOutput { changes, ..ToolOutput::text(text) }),
        Counts::AsFailure => Err(ToolFailure::Failed { text, changes }),
    }
}

/// The folder is gone: the next call starts in the session's own, if that is there.
fn lost_folder(folder: &AbsPath, why: &str, context: &ToolContext) -> ToolFailure {
    let text = format!("the folder {folder} cannot be entered: {why}");
    match context.allowed.iter().find(|allowed| *allowed != folder && allowed.as_path().is_dir()) {
        Some(home) => ToolFailure::Failed {
            text: format!("{text}\nShell cwd was reset to {home}; nothing was run"),
            changes: vec![ContextChange::Cwd(home.clone())],
        },
        None => tell(format!("{text}; nothing was run. Make it again, or go on in another session")),
    }
}

fn tell(text: String) -> ToolFailure {
    ToolFailure::TellModel(text)
}

#[cfg(test)]
mod tests;
