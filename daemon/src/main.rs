//! The binary `agentd`: arguments, tracing, exit code. It never decides anything.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use agentd::boot::{self, Config};
use agentd::drain::Signals;
use agentd_types::AbsPath;
use agentd_types::layout::{Layout, Overrides, Vars};
use anyhow::Context;
use clap::Parser;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Hosts coding-agent sessions and serves them over a Unix-domain socket.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Where to listen (default: $AGENT_SOCKET, else the runtime folder).
    #[arg(long)]
    socket: Option<PathBuf>,
    /// Where sessions are kept (default: $AGENT_DATA_DIR, else the user's data folder).
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// The settings file (default: settings.json in $AGENT_CONFIG_DIR).
    #[arg(long)]
    config: Option<PathBuf>,
    /// Stay in the foreground; it always does.
    #[arg(long)]
    foreground: bool,
}

struct Environment;

impl Vars for Environment {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "__shim") {
        return agentd::processes::shim_main();
    }
    let args = Args::parse();
    start_log();
    agentd::models::http::install_tls_provider();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("agentd cannot run: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// To stderr; `AGENT_LOG` holds levels by target (`info,agentd::engine=debug`), `info` when it is absent or cannot be read.
fn start_log() {
    let wanted = Environment.var("AGENT_LOG").unwrap_or_else(|| "info".to_owned());
    let (targets, refused) = match wanted.parse::<Targets>() {
        Ok(targets) => (targets, None),
        Err(error) => (Targets::new().with_default(Level::INFO), Some(error)),
    };
    let lines = tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(targets).init();
    if let Some(error) = refused {
        tracing::warn!("AGENT_LOG={wanted} cannot be read, so it is `info`: {error}");
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let overrides = Overrides { socket: args.socket, data_dir: args.data_dir, config_file: args.config };
    let layout = Layout::find(&overrides, &Environment, rustix::process::getuid().as_raw())?;
    let executable = AbsPath::new(std::env::current_exe().context("finding this program's own file")?)?;
    let home = Environment.var("HOME").and_then(|home| AbsPath::new(home).ok());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().context("starting the runtime")?;
    runtime.block_on(async {
        let signals = Signals::new().context("taking over signals")?;
        boot::run(Config { layout, executable, home }, &Environment, signals).await.map_err(anyhow::Error::from)
    })
}
