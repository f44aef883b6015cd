//! The tour's script fits its project.

use std::process::Command;

use super::*;

#[test]
fn the_scripts_are_good() {
    assert_eq!(script().expect("a good script").steps.len(), 5);
    assert_eq!(no_model().expect("a good script").steps.len(), 1);
}

#[test]
fn the_edit_makes_the_failing_test_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(!is_laid_down(folder.path()));
    lay_down(folder.path()).expect("the files");
    assert!(is_laid_down(folder.path()));
    assert!(lay_down(folder.path()).is_err(), "nothing is overwritten");
    let test = || Command::new("sh").arg("test.sh").current_dir(folder.path()).output().expect("sh");
    let before = test();
    assert!(!before.status.success() && String::from_utf8_lossy(&before.stdout).contains("FAILED"));

    let edit = &script().expect("a good script").steps[2].tools[0].input;
    let text = |key: &str| edit[key].as_str().expect("a text").to_owned();
    let path = folder.path().join(text("file_path"));
    let source = fs::read_to_string(&path).expect("the source");
    assert_eq!(source.matches(&text("old_string")).count(), 1, "the edit is unambiguous");
    fs::write(&path, source.replace(&text("old_string"), &text("new_string"))).expect("written");
    let after = test();
    assert!(after.status.success() && String::from_utf8_lossy(&after.stdout).contains("passed"));
}
