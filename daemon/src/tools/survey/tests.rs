//! What is kept of git's words; git itself is asked in the end-to-end tests.

use super::*;

#[test]
fn a_long_status_is_shortened_and_says_so() {
    let long: String = std::iter::once("## main\n".to_owned()).chain((0..100).map(|n| format!("?? file{n}\n"))).collect();
    let kept = shortened(&long);
    assert_eq!(kept.lines().count(), MAX_LINES + 1);
    assert!(kept.starts_with("## main\n") && kept.ends_with("(and more)"), "{kept}");
    let wide = format!("## main\n?? {}\n", "x".repeat(MAX_BYTES));
    assert_eq!(shortened(&wide), "## main\n(and more)");
    assert_eq!(shortened("## main\n"), "## main\n(clean)");
    assert_eq!(shortened("## main\n M a\n"), "## main\n M a");
}

#[test]
fn the_system_has_a_name() {
    assert!(!os().is_empty());
}

#[test]
fn a_folder_below_a_repository_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let before = is_in_repository(&deep);
    std::fs::create_dir(dir.path().join(".git")).unwrap();
    assert!(is_in_repository(&deep) && !before);
}
