//! `agent run` and `agent -p`: one submission, headless; ends with it. With lines as input: one submission a line.

mod prompt;

use agentd_client::{Connection, NewSession, Submission};
use agentd_types::Block;
use agentd_types::queue::{Batching, OnAsk, Priority, RunOptions};
use agentd_types::session::SessionInfo;
use agentd_types::system::SessionChanges;

use super::{connected, tour};
use crate::args::{Format, Global, InputFormat, OnAskArg, RunArgs};
use crate::exit::{Exit, Failure};
use crate::follow::{Asking, Follow, Source};
use crate::input;
use crate::output::Out;
use crate::output::printer::{Pieces, Printer};
use crate::place;

/// What is run.
pub enum Task {
    Prompt(String),
    /// Each line of stdin is a message.
    Lines,
}

pub async fn run(global: &Global, prompt: Option<String>, args: &RunArgs, on_ask: OnAskArg) -> Result<Exit, Failure> {
    let prompt = prompt.filter(|it| !it.trim().is_empty());
    let task = match args.input_format {
        InputFormat::StreamJson if prompt.is_some() => {
            return Err(Failure::Usage("with --input-format stream-json the prompts come on stdin: leave PROMPT out".to_owned()));
        }
        InputFormat::StreamJson => Some(Task::Lines),
        InputFormat::Text => prompt::with_stdin(prompt)?.map(Task::Prompt),
    };
    let connection = connected(global).await?;
    let Some(task) = task else {
        let rehearsed = match args.made.model.as_deref() {
            Some(model) => model == "rehearsal" || model == agentd_client::tour::MODEL,
            None => connection.info().default_model == "rehearsal",
        };
        return if rehearsed && args.session.is_none() && !args.continue_newest {
            tour::run(global, &connection, args).await
        } else {
            Err(Failure::Usage("there is no prompt: give one, or pipe it in".to_owned()))
        };
    };
    let info = session(&connection, args).await?;
    submit(global, &connection, &info, task, args, on_ask).await
}

/// Submits `task` and follows it to its end.
pub async fn submit(
    global: &Global,
    connection: &Connection,
    info: &SessionInfo,
    task: Task,
    args: &RunArgs,
    on_ask: OnAskArg,
) -> Result<Exit, Failure> {
    let may_ask = place::on_terminal() && matches!(task, Task::Prompt(_));
    let wished = args.on_ask.unwrap_or(on_ask);
    let asking = match (may_ask && args.on_ask.is_none(), wished) {
        (true, OnAskArg::Park) => Asking::Person,
        (false, OnAskArg::Park) => Asking::Parks,
        (true | false, OnAskArg::Deny | OnAskArg::Wait) => Asking::Others,
    };
    let on_ask = match (asking, wished) {
        (Asking::Parks, _) => OnAsk::Park,
        (Asking::Others, OnAskArg::Deny) => OnAsk::Deny,
        (Asking::Person | Asking::Others, _) => OnAsk::Wait,
    };
    let fallback_models = args.fallback_model.iter().cloned().map(place::model).collect::<Result<_, _>>()?;
    let options = RunOptions { on_ask, max_turns: args.max_turns, max_budget: place::budget(args.max_budget_usd)?, fallback_models };
    let format = if global.json { Format::Json } else { args.output_format };
    let pieces = if args.include_partial_messages { Pieces::Included } else { Pieces::LeftOut };
    let printer = Printer::new(info.id, format, pieces);
    let id = info.id.to_string();
    // Subscribed first: nothing of it can be missed.
    let attach = connection.attach(&id, None, printer.wants_pieces()).await?;
    let source = match task {
        Task::Prompt(prompt) => Source::One(connection.submit(&id, alone(prompt, options)).await?.command),
        Task::Lines => Source::Lines { lines: input::lines(), options },
    };
    if args.detach {
        Out::line(&id)?;
        return Ok(Exit::Done);
    }
    Follow::new(connection, info.id, printer, asking, source).run(attach).await
}

fn alone(prompt: String, options: RunOptions) -> Submission {
    let content = vec![Block::text(prompt)];
    Submission { content, priority: Priority::Next, origin: None, idempotency_key: None, batching: Batching::Alone, options }
}

async fn session(connection: &Connection, args: &RunArgs) -> Result<SessionInfo, Failure> {
    let found = match (&args.session, args.continue_newest) {
        (Some(session), _) => Some(connection.session(session).await?),
        (None, true) => {
            let cwd = place::folder(args.made.cwd.clone())?;
            let newest = connection.list(Some(cwd.clone()), false).await?.into_iter().next();
            Some(newest.ok_or_else(|| Failure::Usage(format!("there is no session in {cwd} to continue")))?)
        }
        (None, false) => None,
    };
    let Some(info) = found else {
        let meta = place::meta(&args.made, args.name.clone())?;
        return Ok(connection.create(NewSession { meta, idempotency_key: None }).await?);
    };
    let made = &args.made;
    if !made.allowed_tools.is_empty() || !made.disallowed_tools.is_empty() || made.append_system_prompt.is_some() {
        let what = "--allowed-tools, --disallowed-tools and --append-system-prompt belong to a new session";
        return Err(Failure::Usage(format!("{what}; session {} exists", info.id)));
    }
    let changes = SessionChanges {
        model: made.model.clone().map(place::model).transpose()?,
        permission_mode: place::mode(made.permission_mode.as_deref())?,
        ..SessionChanges::default()
    };
    if changes == SessionChanges::default() { Ok(info) } else { Ok(connection.update(&info.id.to_string(), changes).await?) }
}
