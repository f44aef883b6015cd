//! Seeded worlds: sessions over crashes between any two acts, held against their promises. `SIM_SEEDS=first..last` plays others.

use std::io::Write;

use agentd_tests::sim::{Plan, Report, run, shortest};

/// Acts of a world.
const ACTS: usize = 400;

fn play(seeds: impl Iterator<Item = u64>) -> Report {
    let mut total = Report::default();
    for seed in seeds {
        let plan = Plan { seed, acts: ACTS };
        match run(plan) {
            Ok(report) => {
                total.crashes += report.crashes;
                total.requests += report.requests;
                total.events += report.events;
            }
            Err(violation) => {
                let (plan, violation) = shortest(plan, violation);
                panic!("{plan:?} violates `{}`: {}", violation.property, violation.what);
            }
        }
    }
    total
}

#[test]
fn no_crash_breaks_a_promise() {
    let (first, last) = std::env::var("SIM_SEEDS")
        .ok()
        .and_then(|range| {
            let (first, last) = range.split_once("..")?;
            Some((first.parse().ok()?, last.parse().ok()?))
        })
        .unwrap_or((0, 120));
    let report = play(first..last);
    writeln!(std::io::stdout(), "{report:?}").unwrap();
    assert!(report.crashes as u64 >= (last - first) * 10, "too little happened: {report:?}");
}
