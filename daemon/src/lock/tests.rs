//! One holder at a time, in a folder nobody else can write.

use std::os::unix::fs::PermissionsExt;

use agentd_types::AbsPath;

use super::{Lock, LockError, Standing, standing};

fn socket(folder: &tempfile::TempDir) -> AbsPath {
    AbsPath::new(folder.path().join("run/agentd.sock")).unwrap()
}

#[test]
fn the_folder_is_made_for_us_alone() {
    let folder = tempfile::tempdir().unwrap();
    let lock = Lock::take(&socket(&folder)).unwrap();
    assert_eq!(lock.socket(), &socket(&folder));
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run"), mode("run/agentd.sock.lock")), (0o700, 0o600));
}

#[test]
fn a_second_daemon_is_told_the_pid_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = Lock::take(&socket(&folder)).unwrap();
    let error = Lock::take(&socket(&folder)).unwrap_err();
    let said = format!("already running, pid {} (socket {})", std::process::id(), socket(&folder));
    assert_eq!(error.to_string(), said);

    drop(first);
    Lock::take(&socket(&folder)).unwrap();
}

#[test]
fn a_holder_that_wrote_no_pid_is_still_a_holder() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Lock::take(&socket(&folder)).unwrap();
    let path = folder.path().join("run/agentd.sock.lock");
    std::fs::write(&path, "12").unwrap();
    assert!(matches!(Lock::take(&socket(&folder)), Err(LockError::HeldByUnknown { .. })));
}

#[test]
fn a_link_in_place_of_the_lock_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(Lock::take(&socket(&folder)).unwrap());
    let path = folder.path().join("run/agentd.sock.lock");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(matches!(Lock::take(&socket(&folder)), Err(LockError::File { .. })));
}

#[test]
fn a_folder_that_others_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(Lock::take(&socket(&folder)).unwrap());
    std::fs::set_permissions(folder.path().join("run"), PermissionsExt::from_mode(0o777)).unwrap();
    let error = Lock::take(&socket(&folder)).unwrap_err();
    assert!(error.to_string().contains("others may write in it (mode 777); chmod 700 it"), "{error}");
}

#[test]
fn whose_folder_it_is_decides() {
    assert_eq!(standing(1000, 0o40700, 1000), Standing::Private);
    assert_eq!(standing(1000, 0o40755, 1000), Standing::Private);
    assert_eq!(standing(0, 0o41777, 1000), Standing::Shared);
    assert_eq!(standing(0, 0o41777, 0), Standing::Shared);
    assert!(matches!(standing(1000, 0o40777, 1000), Standing::Unsafe(_)));
    assert!(matches!(standing(1001, 0o40700, 1000), Standing::Unsafe(_)));
    assert!(matches!(standing(1001, 0o41777, 1000), Standing::Unsafe(_)));
    assert!(matches!(standing(0, 0o40755, 1000), Standing::Unsafe(_)));
}
