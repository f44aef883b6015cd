//! Whole processes: start, one-shot, memory. What a session does inside is measured elsewhere.

use std::time::Instant;

use agentd_tests::program::World;
use anyhow::{Context, ensure};

use crate::floor::{empty_process, ms};
use crate::row::{Row, Samples};

/// CPU of a process's living threads so far, in ms.
pub fn cpu_ms(pid: u32) -> anyhow::Result<f64> {
    let mut nanos = 0_u64;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanos += stat.split(' ').next().context("schedstat")?.parse::<u64>()?;
    }
    Ok(nanos as f64 / 1e6)
}

/// A daemon in this world.
pub fn start(world: &World) -> anyhow::Result<()> {
    let done = world.agent(&["daemon", "start"]);
    ensure!(done.code == Some(0), "the daemon does not start: {}", done.stderr);
    Ok(())
}

fn rss_mib(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("kB")?.parse::<f64>()? / 1024.0)
}

fn memory(world: &World, what: &'static str, goal: &'static str) -> anyhow::Result<Row> {
    let measured = rss_mib(world.daemon_pid())?;
    Ok(Row { what, measured, p99: None, unit: "MiB", floor: None, floor_is: "none", goal })
}

pub fn memory_alone(world: &World) -> anyhow::Result<Row> {
    memory(world, "daemon alone, RSS", "<= 15")
}

pub fn memory_after(world: &World) -> anyhow::Result<Row> {
    memory(world, "daemon after all of this, RSS", "flat")
}

/// Wall time of a command, median of `times`.
fn timed(world: &World, args: &[&str], times: usize) -> anyhow::Result<Samples> {
    let mut samples = Vec::new();
    for _ in 0..times {
        let mut command = world.command(args);
        let since = Instant::now();
        let done = command.output()?;
        samples.push(ms(since));
        ensure!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(Samples::new(samples))
}

pub fn version(world: &World) -> anyhow::Result<Row> {
    let samples = timed(world, &["--version"], 50)?;
    let floor = Some(empty_process()?);
    Ok(Row {
        what: "agent --version",
        measured: samples.median(),
        p99: None,
        unit: "ms",
        floor,
        floor_is: "an empty process",
        goal: "<= 2",
    })
}

pub fn list(world: &World) -> anyhow::Result<Row> {
    let samples = timed(world, &["ls"], 50)?;
    let floor = Some(empty_process()?);
    Ok(Row { what: "agent ls", measured: samples.median(), p99: None, unit: "ms", floor, floor_is: "an empty process", goal: "<= 10" })
}

/// `agent run "say hi"`: client and daemon.
pub fn one_shot(world: &World) -> anyhow::Result<Vec<Row>> {
    let script = world.path("hi.toml");
    std::fs::write(&script, "[[step]]\ntext = \"Hi.\"\n")?;
    let model = format!("rehearsal:{}", script.display());
    let pid = world.daemon_pid();
    let (before, own) = (cpu_ms(pid)?, children_cpu_ms());
    let samples = timed(world, &["run", "--model", &model, "say hi"], 40)?;
    let cpu = (cpu_ms(pid)? - before + children_cpu_ms() - own) / 40.0;
    let floor = empty_process()?;
    let wall = Row {
        what: "one-shot agent run, wall",
        measured: samples.median(),
        p99: None,
        unit: "ms",
        floor: Some(floor),
        floor_is: "an empty process",
        goal: "<= 15",
    };
    let cpu = Row {
        what: "one-shot agent run, CPU of client and daemon",
        measured: cpu,
        p99: None,
        unit: "ms",
        floor: None,
        floor_is: "none",
        goal: "<= 10",
    };
    Ok(vec![wall, cpu])
}

/// A daemon that finds nothing running: until `agent` has its answer.
pub fn cold_start() -> anyhow::Result<Row> {
    let mut samples = Vec::new();
    for _ in 0..10 {
        let world = World::new(None);
        let mut command = world.command(&["daemon", "start"]);
        let since = Instant::now();
        let done = command.output()?;
        samples.push(ms(since));
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let floor = Some(empty_process()? * 2.0);
    let measured = Samples::new(samples).median();
    Ok(Row { what: "cold daemon start by agent", measured, p99: None, unit: "ms", floor, floor_is: "two empty processes", goal: "<= 50" })
}

/// CPU of ended children so far, in ms.
fn children_cpu_ms() -> f64 {
    waited_seconds() * 1_000.0
}

/// Seconds, from `/proc/self/stat`: user and system time of waited-for children, in ticks of 10 ms.
fn waited_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // After the name: state is no number; cutime and cstime are fields 16 and 17, so 12 and 13 of the numbers.
    fields.get(12).copied().unwrap_or_default() / 100.0 + fields.get(13).copied().unwrap_or_default() / 100.0
}
