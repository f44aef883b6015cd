//! The project is the one the daemon's script works on, and its test fails.

use std::process::Command;

use super::*;

#[test]
fn the_files_are_those_of_the_script() {
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../daemon/src/models/rehearsal/tour");
    for (name, content) in FILES {
        assert_eq!(std::fs::read_to_string(theirs.join(name)).expect(name), content, "{name}");
    }
}

#[test]
fn the_project_fails_its_test_and_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    lay_down(folder.path()).expect("written");
    assert!(lay_down(folder.path()).is_err());
    let test = Command::new("sh").arg("test.sh").current_dir(folder.path()).output().expect("sh");
    assert_eq!(test.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&test.stdout).starts_with("FAILED: "), "{test:?}");
}
