//! Where the daemon is, who we are, and what a new session gets from us. It never starts anything itself.

use std::path::PathBuf;

use agentd_client::{Connection, Start, ensure};
use agentd_types::layout::{Layout, Overrides, Vars};
use agentd_types::permission::PermissionMode;
use agentd_types::session::{Limits, NotesMode, SessionMeta};
use agentd_types::{AbsPath, Money};

use crate::args::{Global, SessionArgs};
use crate::exit::Failure;
use crate::output::Out;

/// Variables a session gets at most, and bytes of one.
const MAX_VARIABLES: usize = 500;
const MAX_VALUE: usize = 32 * 1024;

/// This process's environment.
pub struct Environment;

impl Vars for Environment {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

/// The daemon's places, as the environment and the flags say.
pub fn layout(global: &Global) -> Result<Layout, Failure> {
    let overrides = Overrides { socket: global.socket.clone().map(absolute).transpose()?, ..Overrides::default() };
    Layout::find(&overrides, &Environment, rustix::process::getuid().as_raw()).map_err(|error| Failure::Usage(error.to_string()))
}

/// Connects, starting the daemon unless that is forbidden.
pub async fn connect(global: &Global) -> Result<Connection, Failure> {
    let start = if global.no_start { Start::Never } else { Start::Auto };
    Ok(ensure(&layout(global)?, &name(), start).await?)
}

/// How this client is called: by its terminal, or its process.
pub fn name() -> String {
    let terminal = rustix::termios::ttyname(rustix::stdio::stderr(), Vec::new()).ok().and_then(|name| name.into_string().ok());
    match terminal {
        Some(terminal) => format!("cli on {}", terminal.trim_start_matches("/dev/")),
        None => format!("cli pid {}", std::process::id()),
    }
}

/// Whether a person can be asked here.
pub fn on_terminal() -> bool {
    rustix::termios::isatty(rustix::stdio::stdin()) && rustix::termios::isatty(rustix::stdio::stderr())
}

/// A new session as the flags say.
pub fn meta(made: &SessionArgs, name: Option<String>) -> Result<SessionMeta, Failure> {
    Ok(SessionMeta {
        name,
        cwd: folder(made.cwd.clone())?,
        model: model(made.model.clone().unwrap_or_default())?,
        permission_mode: mode(made.permission_mode.as_deref())?.unwrap_or_default(),
        limits: Limits::default(),
        notes: NotesMode::Start,
        environment: environment(),
        append_system_prompt: made.append_system_prompt.clone(),
        allow: rules(&made.allowed_tools),
        deny: rules(&made.disallowed_tools),
    })
}

/// A folder as the daemon will know it: absolute, links resolved; by default this one.
pub fn folder(given: Option<PathBuf>) -> Result<AbsPath, Failure> {
    let folder = absolute(given.unwrap_or_else(|| PathBuf::from(".")))?;
    let found =
        folder.canonicalize().map_err(|error| Failure::Usage(format!("the folder {} cannot be used: {error}", folder.display())))?;
    AbsPath::new(found).map_err(|error| Failure::Usage(error.to_string()))
}

/// Rules one by one: they are separated by commas or white space outside of parentheses.
fn rules(given: &[String]) -> Vec<String> {
    let mut rules = Vec::new();
    for text in given {
        let mut depth = 0_u32;
        let mut rule = String::new();
        for c in text.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (c == ',' || c.is_whitespace()) {
                rules.push(std::mem::take(&mut rule));
            } else {
                rule.push(c);
            }
        }
        rules.push(rule);
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

/// A rehearsal's script, seen from here rather than from the daemon.
pub fn model(model: String) -> Result<String, Failure> {
    match model.strip_prefix("rehearsal:") {
        Some(file) if file != "tour" && !file.is_empty() => Ok(format!("rehearsal:{}", absolute(PathBuf::from(file))?.display())),
        Some(_) | None => Ok(model),
    }
}

pub fn mode(text: Option<&str>) -> Result<Option<PermissionMode>, Failure> {
    text.map(|text| text.parse().map_err(|error: agentd_types::permission::BadMode| Failure::Usage(error.to_string()))).transpose()
}

pub fn budget(usd: Option<f64>) -> Result<Option<Money>, Failure> {
    match usd {
        Some(usd) if !usd.is_finite() || usd <= 0.0 => Err(Failure::Usage(format!("--max-budget-usd must be above zero, not {usd}"))),
        Some(usd) => Ok(Some(Money::from_usd(usd))),
        None => Ok(None),
    }
}

pub fn absolute(path: PathBuf) -> Result<PathBuf, Failure> {
    std::path::absolute(&path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// What tools will see: our environment without keys of model providers and the daemon's own variables. What is left out for its
/// size is said.
fn environment() -> Vec<(String, String)> {
    let (kept, left_out) =
        bounded(std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))));
    if !left_out.is_empty() {
        Out::note(&format!("· not handed to the session, for their size or number: {}", left_out.join(", ")));
    }
    kept
}

fn is_secret(name: &str) -> bool {
    name.ends_with("_API_KEY")
        || name.ends_with("_AUTH_TOKEN")
        || ["ANTHROPIC_", "OPENAI_", "AGENT_"].iter().any(|prefix| name.starts_with(prefix))
}

fn bounded(variables: impl Iterator<Item = (String, String)>) -> (Vec<(String, String)>, Vec<String>) {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (name, value) in variables.filter(|(name, _)| !is_secret(name)) {
        if value.len() > MAX_VALUE || kept.len() >= MAX_VARIABLES {
            left_out.push(name);
        } else {
            kept.push((name, value));
        }
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests;
