//! The command line, as clap reads it; the doc comments are the help. It looks nothing up.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// tmux for coding agents: sessions that live in the daemon, seen and steered from here.
#[derive(Parser, Debug)]
#[command(name = "agent", version)]
pub struct Args {
    #[command(flatten)]
    pub global: Global,
    /// Run this prompt (or what comes on stdin) headless, then exit; what would ask is denied.
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub print: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// `agent -p`, as existing scripts write it: the prompt may stand anywhere among the options.
#[derive(Parser, Debug)]
#[command(name = "agent", version, about = "Run one prompt headless, then exit; what would ask is denied.")]
struct PrintArgs {
    #[command(flatten)]
    global: Global,
    /// This way of running.
    #[arg(short = 'p', long = "print", required = true)]
    print: bool,
    /// What to do; what is piped in goes below it, or in its place.
    prompt: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

impl Args {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// Usage, help and version, as clap says them.
    pub fn read(line: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
        let line: Vec<OsString> = line.into_iter().collect();
        let options = line.iter().skip(1).take_while(|word| *word != "--");
        if options.into_iter().any(|word| word == "-p" || word == "--print") {
            let PrintArgs { global, print: _, prompt, run } = PrintArgs::try_parse_from(line)?;
            return Ok(Args { global, print: Some(prompt.unwrap_or_default()), run, command: None });
        }
        Args::try_parse_from(line)
    }

    /// Whether options of `-p` stand before a command, which would not heed them.
    pub fn has_stray_options(&self) -> bool {
        self.command.is_some() && (self.print.is_some() || self.run != RunArgs::default())
    }
}

/// Options of every command.
#[derive(ClapArgs, Debug, Clone)]
pub struct Global {
    /// The daemon's socket.
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Machine-readable output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Never start the daemon.
    #[arg(long, global = true)]
    pub no_start: bool,
    /// No colours (there are none yet).
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Say more on stderr.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// How output looks.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Text,
    Json,
    StreamJson,
}

/// What a run does when a call needs an answer.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnAskArg {
    Park,
    Deny,
    Wait,
}

/// What comes on stdin.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputFormat {
    /// The prompt, or what goes with it.
    #[default]
    Text,
    /// One message a line; each is answered by itself.
    StreamJson,
}

/// What a session is made with.
#[derive(ClapArgs, Debug, Clone, Default, PartialEq)]
pub struct SessionArgs {
    /// The session's folder (default: this one).
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The model; `rehearsal` and `rehearsal:FILE` need no key and no network.
    #[arg(long)]
    pub model: Option<String>,
    /// default, plan, autoEdit, fullAuto, bypassPermissions or dontAsk.
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// Permission rules to allow, separated by commas or spaces: `Read,Bash(git log:*)`.
    #[arg(long, alias = "allowedTools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,
    /// Permission rules to deny, separated by commas or spaces.
    #[arg(long, alias = "disallowedTools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// Added to the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,
}

/// Options of a run.
#[derive(ClapArgs, Debug, Clone, Default, PartialEq)]
pub struct RunArgs {
    /// Go on with this session.
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["name", "continue_newest"])]
    pub session: Option<String>,
    /// Go on with the newest session of this folder.
    #[arg(long = "continue", conflicts_with = "name")]
    pub continue_newest: bool,
    /// Name of the new session.
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub made: SessionArgs,
    /// Rounds at most.
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,
    /// US dollars at most for this submission.
    #[arg(long, value_name = "USD")]
    pub max_budget_usd: Option<f64>,
    /// Models to ask instead, in this order, when the session's own stays overloaded or refuses.
    #[arg(long, alias = "fallback-models", value_name = "MODEL[,MODEL]", value_delimiter = ',')]
    pub fallback_model: Vec<String>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t)]
    pub output_format: Format,
    /// What is read from stdin.
    #[arg(long, value_enum, default_value_t)]
    pub input_format: InputFormat,
    /// With `--output-format stream-json`: pieces of messages too.
    #[arg(long)]
    pub include_partial_messages: bool,
    /// When a call needs an answer (default: park; with -p: deny).
    #[arg(long, value_enum)]
    pub on_ask: Option<OnAskArg>,
    /// Print the session's id and leave at once.
    #[arg(long, conflicts_with = "input_format")]
    pub detach: bool,
}

/// Commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run one prompt headless; with `--model rehearsal` and no prompt: the built-in tour.
    Run {
        /// What to do; what is piped in goes below it, or in its place.
        prompt: Option<String>,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Play a rehearsal script and check its expectations.
    Rehearse {
        file: PathBuf,
        #[arg(long, value_name = "MODE")]
        permission_mode: Option<String>,
        /// Answer the N-th request (from 1): N=allow or N=deny.
        #[arg(long, value_name = "N=ANSWER")]
        answer: Vec<String>,
    },
    /// Make a session and print its id.
    New {
        #[arg(id = "session_name", value_name = "NAME")]
        session_name: Option<String>,
        /// Whether notes of tasks that end start the model by themselves.
        #[arg(long, value_enum, default_value_t)]
        notes: NotesArg,
        #[command(flatten)]
        made: SessionArgs,
    },
    /// List sessions.
    Ls {
        /// Archived ones too.
        #[arg(long)]
        all: bool,
    },
    /// Show a session.
    Show { session: String },
    /// Put a message into a session's queue.
    Send {
        session: String,
        text: String,
        /// End what runs and go first.
        #[arg(long, conflicts_with = "later")]
        now: bool,
        /// After everything else.
        #[arg(long)]
        later: bool,
        /// Wait until the submission that took it has ended; its exit code.
        #[arg(long)]
        wait: bool,
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        /// Who says it, for bridges: BRIDGE:AUTHOR.
        #[arg(long, value_name = "BRIDGE:AUTHOR")]
        origin: Option<String>,
    },
    /// End the running submission, or tasks.
    Interrupt {
        session: String,
        /// Not the submission but this task.
        #[arg(long, value_name = "ID", conflicts_with = "all_tasks")]
        task: Option<String>,
        /// Not the submission but all tasks that run.
        #[arg(long)]
        all_tasks: bool,
    },
    /// A session's tasks: commands in the background, subagents.
    Tasks { session: String },
    /// One task.
    Task {
        #[command(subcommand)]
        command: TaskCommand,
    },
    /// What waits in a session's queue.
    Queue { session: String },
    /// A session's transcript.
    Log {
        session: String,
        /// Events with seq ≥ this.
        #[arg(long, value_name = "SEQ")]
        from: Option<u64>,
        /// The newest N events.
        #[arg(long, value_name = "N", conflicts_with = "from")]
        tail: Option<u32>,
        #[arg(long)]
        follow: bool,
        #[arg(long, value_enum, default_value_t)]
        output_format: Format,
    },
    /// Attach to a session.
    Attach {
        session: String,
        /// Line mode, no terminal control.
        #[arg(long)]
        plain: bool,
        #[arg(long)]
        read_only: bool,
    },
    /// Delete a session.
    Rm { session: String },
    /// Rename a session.
    Rename { session: String, name: String },
    /// Open permission requests and questions.
    Permissions {
        session: String,
        /// Answered ones too.
        #[arg(long)]
        all: bool,
    },
    /// Allow a call that asks.
    Allow {
        session: String,
        request: String,
        /// And what is like it, always in this folder.
        #[arg(long, conflicts_with = "for_session")]
        always: bool,
        /// And what is like it, in this session.
        #[arg(long = "session")]
        for_session: bool,
    },
    /// Deny a call that asks.
    Deny {
        session: String,
        request: String,
        /// What the model is told.
        #[arg(long)]
        message: Option<String>,
    },
    /// What is well and what is not, with advice; exits 1 when something needs attention.
    Doctor {
        /// Build the store's database anew first: repairs it, and gives unused room back.
        #[arg(long)]
        rebuild_store: bool,
    },
    /// Answer a question.
    Answer {
        session: String,
        question: String,
        /// An option's number or label, or a text of your own; several where several may be chosen.
        #[arg(required = true)]
        choice: Vec<String>,
    },
    /// The daemon itself.
    Daemon {
        #[command(subcommand)]
        command: DaemonCommand,
    },
}

/// Whether notes of tasks start submissions.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NotesArg {
    #[default]
    Start,
    /// Stored and shown; nothing starts until a person speaks.
    Record,
}

/// Commands about one task; a task is named by its id or a unique beginning of it.
#[derive(Subcommand, Debug)]
pub enum TaskCommand {
    /// What it printed.
    Output {
        session: String,
        task: String,
        /// Go on until it has ended.
        #[arg(long)]
        follow: bool,
    },
    /// End it; returns when nothing of it runs any more.
    Stop { session: String, task: String },
    /// Let a running call go on in the background.
    Background {
        session: String,
        /// The call's id, as the transcript names it.
        #[arg(value_name = "TOOL_USE")]
        tool_use: String,
    },
}

/// Commands about the daemon.
#[derive(Subcommand, Debug)]
pub enum DaemonCommand {
    Start,
    /// Lets running rounds end, then cuts them.
    Stop {
        /// Seconds that running rounds have.
        #[arg(long, default_value_t = 10)]
        grace: u64,
    },
    Status,
}

#[cfg(test)]
mod tests;
