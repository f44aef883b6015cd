//! One session from inside: receipts, first events, rounds, deltas, resuming. Through the real client library.

use std::time::Instant;

use agentd_client::{Attach, Connection, NewSession, Submission, Update};
use agentd_tests::program::World;
use agentd_types::outcome::TerminalName;
use agentd_types::permission::PermissionMode;
use agentd_types::queue::{Batching, Priority, RunOptions};
use agentd_types::session::{Limits, NotesMode, SessionMeta};
use agentd_types::{AbsPath, Block, Body, Seq};
use anyhow::Context;

use crate::floor::{ms, raw_stream, synced_append};
use crate::process::{cpu_ms, start};
use crate::row::{Row, Samples};

async fn connect(world: &World) -> anyhow::Result<Connection> {
    let socket = AbsPath::new(world.path("s.sock").display().to_string())?;
    Ok(Connection::open(&socket, "bench").await?)
}

async fn session(world: &World, connection: &Connection, script: &str) -> anyhow::Result<String> {
    let path = world.path(&format!("{}.toml", script.len()));
    std::fs::write(&path, script)?;
    let meta = SessionMeta {
        name: None,
        cwd: AbsPath::new(world.work().display().to_string())?,
        model: format!("rehearsal:{}", path.display()),
        permission_mode: PermissionMode::Default,
        limits: Limits::default(),
        notes: NotesMode::Start,
        environment: Vec::new(),
        append_system_prompt: None,
        allow: Vec::new(),
        deny: Vec::new(),
    };
    Ok(connection.create(NewSession { meta, idempotency_key: None }).await?.id.to_string())
}

fn prompt() -> Submission {
    Submission {
        content: vec![Block::text("go")],
        priority: Priority::Next,
        origin: None,
        batching: Batching::Fold,
        options: RunOptions::default(),
        idempotency_key: None,
    }
}

async fn until_result(attach: &mut Attach) -> anyhow::Result<()> {
    loop {
        if let Update::Event(event) = attach.next().await?
            && let Body::Result(result) = event.body
        {
            anyhow::ensure!(result.terminal == TerminalName::Completed, "{}: {}", result.terminal.as_str(), result.detail);
            return Ok(());
        }
    }
}

/// The receipt, and the first event, of 200 submissions one after the other.
pub async fn submits(world: &World) -> anyhow::Result<Vec<Row>> {
    let connection = connect(world).await?;
    let id = session(world, &connection, "[[step]]\ntext = \"Hi.\"\n").await?;
    let mut attach = connection.attach(&id, None, true).await?;
    let (mut receipts, mut firsts, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        let since = Instant::now();
        connection.daemon_info().await?;
        empty.push(ms(since));
        let since = Instant::now();
        // Both wait at once, as a client's screen does.
        let (receipt, first) = tokio::join!(
            async {
                let receipt = connection.submit(&id, prompt()).await;
                (receipt, ms(since))
            },
            async {
                loop {
                    match attach.next().await {
                        Ok(Update::Event(_)) => return Ok(ms(since)),
                        Ok(_) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        );
        receipt.0?;
        receipts.push(receipt.1);
        firsts.push(first?);
        until_result(&mut attach).await?;
    }
    let sync = synced_append(&world.path("data"))?;
    let floor = Some(sync + Samples::new(empty).median());
    let floor_is = "one synced append + an empty call";
    let (receipts, firsts) = (Samples::new(receipts), Samples::new(firsts));
    Ok(vec![
        Row { what: "synced append of 500 bytes", measured: sync, p99: None, unit: "ms", floor: None, floor_is: "is one", goal: "-" },
        Row {
            what: "submit -> durable receipt at the client",
            measured: receipts.median(),
            p99: receipts.p99(),
            unit: "ms",
            floor,
            floor_is,
            goal: "<= sync + 1.5 calls",
        },
        Row {
            what: "submit -> first durable event at the client",
            measured: firsts.median(),
            p99: firsts.p99(),
            unit: "ms",
            floor,
            floor_is,
            goal: "<= 1 + sync",
        },
    ])
}

/// A submission of `rounds` rounds, each one Read.
pub async fn rounds(world: &World, rounds: usize) -> anyhow::Result<Vec<Row>> {
    std::fs::write(world.work().join("read.txt"), "one line\n")?;
    let connection = connect(world).await?;
    // A tool's text is given once a state: every round reads another range, so that no stub is answered.
    let mut script = String::new();
    for round in 1..=rounds {
        script += &format!("[[step]]\n[[step.tool]]\nname = \"Read\"\ninput = {{ file_path = \"read.txt\", limit = {round} }}\n");
    }
    script += "[[step]]\ntext = \"Done.\"\n";
    let id = session(world, &connection, &script).await?;
    let mut attach = connection.attach(&id, None, false).await?;
    let pid = world.daemon_pid();
    let (since, before) = (Instant::now(), cpu_ms(pid)?);
    connection.submit(&id, prompt()).await?;
    until_result(&mut attach).await?;
    let (wall, cpu) = (ms(since) / rounds as f64, (cpu_ms(pid)? - before) / rounds as f64);
    let floor = Some(synced_append(&world.path("data"))?);
    let (what_wall, what_cpu) = match rounds {
        100 => ("a round with one Read, of 100: wall", "a round with one Read, of 100: CPU"),
        _ => ("a round with one Read, of 1,000: wall", "a round with one Read, of 1,000: CPU"),
    };
    Ok(vec![
        Row { what: what_wall, measured: wall, p99: None, unit: "ms", floor, floor_is: "one synced append", goal: "<= 1 + 2 syncs" },
        Row { what: what_cpu, measured: cpu, p99: None, unit: "ms", floor: None, floor_is: "none", goal: "<= 0.3" },
    ])
}

/// 2 MB of text in 20,000 deltas to one subscriber: two sessions one after the other, each with the longest text a script holds.
pub async fn deltas(world: &World) -> anyhow::Result<Vec<Row>> {
    let connection = connect(world).await?;
    let script = format!("[[step]]\ntext = \"{}\"\n", format!("{} ", "x".repeat(99)).repeat(10_000));
    let pid = world.daemon_pid();
    let (mut wall, mut cpu) = (0.0, 0.0);
    for _ in 0..2 {
        let id = session(world, &connection, &script).await?;
        let mut attach = connection.attach(&id, None, true).await?;
        let (since, before) = (Instant::now(), cpu_ms(pid)?);
        connection.submit(&id, prompt()).await?;
        until_result(&mut attach).await?;
        wall += ms(since);
        cpu += cpu_ms(pid)? - before;
    }
    let floor = Some(raw_stream(20_000, 100)?);
    let floor_is = "the same bytes through a bare socket";
    Ok(vec![
        Row { what: "2 MB in 20,000 deltas: wall", measured: wall, p99: None, unit: "ms", floor, floor_is, goal: "<= 150" },
        Row { what: "2 MB in 20,000 deltas: CPU", measured: cpu, p99: None, unit: "ms", floor, floor_is, goal: "<= 150" },
    ])
}

/// A new daemon over a session of 2,000 messages: one submission on it.
pub async fn resume(world: &World) -> anyhow::Result<Vec<Row>> {
    let connection = connect(world).await?;
    let long = connection.list(None, true).await?.into_iter().max_by_key(|info| info.last_seq).context("a session")?;
    anyhow::ensure!(world.agent(&["daemon", "stop"]).code == Some(0), "the daemon does not stop");
    start(world)?;
    let connection = connect(world).await?;
    let since = Instant::now();
    let mut attach = connection.attach(&long.id.to_string(), Some(Seq(long.last_seq.0)), false).await?;
    connection.submit(&long.id.to_string(), prompt()).await?;
    until_result(&mut attach).await?;
    let wall = ms(since);
    let floor = Some(synced_append(&world.path("data"))? * 2.0);
    Ok(vec![Row {
        what: "2,000 messages resumed and one submission",
        measured: wall,
        p99: None,
        unit: "ms",
        floor,
        floor_is: "two synced appends",
        goal: "<= 20",
    }])
}
