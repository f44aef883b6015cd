//! Random schedules of appends, deletions, faults and crashes: what was acknowledged is there, in order, once.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use proptest::prelude::*;

use super::*;
use crate::store::memory::Operation;

#[derive(Debug, Clone)]
enum Step {
    Append {
        session: u8,
        sizes: Vec<u16>,
        level: Level,
    },
    Forget {
        session: u8,
    },
    Barrier,
    FailWrite {
        taken: u16,
    },
    FailSync,
    FullDisk,
    FreeDisk,
    Kill {
        seed: u64,
    },
    PowerLoss {
        seed: u64,
    },
    CleanStop,
    Checkpoint,
    /// The database is gone at the next opening.
    LoseDatabase,
    /// It does not open.
    DamageDatabase,
    /// It returns wrong bytes for this event, or for the row.
    DamageValue {
        session: u8,
        seq: u8,
    },
    /// It finds damage in the middle of a read or a batch.
    FailDatabase {
        read: bool,
    },
    Rebuild,
}

fn step() -> impl Strategy<Value = Step> {
    let level = prop_oneof![Just(Level::Written), Just(Level::Synced)];
    let sizes = prop::collection::vec(prop_oneof![9 => 0..400u16, 1 => 0..9000u16], 1..4);
    prop_oneof![
        20 => (0..3u8, sizes, level).prop_map(|(session, sizes, level)| Step::Append { session, sizes, level }),
        1 => (0..3u8).prop_map(|session| Step::Forget { session }),
        1 => Just(Step::Barrier),
        // Less than a record: only a crash could make a whole one that was told to have failed come back.
        1 => (0..80u16).prop_map(|taken| Step::FailWrite { taken }),
        1 => Just(Step::FailSync),
        1 => Just(Step::FullDisk),
        2 => Just(Step::FreeDisk),
        1 => any::<u64>().prop_map(|seed| Step::Kill { seed }),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::LoseDatabase),
        1 => Just(Step::DamageDatabase),
        1 => (0..3u8, 0..6u8).prop_map(|(session, seq)| Step::DamageValue { session, seq }),
        1 => any::<bool>().prop_map(|read| Step::FailDatabase { read }),
        1 => Just(Step::Rebuild),
        2 => any::<u64>().prop_map(|seed| Step::PowerLoss { seed }),
        1 => Just(Step::CleanStop),
    ]
}

/// What the caller knows of a session.
#[derive(Default, Clone)]
struct Known {
    /// Which session this is; a deleted one is followed by another.
    generation: u128,
    /// Everything appended that did not fail, in order.
    sent: Vec<String>,
    /// How many of them were acknowledged as synced.
    synced: usize,
    /// How many of them were acknowledged as written.
    written: usize,
}

struct World {
    files: MemoryFiles,
    store: Store,
    boot: u32,
    known: BTreeMap<u8, Known>,
    deleted: Vec<SessionId>,
    /// Written appends whose last word is not heard yet: session, length up to them.
    waiting: Vec<(u8, usize, Heard)>,
    made: u64,
}

impl World {
    fn new() -> World {
        let files = MemoryFiles::new();
        let store = open_within(&files, BootId::new("0"), busy()).0;
        World { files, store, boot: 0, known: BTreeMap::new(), deleted: Vec::new(), waiting: Vec::new(), made: 0 }
    }

    fn id(&self, name: u8) -> SessionId {
        let generation = self.known.get(&name).map_or(0, |known| known.generation);
        session(1 + u128::from(name) + 1000 * generation)
    }

    fn append(&mut self, name: u8, sizes: &[u16], level: Level) {
        let id = self.id(name);
        let events: Vec<String> = sizes.iter().map(|size| self.event(*size)).collect();
        let known = self.known.entry(name).or_default();
        let first = known.sent.len() as u64 + 1;
        let texts: Vec<&str> = events.iter().map(String::as_str).collect();
        let heard = send(&self.store, batch(id, first, &texts, level));
        let len = known.sent.len() + events.len();
        match (level, heard.next()) {
            (_, Commit::Failed(_)) => {}
            (_, Commit::Synced) => {
                known.sent.extend(events);
                (known.synced, known.written) = (len, len);
            }
            (_, Commit::Written) => {
                known.sent.extend(events);
                known.written = len;
                self.waiting.push((name, len, heard));
            }
        }
        self.listen();
    }

    fn event(&mut self, size: u16) -> String {
        self.made += 1;
        format!("{}{}", self.made, "-".repeat(size.into()))
    }

    /// Takes the last words of written appends as far as they have come.
    fn listen(&mut self) {
        self.waiting.retain(|(name, len, heard)| match heard.0.try_recv() {
            Ok(Commit::Synced) => {
                if let Some(known) = self.known.get_mut(name) {
                    known.synced = known.synced.max(*len);
                }
                false
            }
            Ok(_) => false,
            Err(_) => true,
        });
    }

    /// Another process opens what is left. `least` of each session must be there.
    fn reopen(&mut self, files: MemoryFiles, least: fn(&Known) -> usize) {
        self.listen();
        self.waiting.clear();
        let (store, opened) = open_within(&files, BootId::new(&self.boot.to_string()), busy());
        assert_eq!((&opened.quarantined, &opened.damage), (&vec![], &vec![]), "no crash is damage");
        (self.files, self.store) = (files, store);
        self.check(least);
    }

    /// Everything is as it must be.
    fn check(&mut self, least: fn(&Known) -> usize) {
        let store = self.store.clone();
        for id in &self.deleted {
            assert_eq!(last(&store, *id), None, "deleted is deleted");
        }
        for name in self.known.keys().copied().collect::<Vec<_>>() {
            let id = self.id(name);
            let known = self.known.entry(name).or_default();
            let found = last(&store, id).map_or(vec![], |_| all(&store, id));
            assert!(found.len() >= least(known), "{} of {} are there", found.len(), least(known));
            assert!(found.len() <= known.sent.len(), "nothing that failed, nothing twice");
            assert_eq!(found, known.sent[..found.len()], "the same, in order");
            (known.synced, known.written) = (found.len(), found.len());
            known.sent = found;
        }
        assert!(store.status().quarantined.is_empty());
    }

    fn forget(&mut self, name: u8) {
        let id = self.id(name);
        if last(&self.store, id).is_some() && forget(&self.store, id) == Commit::Synced {
            self.deleted.push(id);
            let generation = self.known.get(&name).map_or(0, |known| known.generation) + 1;
            self.known.insert(name, Known { generation, ..Known::default() });
        }
        self.listen();
    }

    /// After a failed sync nobody knows what of the unacknowledged is there: a new process tells.
    fn settle_after_failure(&mut self, pending: Option<(u8, Vec<String>)>) {
        if self.store.trouble().is_some() {
            if let Some((name, events)) = pending {
                self.known.entry(name).or_default().sent.extend(events);
            }
            self.files.free_space();
            self.reopen(self.files.after_kill(), |known| known.synced);
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Append { session, sizes, level } => {
                let made = self.made;
                self.append(*session, sizes, *level);
                let events = (made + 1..).zip(sizes).map(|(at, size)| format!("{at}{}", "-".repeat((*size).into()))).collect();
                self.settle_after_failure(Some((*session, events)));
            }
            Step::Forget { session } => {
                // With a planned fault it could be half done; that is another test's matter.
                let files = self.files.after_kill();
                self.reopen(files, |known| known.written);
                self.forget(*session);
            }
            Step::Barrier => {
                let _ = barrier(&self.store);
                self.listen();
                self.settle_after_failure(None);
            }
            Step::FailWrite { taken } => self.files.fail(Operation::Write { taken: (*taken).into() }, ErrorKind::Other),
            Step::FailSync => self.files.fail(Operation::SyncFile, ErrorKind::Other),
            Step::FullDisk => self.files.limit_space(self.files.used()),
            Step::FreeDisk => self.files.free_space(),
            Step::Kill { seed } => {
                self.files.free_space();
                self.reopen(self.files.after_kill_keeping(&mut picker(*seed)), |known| known.written);
            }
            Step::PowerLoss { seed } => {
                self.files.free_space();
                self.boot += 1;
                self.reopen(self.files.after_power_loss(&mut picker(*seed)), |known| known.synced);
            }
            Step::Checkpoint => {
                // With a full disk it fails, and says so.
                let _ = self.store.checkpoint();
            }
            Step::LoseDatabase => {
                self.files.free_space();
                let files = self.files.after_kill();
                files.lose_database(db());
                self.reopen(files, |known| known.written);
            }
            Step::DamageDatabase => {
                self.files.free_space();
                let files = self.files.after_kill();
                files.damage_database(db());
                self.reopen(files, |known| known.written);
            }
            Step::DamageValue { session, seq } => {
                let files = self.files.after_kill();
                let id = self.id(*session);
                let key = if *seq == 0 { keys::row(id) } else { keys::event(id, Seq(u64::from(*seq))) };
                files.damage_value(db(), &key);
                self.reopen(files, |known| known.written);
            }
            Step::FailDatabase { read } => {
                // Without other faults before it, which would be met by something else.
                self.reopen(self.files.after_kill(), |known| known.written);
                self.files.fail(if *read { Operation::Look } else { Operation::Apply }, ErrorKind::InvalidData);
            }
            Step::Rebuild => {
                self.files.free_space();
                self.reopen(self.files.after_kill(), |known| known.written);
                assert_eq!(self.store.rebuild(), Ok(()));
                self.check(|known| known.written);
            }
            Step::CleanStop => {
                self.files.free_space();
                let clean = block(self.store.shutdown()).is_ok();
                let least: fn(&Known) -> usize = if clean { |known| known.written } else { |known| known.synced };
                self.reopen(self.files.after_power_loss(&mut |_| 0), least);
            }
        }
    }
}

/// Answers numbers up to a bound, always the same ones for the same seed.
fn picker(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % (bound + 1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_acknowledged_is_there_once_and_in_order(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
        world.run(&Step::Kill { seed: 0 });
        world.run(&Step::LoseDatabase);
    }
}
