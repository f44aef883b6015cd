use agentd_client::StoreEvent;
use agentd_types::Timestamp;

use super::*;

fn status() -> StoreStatus {
    let well = StoreEvent { at: Timestamp(1), weight: Weight::Note, text: "cut".into() };
    StoreStatus {
        trouble: String::new(),
        events: vec![well],
        quarantined: vec![],
        set_aside: vec![],
        sessions: 2,
        segments: 1,
        database_bytes: 3_000_000,
    }
}

#[test]
fn a_note_is_no_problem_and_everything_else_has_advice() {
    let mut report = Report::default();
    store(&mut report, &status());
    assert_eq!((report.problems.len(), report.notes.len()), (0, 1));
    assert!(report.findings[0].1.contains("2 sessions, database 2.8 MiB"), "{}", report.findings[0].1);

    let lost = StoreEvent { at: Timestamp(1), weight: Weight::Attention, text: "it was lost".into() };
    let bad = StoreStatus { trouble: "full".into(), events: vec![lost], quarantined: vec![("7".into(), "damaged".into())], ..status() };
    let mut report = Report::default();
    store(&mut report, &bad);
    assert_eq!(report.problems.len(), 3);
    assert!(report.problems.iter().all(|problem| !problem.advice.is_empty()));
}

#[test]
fn folders_of_damaged_databases_are_found() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("db.damaged-20260101T000000.000Z")).unwrap();
    std::fs::create_dir(temp.path().join("db")).unwrap();
    let mut report = Report::default();
    set_aside(&mut report, temp.path());
    assert_eq!(report.problems.len(), 1);
    assert!(report.problems[0].advice.contains("rm -r"));
}

#[test]
fn sizes_are_short() {
    for (bytes, text) in [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")] {
        assert_eq!(size(bytes), text);
    }
}
