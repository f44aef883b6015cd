//! The binary `agent`: parse, run, exit code. It never talks to a model and holds no logic that a screen would need.

mod args;
mod commands;
mod exit;
mod follow;
mod input;
mod output;
mod place;

use std::process::ExitCode;

use crate::exit::Exit;
use crate::output::Out;

fn main() -> ExitCode {
    let args = match args::Args::read(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = error.print();
            return if error.exit_code() == 0 { ExitCode::SUCCESS } else { ExitCode::from(Exit::Usage.code()) };
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            Out::note(&format!("agent: the runtime cannot start: {error}"));
            return ExitCode::from(Exit::Failed.code());
        }
    };
    let exit = match runtime.block_on(commands::run(args)) {
        Ok(exit) => exit,
        Err(failure) => {
            if let Some(message) = failure.message() {
                Out::note(&format!("agent: {message}"));
            }
            for hint in failure.hints() {
                Out::note(&format!("  hint: {hint}"));
            }
            failure.exit()
        }
    };
    // A thread that waits for stdin must not hold the exit up.
    runtime.shutdown_background();
    ExitCode::from(exit.code())
}
