//! `Bash`: a command line under a shim, ended as a whole tree. Its memory is bounded whatever is printed.

use std::collections::VecDeque;
use std::time::Duration;

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::{AbsPath, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::sync::Mutex;

use super::input;
use super::output::Kept;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::processes::message::Status;
use crate::processes::spawn::Exit;
use crate::processes::{Launch, Shims, Tree, session_environment};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Silence after the child's end that ends the call, whoever still holds its output.
const DRAIN: Duration = Duration::from_millis(100);
/// Trees with survivors that are kept; the oldest is ended for a new one.
const SURVIVING: usize = 32;
/// Runs the command, then says where it ended up; the command's own status stays.
const SCRIPT: &str = "trap 'pwd -P >\"$__agentd_cwd\"' EXIT; __agentd_cwd=$1; eval \"$2\"";
/// Commands whose exit code 1 is an answer.
const ANSWERING: &[&str] = &["grep", "rg", "egrep", "fgrep", "find", "diff", "test", "["];

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The command line.
    command: String,
    /// Milliseconds after which it is ended; default 120000, at most 600000.
    #[serde(default)]
    timeout: Option<u64>,
    /// What it is for, in a few words.
    #[serde(default)]
    #[allow(dead_code)]
    description: Option<String>,
    /// Not available yet.
    #[serde(default)]
    run_in_background: bool,
}

/// The tool.
pub struct Bash {
    spec: ToolSpec,
    shims: Shims,
    /// Trees whose child has ended and of which somebody still runs.
    surviving: Mutex<VecDeque<Tree>>,
}

impl Bash {
    #[must_use]
    pub fn new(shims: Shims) -> Bash {
        Bash { spec: input::spec::<Input>("Bash", include_str!("bash.md")), shims, surviving: Mutex::default() }
    }

    async fn run(&self, wanted: Input, call: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
        let timeout = Duration::from_millis(wanted.timeout.unwrap_or(DEFAULT_TIMEOUT_MS).min(MAX_TIMEOUT_MS));
        let cwd_file = tempfile::NamedTempFile::new().map_err(|error| tell(format!("no temporary file: {error}")))?;
        let launch = Launch {
            program: "bash".to_owned(),
            args: ["-c", SCRIPT, "bash", &cwd_file.path().to_string_lossy(), &wanted.command].map(ToOwned::to_owned).to_vec(),
            cwd: call.context.cwd.clone(),
            environment: session_environment(&call.context.environment),
        };
        let mut tree = self.shims.launch(launch).await.map_err(|error| tell(error.to_string()))?;
        let mut kept = Kept::new(call.context.outputs.clone(), call.id.as_str());
        let end = watch(&mut tree, &mut kept, timeout, &call).await;
        let output = kept.finish(matches!(end, End::Exited(Exit { status: Status::Code(0), .. }))).await;
        let moved = moved(cwd_file.path(), call.context);
        let text = match end {
            End::Exited(exit) => {
                let survivors = exit.survivors.clone();
                if !survivors.is_empty() {
                    self.keep(tree).await;
                }
                exited(&wanted.command, &exit, &output)
            }
            End::TimedOut => Err(format!("timed out after {} s\n{output}", timeout.as_secs())),
            End::Cancelled => Err(format!("interrupted; the command and everything it started were ended\n{output}")),
            End::Lost => Err(format!("its shim was killed; the command may still have had effects\n{output}")),
        };
        match (text, moved) {
            (Ok(text), Moved::No) => Ok(ToolOutput::text(text)),
            (Ok(text), Moved::To(cwd)) => Ok(ToolOutput { changes: vec![ContextChange::Cwd(cwd)], ..ToolOutput::text(text) }),
            (Ok(text), Moved::Outside) => Ok(ToolOutput::text(format!("{text}\nShell cwd was reset to {}", call.context.cwd))),
            (Err(text), _) => Err(tell(text)),
        }
    }

    async fn keep(&self, tree: Tree) {
        let mut surviving = self.surviving.lock().await;
        surviving.push_back(tree);
        if surviving.len() > SURVIVING
            && let Some(mut oldest) = surviving.pop_front()
        {
            tracing::info!("too many commands left something running: the oldest is ended");
            oldest.kill().await;
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
        let wanted = input::read::<Input>("Bash", input).and_then(|wanted| {
            if wanted.command.trim().is_empty() {
                return Err(tell("command is empty".to_owned()));
            }
            if wanted.run_in_background {
                return Err(tell("run_in_background is not available yet; run it in the foreground with a timeout".to_owned()));
            }
            Ok(Subject::Command { line: wanted.command })
        });
        Box::pin(std::future::ready(wanted))
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move { self.run(input::read("Bash", input)?, call).await })
    }
}

/// How a command ended, for us.
enum End {
    Exited(Exit),
    TimedOut,
    Cancelled,
    Lost,
}

/// Takes its output until it has ended, or ends it. Nobody of the tree is left after a time-out or a cancel.
async fn watch(tree: &mut Tree, kept: &mut Kept, timeout: Duration, call: &CallContext<'_>) -> End {
    let mut output = tree.take_output();
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    let mut buffer = vec![0; 64 * 1024];
    let end = loop {
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => break End::Cancelled,
            () = &mut deadline => break End::TimedOut,
            read = read(&mut output, &mut buffer) => match read {
                Some(bytes) => (call.progress)(kept.take(&buffer[..bytes]).await),
                None => output = None,
            },
            exit = tree.exited() => break exit.map_or(End::Lost, End::Exited),
        }
    };
    match end {
        End::Exited(_) => {
            while let Ok(Some(bytes)) = tokio::time::timeout(DRAIN, read(&mut output, &mut buffer)).await {
                kept.take(&buffer[..bytes]).await;
            }
        }
        End::TimedOut | End::Cancelled | End::Lost => tree.kill().await,
    }
    end
}

/// `None` at the output's end; waits for ever once that was seen.
async fn read(output: &mut Option<ChildStdout>, buffer: &mut [u8]) -> Option<usize> {
    match output {
        Some(output) => output.read(buffer).await.ok().filter(|bytes| *bytes > 0),
        None => std::future::pending().await,
    }
}

fn exited(command: &str, exit: &Exit, output: &str) -> Result<String, String> {
    let left: Vec<String> = exit.survivors.iter().map(ToString::to_string).collect();
    let left = if left.is_empty() { String::new() } else { format!("\nstill running: pid {}", left.join(", ")) };
    match exit.status {
        Status::Code(0) if output.is_empty() => Ok(format!("(no output){left}")),
        Status::Code(0) => Ok(format!("{output}{left}")),
        Status::Code(1) if answers(command) => Ok(format!("{output}\n(exit code 1){left}")),
        Status::Code(code) => Err(format!("exit code {code}\n{output}{left}")),
        Status::Signal(signal) => Err(format!("ended by signal {signal}\n{output}{left}")),
    }
}

/// Whether exit code 1 of the last command is an answer rather than a failure.
fn answers(command: &str) -> bool {
    let last = command.rsplit(['|', ';', '&', '\n']).next().unwrap_or(command).trim();
    let mut words = last.split_whitespace();
    match (words.next(), words.next()) {
        (Some("git"), Some("diff" | "grep")) => true,
        (Some(name), _) => ANSWERING.contains(&name),
        (None, _) => false,
    }
}

/// Where the command left the shell.
enum Moved {
    No,
    To(AbsPath),
    Outside,
}

fn moved(file: &std::path::Path, context: &ToolContext) -> Moved {
    let cwd = std::fs::read_to_string(file).ok().and_then(|text| AbsPath::new(text.trim_end_matches('\n')).ok());
    match cwd {
        Some(cwd) if cwd == context.cwd => Moved::No,
        Some(cwd) if context.allowed.iter().any(|folder| cwd.is_within(folder)) => Moved::To(cwd),
        Some(_) => Moved::Outside,
        None => Moved::No,
    }
}

fn tell(text: String) -> ToolFailure {
    ToolFailure::TellModel(text)
}
