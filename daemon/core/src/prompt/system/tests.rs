//! The frame's words.

use super::*;

fn around() -> Surroundings {
    Surroundings {
        cwd: AbsPath::new("/w").expect("absolute"),
        platform: "linux".into(),
        os: "Some Linux 1".into(),
        date: "2026-12-01".into(),
        git: Some("## main\n M a.rs".into()),
        append: Some("Be brief.".into()),
    }
}

#[test]
fn the_tail_says_where_the_session_is() {
    insta::assert_snapshot!(frame(&around()).tail, @r"
    Working folder: /w
    Platform: linux
    Operating system: Some Linux 1
    Session started on 2026-12-01
    Git status when the conversation began (it is not kept up to date):
    ## main
     M a.rs

    Be brief.
    ");
    let bare = Surroundings { git: None, append: None, ..around() };
    assert!(frame(&bare).tail.ends_with("The working folder is in no git repository."));
}

#[test]
fn a_frame_outlives_a_restart_while_it_can_be_cached() {
    assert!(is_kept(Prefix::Bound, u64::MAX));
    assert!(is_kept(Prefix::Free, CACHE_LIFE_MS) && !is_kept(Prefix::Free, CACHE_LIFE_MS + 1));
}

#[test]
fn what_differs_from_session_to_session_stands_behind_the_marker() {
    let (here, there) = (frame(&around()), frame(&Surroundings { cwd: AbsPath::new("/x").expect("absolute"), ..around() }));
    assert_eq!(here.fixed, there.fixed);
    assert_ne!(here.tail, there.tail);
    let marks: Vec<CacheMark> = system(&here).iter().map(|part| part.cache).collect();
    assert_eq!(marks, [CacheMark::Marked, CacheMark::Unmarked]);
}
