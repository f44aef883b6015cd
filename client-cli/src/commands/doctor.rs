//! `agent doctor`: what is well and what is not, with advice. It starts no daemon and changes nothing, unless the store is to
//! be built anew; it never shows a key.

mod outlook;

use std::path::Path;

use agentd_client::{Connection, DaemonInfo, Kind, Probe, StoreStatus, Weight, probe};
use agentd_types::layout::Layout;
use serde_json::{Value, json};

use super::connected;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output::{Out, timestamp};
use crate::place;
use outlook::Outlook;

/// What is done beside looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    Look,
    RebuildStore,
}

/// Something that needs attention, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    what: String,
    advice: String,
}

/// Everything that was found.
#[derive(Debug, Default)]
struct Report {
    /// Name and finding, in order.
    findings: Vec<(&'static str, String)>,
    notes: Vec<String>,
    problems: Vec<Problem>,
    json: serde_json::Map<String, Value>,
}

pub async fn run(global: &Global, treatment: Treatment) -> Result<Exit, Failure> {
    let layout = place::layout(global)?;
    let mut report = Report::default();
    if treatment == Treatment::RebuildStore {
        let status = connected(global).await?.rebuild_store().await?;
        let text = format!("built anew: {} sessions, {}", status.sessions, size(status.database_bytes));
        report.finding("rebuild", text, json!("done"));
    }
    match probe(&layout.socket).await {
        Probe::Ready { info } => running(&mut report, &layout, &info).await,
        Probe::NeedsRestart { version, protocol, pid } => {
            report.finding("daemon", format!("version {version}, protocol {protocol}, pid {pid}"), json!("needs_restart"));
            let what = format!("the daemon (pid {pid}) speaks protocol {protocol}, this client another one");
            report.problem(what, format!("end it with `kill {pid}`; the next `agent` starts the new one, and sessions stay"));
        }
        Probe::Unreachable { why } => stopped(&mut report, &layout, &why),
    }
    set_aside(&mut report, layout.data_dir.as_path());
    report.print(global)
}

/// What a daemon that runs says of itself.
async fn running(report: &mut Report, layout: &Layout, info: &DaemonInfo) {
    let text = format!("{} (version {}, protocol {}, pid {})", info.state, info.version, info.protocol, info.pid);
    report.finding("daemon", text, json!(info.state));
    report.finding("socket", info.socket.to_string(), json!(info.socket.to_string()));
    report.finding("data", info.data_dir.to_string(), json!(info.data_dir.to_string()));
    if info.data_dir != layout.data_dir {
        report.notes.push(format!("this shell names another data folder ({}): the daemon's counts", layout.data_dir));
    }
    report.outlook(&Outlook::of_daemon(info));
    if info.state != "ready" {
        report.notes.push(format!("the daemon is {}: what its store says comes later", info.state));
        return;
    }
    let status = match Connection::open(&info.socket, &place::name()).await {
        Ok(connection) => connection.store_status().await,
        Err(error) => Err(error),
    };
    match status {
        Ok(status) => store(report, &status),
        Err(error) if error.kind == Kind::Unreachable => report.notes.push(format!("the daemon went away meanwhile: {}", error.message)),
        Err(error) => {
            report.problem(format!("the store does not say how it is: {}", error.message), "look into the daemon's log".to_owned());
        }
    }
}

fn store(report: &mut Report, status: &StoreStatus) {
    let StoreStatus { trouble, events, quarantined, set_aside: _, sessions, segments, database_bytes } = status;
    let text = format!("{sessions} sessions, database {}, {segments} journal segments", size(*database_bytes));
    let happened: Vec<Value> = events
        .iter()
        .map(|event| json!({"at": timestamp(event.at), "attention": event.weight == Weight::Attention, "text": event.text}))
        .collect();
    let apart: Vec<Value> = quarantined.iter().map(|(id, why)| json!({"id": id, "reason": why})).collect();
    let row = json!({
        "sessions": sessions, "segments": segments, "database_bytes": database_bytes, "trouble": trouble, "events": happened,
        "quarantined": apart,
    });
    report.finding("store", text, row);
    if !trouble.is_empty() {
        report.problem(
            format!("the store is in trouble: {trouble}"),
            "free some space or check the disk; if it stays, restart agentd".to_owned(),
        );
    }
    for (id, why) in quarantined {
        report.problem(
            format!("session {id} is damaged and kept apart: {why}"),
            format!("keep its files for a look (archive/ in the data folder), or be rid of it with `agent rm {id}`"),
        );
    }
    for event in events {
        let text = format!("{}: {}", timestamp(event.at), event.text);
        match event.weight {
            Weight::Note => report.notes.push(text),
            Weight::Attention => {
                report.problem(text, "it was dealt with; check the disk (SMART, memory, power) if it comes again".to_owned());
            }
        }
    }
}

/// No daemon: what can be seen without one.
fn stopped(report: &mut Report, layout: &Layout, why: &str) {
    report.finding("daemon", "not running; the next command that needs it starts it".to_owned(), json!("not_running"));
    report.finding("socket", layout.socket.to_string(), json!(layout.socket.to_string()));
    report.finding("data", layout.data_dir.to_string(), json!(layout.data_dir.to_string()));
    if layout.socket.as_path().exists() {
        report.notes.push(format!("a socket's file is there nevertheless ({why}); the next daemon replaces it"));
    }
    if layout.data_dir.as_path().exists()
        && let Err(error) = tempfile::tempfile_in(layout.data_dir.as_path())
    {
        let advice = "make it writable for yourself, free some space, or name another one with AGENT_DATA_DIR".to_owned();
        report.problem(format!("the data folder {} cannot be written: {error}", layout.data_dir), advice);
    }
    report.outlook(&outlook::of_shell(layout));
}

/// Damaged databases that nobody has removed yet.
fn set_aside(report: &mut Report, data: &Path) {
    let names = std::fs::read_dir(data).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names.filter(|name| name.starts_with("db.damaged-")).collect();
    found.sort();
    report.json.insert("set_aside".to_owned(), json!(found));
    for name in found {
        let path = data.join(name);
        report.problem(
            format!("a damaged database was set aside: {}", path.display()),
            format!("what it held is in the new one; once nothing is missed, remove it: rm -r {}", path.display()),
        );
    }
}

impl Report {
    fn finding(&mut self, name: &'static str, text: String, value: Value) {
        self.json.insert(name.to_owned(), value);
        self.findings.push((name, text));
    }

    fn problem(&mut self, what: String, advice: String) {
        self.problems.push(Problem { what, advice });
    }

    fn outlook(&mut self, outlook: &Outlook) {
        self.finding("provider", outlook.text(), outlook.json());
        if !outlook.problem.is_empty() {
            self.problem(format!("no model can be asked: {}", outlook.problem), "see README, Quick start".to_owned());
        }
    }

    fn print(mut self, global: &Global) -> Result<Exit, Failure> {
        if global.json {
            let problems: Vec<Value> = self.problems.iter().map(|it| json!({"what": it.what, "advice": it.advice})).collect();
            self.json.insert("problems".to_owned(), json!(problems));
            self.json.insert("notes".to_owned(), json!(self.notes));
            Out::json(&Value::Object(self.json))?;
        } else {
            for (name, text) in &self.findings {
                Out::line(&format!("{name:<9} {text}"))?;
            }
            for note in &self.notes {
                Out::line(&format!("note      {note}"))?;
            }
            for Problem { what, advice } in &self.problems {
                Out::line(&format!("attention {what}\n          -> {advice}"))?;
            }
            if self.problems.is_empty() {
                Out::line("all is well")?;
            }
        }
        Ok(if self.problems.is_empty() { Exit::Done } else { Exit::Failed })
    }
}

/// Bytes for a person.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut unit = None;
    let (mut whole, mut tenth) = (bytes, 0);
    for name in UNITS {
        if whole < 1024 {
            break;
        }
        tenth = (whole % 1024) * 10 / 1024;
        whole /= 1024;
        unit = Some(name);
    }
    match unit {
        Some(unit) => format!("{whole}.{tenth} {unit}"),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests;
