use proptest::prelude::*;
use rustix::process::Signal;

use super::{Process, Stat, Table, parse_stat};

fn table(rows: &[(u32, u32, u32, u64, char)]) -> Table {
    Table(rows.iter().map(|&(pid, parent, session, started, state)| (pid, Stat { state, parent, session, started })).collect())
}

#[test]
fn a_hostile_name_fools_nobody() {
    let line = b"7 (a) R 1 (b) S 42 7 9 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 12345 1 1";
    assert_eq!(parse_stat(line), Some(Stat { state: 'S', parent: 42, session: 9, started: 12345 }));
    let line = b"7 (a) R (b\n1) S 42 7 9 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 12345 1 1\n";
    assert_eq!(parse_stat(line), Some(Stat { state: 'S', parent: 42, session: 9, started: 12345 }));
    assert_eq!(parse_stat(b"7 (a S 42 7 9"), None);
}

#[test]
fn descendants_are_found_through_all_generations() {
    let table = table(&[(10, 1, 10, 1, 'S'), (11, 10, 10, 2, 'S'), (12, 11, 12, 3, 'Z'), (13, 12, 12, 4, 'S'), (20, 1, 20, 5, 'S')]);
    let pids: Vec<u32> = table.descendants(10).into_iter().map(|process| process.pid).collect();
    assert_eq!(pids, [11, 12, 13]);
    assert_eq!(table.children(10), [Process { pid: 11, started: 2 }]);
}

#[test]
fn a_session_is_its_leaders_only_while_the_pid_is_not_anothers() {
    let leader = Process { pid: 10, started: 5 };
    let gone = table(&[(11, 1, 10, 6, 'S'), (12, 1, 10, 7, 'Z'), (13, 1, 13, 8, 'S'), (14, 1, 10, 4, 'S')]);
    assert_eq!(gone.session_of(leader), [Process { pid: 11, started: 6 }]);
    let reused = table(&[(10, 1, 10, 90, 'S'), (11, 10, 10, 91, 'S')]);
    assert_eq!(reused.session_of(leader), []);
}

#[test]
fn a_signal_reaches_no_later_process_of_the_same_pid() {
    let me = Process::find(std::process::id()).unwrap();
    assert!(me.is_alive());
    let earlier = Process { started: me.started.wrapping_sub(1), ..me };
    assert!(!earlier.is_alive());
    // Were it delivered, this test would not be here any more.
    earlier.send(Signal::KILL);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = parse_stat(&bytes);
    }

    #[test]
    fn any_name_is_passed_over(name in proptest::collection::vec(any::<u8>(), 0..16), parent in any::<u32>(), started in any::<u64>()) {
        let mut line = b"7 (".to_vec();
        line.extend(name);
        line.extend(format!(") S {parent} 7 9 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 {started} 1 1").bytes());
        prop_assert_eq!(parse_stat(&line), Some(Stat { state: 'S', parent, session: 9, started }));
    }
}
