//! One seed's world: lives of a daemon, each ended by a crash, over the same disk. It decides what happens next and nothing
//! else; what is right is for the properties.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentd::boot;
use agentd::engine::Kit;
use agentd::models::Models;
use agentd::processes::Shims;
use agentd::rpc::WireCodec;
use agentd::sessions::codec::Codec;
use agentd::sessions::projector::SessionProjector;
use agentd::sessions::spawner::Roles;
use agentd::sessions::{Registry, Shared};
use agentd::settings::Folders;
use agentd::store::memory::Operation;
use agentd::store::{BootId, Limits, MemoryFiles, Order, Places, Setup, Stepped, Stepper, Store};
use agentd::tools::bash::survivors::Survivors;
use agentd::tools::registry::ToolRegistry;
use agentd::tools::survey::Survey;
use agentd_types::config::{Interrupted, Resume, Settings};
use agentd_types::{AbsPath, Seq, SessionId};

use super::clients;
use super::clock::{SimClock, SimEntropy};
use super::facts::Facts;
use super::gates::Gates;
use super::model::SimModel;
use super::property::{self, Death, Found, Violation};
use super::rng::Rng;
use super::tools;

/// Turns the last life has to come to rest.
const PATIENCE: usize = 4_000;
const DIR: &str = "/sim";
const MODEL: &str = "claude-sonnet-5-5";

/// How much happens in one world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub seed: u64,
    /// Acts before everything is left to come to rest.
    pub acts: usize,
}

/// What happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    pub crashes: usize,
    pub requests: u64,
    pub events: usize,
}

/// Plays one world.
///
/// # Errors
/// The property that did not hold.
pub fn run(plan: Plan) -> Result<Report, Violation> {
    let mut world = World::new(plan.seed);
    let mut left = plan.acts;
    while left > 0 {
        let (used, death) = world.live(left)?;
        left -= used;
        world.die(death);
    }
    world.rest()?;
    world.report.requests = world.facts.seen().requests;
    Ok(world.report)
}

/// The shortest plan of this seed that still fails, with what it violates: acts are cut off from the end.
#[must_use]
pub fn shortest(plan: Plan, violation: Violation) -> (Plan, Violation) {
    let (mut good, mut bad) = (0, (plan, violation));
    while good + 1 < bad.0.acts {
        let plan = Plan { acts: usize::midpoint(good, bad.0.acts), ..plan };
        match run(plan) {
            Ok(_) => good = plan.acts,
            Err(violation) => bad = (plan, violation),
        }
    }
    bad
}

/// What outlives a crash.
struct World {
    files: MemoryFiles,
    facts: Facts,
    clock: Arc<SimClock>,
    entropy: Arc<SimEntropy>,
    rng: Rng,
    /// How the last life ended; none before the first.
    death: Option<Death>,
    boots: u64,
    report: Report,
}

/// One daemon.
struct Life {
    registry: Registry,
    store: Store,
    stepper: Stepper,
    gates: Gates,
}

impl World {
    fn new(seed: u64) -> World {
        World {
            files: MemoryFiles::new(),
            facts: Facts::default(),
            clock: Arc::default(),
            entropy: Arc::default(),
            rng: Rng::new(seed),
            death: None,
            boots: 1,
            report: Report::default(),
        }
    }

    /// Lives for `acts` at most; how many it took, and how it ends.
    fn live(&mut self, acts: usize) -> Result<(usize, Death), Violation> {
        let runtime = runtime();
        let mut life = runtime.block_on(self.open())?;
        for act in 1..=acts {
            runtime.block_on(self.quiet(1));
            self.check()?;
            match self.rng.below(100) {
                0..35 => {
                    life.stepper.step();
                }
                35..72 => life.gates.open_one(&mut self.rng),
                72..88 => runtime.block_on(async { clients::act(&mut self.rng, &life.registry, &self.facts) }),
                88..92 => {
                    let ms = 1 + self.rng.below(90_000);
                    runtime.block_on(self.quiet(ms as u64));
                }
                92..94 => self.fault(),
                94..96 => {
                    // Its failure is a full disk's: the next one goes on.
                    let _ = life.store.checkpoint();
                }
                _ => {
                    let death = if self.rng.chance(50) { Death::Kill } else { Death::PowerLoss };
                    return Ok((act, death));
                }
            }
        }
        Ok((acts, Death::Kill))
    }

    /// A crash: what is left of the disk.
    fn die(&mut self, death: Death) {
        self.report.crashes += 1;
        // The applier runs beside: what it had not flushed must not decide anything else.
        let mut database = Rng::new(self.rng.next());
        self.files = match death {
            Death::Kill => self.files.after_kill_keeping(&mut |n| database.below(n as usize + 1) as u64),
            Death::PowerLoss => {
                self.boots += 1;
                let rng = &mut self.rng;
                self.files.after_power_loss(&mut |n| rng.below(n as usize + 1) as u64)
            }
        };
        self.files.free_space();
        self.death = Some(death);
    }

    /// A last life without faults: everything comes to its end.
    fn rest(&mut self) -> Result<(), Violation> {
        let runtime = runtime();
        let mut life = runtime.block_on(self.open())?;
        let mut why = String::new();
        for turn in 0..PATIENCE {
            runtime.block_on(self.quiet(2_000));
            self.check()?;
            let stepped = life.stepper.step();
            let gates = life.gates.waiting();
            (0..gates).for_each(|_| life.gates.open_one(&mut self.rng));
            if turn % 5 == 0 {
                let sessions: Vec<SessionId> = self.facts.seen().created.iter().copied().collect();
                for session in sessions {
                    let (registry, facts, allow) = (life.registry.clone(), self.facts.clone(), self.rng.chance(50));
                    runtime.spawn(clients::respond(registry, facts, session, allow));
                }
            }
            if stepped == Stepped::Rested && gates == 0 {
                let found = self.read(&life.store)?;
                match self.finished(&found) {
                    Ok(()) => {
                        self.report.events = found.logs.values().map(Vec::len).sum();
                        return Ok(());
                    }
                    Err(violation) => why = violation.what,
                }
            }
        }
        Err(Violation { property: "settled", what: format!("after {PATIENCE} turns: {why}") })
    }

    fn finished(&self, found: &Found) -> Result<(), Violation> {
        let seen = self.facts.seen();
        property::all()
            .into_iter()
            .try_for_each(|property| property.finish(found, &seen).map_err(|what| Violation { property: property.name(), what }))
    }

    /// Opens what is on the disk, holds it against what was seen, and starts the sessions.
    async fn open(&mut self) -> Result<Life, Violation> {
        let limits =
            Limits { segment: 16 * 1024, chunk: 4 * 1024, group_batches: 1 + self.rng.below(8), cache: 8 * 1024, ..Limits::default() };
        let boot = BootId::new(&self.boots.to_string());
        let setup = Setup {
            places: Places::within(Path::new(DIR)),
            files: Arc::new(self.files.clone()),
            shelves: Arc::new(self.files.clone()),
            projector: Arc::new(SessionProjector::new(Arc::new(WireCodec))),
            clock: Arc::clone(&self.clock) as _,
            boot,
            limits,
        };
        let opened = Store::open_stepped(setup);
        let (store, opened, stepper) = opened.map_err(|error| Violation { property: "opens", what: error.to_string() })?;
        if !opened.quarantined.is_empty() || !opened.damage.is_empty() {
            return Err(Violation { property: "opens", what: format!("{:?} {:?}", opened.quarantined, opened.damage) });
        }
        if let Some(death) = self.death {
            let found = self.read(&store)?;
            let seen = self.facts.seen();
            for property in property::all() {
                property.on_start(&found, &seen, death).map_err(|what| Violation { property: property.name(), what })?;
            }
        }
        let gates = Gates::default();
        // No such file: no folder has rules of its own.
        let folders = Folders::open(Path::new("/sim/settings.json"));
        let folders = folders.map_err(|error| Violation { property: "opens", what: error.to_string() })?;
        let (rules, kit) = (Arc::new(folders.clone()), Arc::new(self.kit(&gates, folders)));
        let roles = Roles::of(&kit);
        let shared = Arc::new(Shared { kit, roles, store: store.clone(), codec: Arc::new(WireCodec), rules });
        let registry = boot::open_sessions(shared).await.map_err(|error| Violation { property: "opens", what: error.to_string() })?;
        Ok(Life { registry, store, stepper, gates })
    }

    fn kit(&mut self, gates: &Gates, folders: Folders) -> Kit {
        let model = SimModel::new(self.facts.clone(), gates.clone(), Rng::new(self.rng.next()));
        let interrupted = if self.rng.chance(30) { Interrupted::Ask } else { Interrupted::Continue };
        let tools = ToolRegistry::new(tools::all(&self.facts, gates));
        Kit {
            models: Arc::new(Models::of(Arc::new(model), MODEL)),
            specs: tools.specs(),
            tools,
            settings: Settings { resume: Resume { interrupted }, ..Settings::default() },
            folders,
            // Never asked: the sessions' folder does not exist.
            survey: Survey::new(Shims::new(path("/sim/agentd"), path("/sim/run"))),
            clock: Arc::clone(&self.clock) as _,
            entropy: Arc::clone(&self.entropy) as _,
            data_dir: path("/sim/data"),
            home: None,
            protected: Vec::new(),
            survivors: Survivors::default(),
        }
    }

    /// Lets everything run until nothing can, then `ms` go by.
    async fn quiet(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.clock.advance(i64::try_from(ms).unwrap_or(0));
    }

    fn check(&self) -> Result<(), Violation> {
        match self.facts.seen().wrong.first() {
            Some(what) => Err(Violation { property: "at once", what: what.clone() }),
            None => Ok(()),
        }
    }

    fn fault(&mut self) {
        match self.rng.below(6) {
            0 | 1 => self.files.fail(Operation::Write { taken: self.rng.below(600) }, ErrorKind::StorageFull),
            2 => self.files.fail(Operation::SyncFile, ErrorKind::Other),
            3 => self.files.fail(Operation::Create, ErrorKind::StorageFull),
            4 => self.files.limit_space(self.files.used() + self.rng.below(2_000)),
            _ => self.files.free_space(),
        }
    }

    fn read(&self, store: &Store) -> Result<Found, Violation> {
        let bad = |what: String| Violation { property: "readable", what };
        let mut found = Found { logs: std::collections::BTreeMap::new() };
        let all = SessionId::from_u128(0)..=SessionId::from_u128(u128::MAX);
        let rows = store.rows(all, Order::Ascending, usize::MAX).map_err(|error| bad(error.to_string()))?;
        for session in rows.into_iter().map(|row| row.session) {
            let (mut log, mut cursor) = (Vec::new(), Seq::ZERO);
            loop {
                let page = store.read_after(session, cursor, 1_000, 1 << 20).map_err(|error| bad(error.to_string()))?;
                let Some((last, _)) = page.last() else { break };
                cursor = *last;
                for (_, bytes) in page {
                    log.push((WireCodec.read(&bytes).map_err(|error| bad(error.to_string()))?, bytes));
                }
            }
            found.logs.insert(session, log);
        }
        Ok(found)
    }
}

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap_or_else(|_| unreachable!("it is absolute"))
}

/// One thread, and a clock that goes on only when nothing else can.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap_or_else(|error| panic!("no runtime: {error}"))
}
