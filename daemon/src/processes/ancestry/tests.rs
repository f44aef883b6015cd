use super::{Descent, walk};
use crate::processes::proc::Stat;

fn stat(parent: u32, started: u64) -> Option<Stat> {
    Some(Stat { state: 'S', parent, session: 1, started })
}

#[test]
fn a_tools_child_is_ours_and_says_through_whom() {
    let look = |pid| match pid {
        30 => stat(20, 9),
        20 => stat(10, 8),
        10 => stat(5, 7),
        _ => None,
    };
    assert_eq!(walk(30, 5, look), Descent::FromUs { through: 10 });
    assert_eq!(walk(5, 5, look), Descent::FromUs { through: 5 });
}

#[test]
fn a_line_that_ends_elsewhere_is_foreign_once_it_holds_still() {
    let look = |pid| match pid {
        30 => stat(1, 9),
        1 => stat(0, 0),
        _ => None,
    };
    assert_eq!(walk(30, 5, look), Descent::Foreign);
}

#[test]
fn one_who_is_gone_or_never_holds_still_has_vanished() {
    assert_eq!(walk(30, 5, |_| None), Descent::Vanished);
    let mut time = 0;
    let restless = |pid| {
        time += 1;
        if pid == 30 { stat(1, 1000 + time) } else { stat(0, 0) }
    };
    assert_eq!(walk(30, 5, restless), Descent::Vanished);
}

#[test]
fn re_parenting_between_two_walks_is_walked_again() {
    let mut looks = 0;
    let look = |pid| {
        looks += 1;
        match pid {
            // First seen under 20, which then ends: the next walks find it under our shim.
            30 => stat(if looks == 1 { 20 } else { 10 }, 9),
            10 => stat(5, 7),
            _ => None,
        }
    };
    assert_eq!(walk(30, 5, look), Descent::FromUs { through: 10 });
}

#[test]
fn a_parent_younger_than_its_child_is_somebody_else() {
    let look = |pid| match pid {
        30 => stat(20, 9),
        20 => stat(0, 10),
        _ => None,
    };
    assert_eq!(walk(30, 5, look), Descent::Vanished);
}

#[test]
fn a_circle_ends() {
    assert_eq!(walk(30, 5, |pid| stat(if pid == 30 { 31 } else { 30 }, 1)), Descent::Vanished);
}

#[cfg(target_os = "linux")]
#[test]
fn this_test_descends_from_its_parent_and_not_from_a_stranger() {
    let parent = std::os::unix::process::parent_id();
    let me = std::process::id();
    assert!(matches!(super::descent(me, parent), Descent::FromUs { through } if through == me));
    assert_eq!(super::descent(parent, me), Descent::Foreign);
}
