//! What the store costs with ten thousand sessions: printed, not asserted. Run it in release:
//! `cargo nextest run --release -p agentd-tests --test store_scale --run-ignored only --no-capture`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use agentd::clock::SystemClock;
use agentd::rpc::WireCodec;
use agentd::sessions::codec::Codec;
use agentd::sessions::projector::SessionProjector;
use agentd::store::{Batch, BootId, Commit, Disk, Level, Limits, Order, Places, Setup, Sled, Store};
use agentd_tests::program::World;
use agentd_types::permission::PermissionMode;
use agentd_types::session::{Limits as SessionLimits, NotesMode, SessionMeta};
use agentd_types::system::System;
use agentd_types::{AbsPath, Body, Entry, Seq, SessionId, Timestamp};
use bytes::Bytes;

const SESSIONS: u128 = 10_000;
const EVENTS: u64 = 20;
const APPENDS: u64 = 2_000;

fn say(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

fn setup(data: &Path) -> Setup {
    Setup {
        places: Places::within(data),
        files: Arc::new(Disk),
        shelves: Arc::new(Sled),
        projector: Arc::new(SessionProjector::new(Arc::new(WireCodec))),
        clock: Arc::new(SystemClock),
        boot: BootId::unknown(),
        limits: Limits::default(),
    }
}

fn id(number: u128) -> SessionId {
    SessionId::from_u128(0x0198_c0de_0000_7000_8000_0000_0000_0000 + number)
}

fn event(session: u128, seq: u64) -> Bytes {
    let meta = || SessionMeta {
        name: Some(format!("session-{session}")),
        cwd: AbsPath::new("/work").unwrap(),
        model: "m".into(),
        permission_mode: PermissionMode::Default,
        limits: SessionLimits::default(),
        notes: NotesMode::Start,
        environment: vec![],
        append_system_prompt: None,
        allow: vec![],
        deny: vec![],
    };
    let system = match seq {
        1 => System::Created { meta: meta(), idempotency_key: None },
        _ => System::Notice { text: format!("{seq} {}", "x".repeat(200)) },
    };
    WireCodec.event(&Entry::outside(Body::System(system)).number(id(session), Seq(seq), Timestamp(1_000)))
}

fn rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn put(store: &Store, session: u128, first: u64, events: Vec<Bytes>, level: Level) -> Commit {
    let (said, heard) = channel();
    let waiter = Box::new(move |commit| {
        let _ = said.send(commit);
    });
    store.append(Batch { session: id(session), first: Seq(first), events, level }, waiter).await;
    heard.recv().unwrap()
}

fn quantiles(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    say(&format!("{what}: p50 {:?}, p90 {:?}, p99 {:?}", at(0.5), at(0.9), at(0.99)));
}

/// One append at a time, each waiting until it is durable: behind sled, behind a database in memory, and the bare disk.
#[tokio::test]
#[ignore = "it measures, for a person"]
async fn receipts() {
    let world = World::new(None);
    for round in 0..2 {
        for what in ["sled", "memory"] {
            let data = world.path(&format!("{what}-{round}"));
            fs::create_dir(&data).unwrap();
            let plain = setup(&data);
            let setup = match what {
                "sled" => plain,
                _ => Setup { shelves: Arc::new(agentd::store::MemoryFiles::new()), ..plain },
            };
            let (store, _) = Store::open(setup).unwrap();
            let mut times = Vec::new();
            for seq in 1..=APPENDS {
                let started = Instant::now();
                put(&store, 1, seq, vec![event(1, seq)], Level::Synced).await;
                times.push(started.elapsed());
            }
            quantiles(&format!("append to durable, {what} behind the journal"), times);
            store.shutdown().await.unwrap();
        }
        floor(&world);
    }
}

fn floor(world: &World) {
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(world.path("floor")).unwrap();
    file.write_all_at(&vec![0; 1 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let mut times = Vec::new();
    for at in 0..APPENDS {
        let started = Instant::now();
        file.write_all_at(&[7; 400], at * 400).unwrap();
        file.sync_data().unwrap();
        times.push(started.elapsed());
    }
    quantiles("floor: write and fdatasync", times);
}

#[tokio::test]
#[ignore = "it measures, for a person"]
async fn ten_thousand_sessions() {
    let world = World::new(None);
    let data = world.path("data");
    fs::create_dir(&data).unwrap();
    let (store, _) = Store::open(setup(&data)).unwrap();
    let started = Instant::now();
    for session in 0..SESSIONS {
        let events = (1..=EVENTS).map(|seq| event(session, seq)).collect();
        put(&store, session, 1, events, Level::Written).await;
    }
    let written = started.elapsed();
    store.shutdown().await.unwrap();
    say(&format!("{SESSIONS} sessions of {EVENTS} events: written in {written:?}, at rest after {:?}", started.elapsed()));
    drop(store);

    let before = rss();
    let started = Instant::now();
    let (store, opened) = Store::open(setup(&data)).unwrap();
    say(&format!(
        "opening: {:?}, rebuilt: {}, memory {} KiB more",
        started.elapsed(),
        opened.rebuilt.is_some(),
        rss().saturating_sub(before)
    ));
    let started = Instant::now();
    let (unsettled, count) = (store.unsettled().unwrap().len(), store.count().unwrap());
    say(&format!("unsettled {unsettled} of {count}: {:?}", started.elapsed()));
    let all = || id(0)..=id(u128::from(u64::MAX));
    for _ in 0..2 {
        let started = Instant::now();
        let rows = store.rows(all(), Order::Descending, 1_000).unwrap().len();
        let first = started.elapsed();
        let rest = store.rows(all(), Order::Descending, usize::MAX).unwrap().len();
        say(&format!(
            "rows: {rows} in {first:?}, {rest} in {:?}; memory {} KiB more",
            started.elapsed() - first,
            rss().saturating_sub(before)
        ));
    }
    let started = Instant::now();
    let mut read = 0;
    for session in 0..2_000 {
        read += store.read_after(id(session), Seq::ZERO, 1_000, usize::MAX).unwrap().len();
    }
    say(&format!("reading {read} events of 2000 sessions: {:?}", started.elapsed()));

    let mut times = Vec::new();
    for seq in EVENTS + 1..=EVENTS + APPENDS {
        let started = Instant::now();
        put(&store, 1, seq, vec![event(1, seq)], Level::Synced).await;
        times.push(started.elapsed());
    }
    quantiles("append to durable", times);
    floor(&world);
    let started = Instant::now();
    store.rebuild().unwrap();
    say(&format!("rebuilt at will: {:?}, database {} MiB", started.elapsed(), store.status().database_bytes >> 20));
    store.shutdown().await.unwrap();
    drop(store);

    let started = Instant::now();
    let done = world.agent(&["daemon", "start"]);
    say(&format!("agent daemon start: {:?} {}", started.elapsed(), done.stdout.trim()));
    let pid = world.daemon_pid();
    let memory = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default().to_owned()
    };
    say(&format!("daemon, nothing asked yet: {}", memory()));
    let started = Instant::now();
    let listed = world.agent(&["show", "session-77", "--json"]);
    say(&format!("agent show NAME: {:?}, {}", started.elapsed(), listed.code.unwrap()));
    let started = Instant::now();
    let listed = world.agent(&["ls", "--json"]);
    say(&format!("agent ls of all: {:?}, {} bytes", started.elapsed(), listed.stdout.len()));
    say(&format!("daemon after the list: {}", memory()));
    let _ = world.agent(&["daemon", "stop", "--no-start"]);
    fs::remove_dir_all(data.join("db")).unwrap();
    let started = Instant::now();
    let done = world.agent(&["ls", "--json"]);
    say(&format!("database deleted, start and list: {:?}, {:?}", started.elapsed(), done.code));
}
