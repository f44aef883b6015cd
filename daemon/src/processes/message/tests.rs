use proptest::prelude::*;

use super::{Failure, Holder, MAX_PIDS, MAX_REPORT, Order, Report, Status, line};
use crate::processes::Limits;

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![any::<i32>().prop_map(Status::Code), any::<i32>().prop_map(Status::Signal)]
}

fn report() -> impl Strategy<Value = Report> {
    let pids = || proptest::collection::vec(any::<u32>(), 0..MAX_PIDS);
    prop_oneof![
        any::<u32>().prop_map(|pid| Report::Started { pid }),
        ".{0,80}".prop_map(|why| Report::Failed { why: Failure::Folder { why } }),
        ".{0,80}".prop_map(|why| Report::Failed { why: Failure::Other { why } }),
        Just(Report::Failed { why: Failure::NotFound }),
        (status(), pids()).prop_map(|(status, survivors)| Report::Exited { status, survivors }),
        pids().prop_map(|pids| Report::Stubborn { pids }),
        Just(Report::Gone),
    ]
}

proptest! {
    #[test]
    fn reports_survive_the_pipe(report in report()) {
        let line = line(&report).unwrap();
        prop_assert!(line.len() <= MAX_REPORT);
        // The only line end is the last byte: a reader may cut at it.
        prop_assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        prop_assert_eq!(serde_json::from_slice::<Report>(&line).unwrap(), report);
    }

    #[test]
    fn orders_survive_the_pipe(program in ".{0,20}", args in proptest::collection::vec(".{0,20}", 0..8),
        environment in proptest::collection::vec((".{0,20}", ".{0,20}"), 0..8), open_files in any::<u64>()) {
        let order = Order { program, args, cwd: "/".into(), environment, limits: Limits { open_files }, locks: "/x".into() };
        let line = line(&order).unwrap();
        prop_assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        prop_assert_eq!(serde_json::from_slice::<Order>(&line).unwrap(), order);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = serde_json::from_slice::<Report>(&bytes);
        let _ = serde_json::from_slice::<Order>(&bytes);
        let _ = serde_json::from_slice::<Holder>(&bytes);
    }
}
