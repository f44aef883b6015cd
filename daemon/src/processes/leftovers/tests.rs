use std::fs;

use agentd_types::AbsPath;

use super::{Leftovers, end_leftovers};
use crate::processes::message::{Holder, line};
use crate::processes::proc::{self, Process};

#[tokio::test]
async fn without_a_folder_there_is_nothing_to_do() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(end_leftovers(&AbsPath::new(dir.path()).unwrap()).await, Leftovers::default());
}

/// Were one of these files believed, this test's own process would be sent KILL.
#[tokio::test]
async fn stale_files_are_removed_and_nobody_is_mistaken_for_a_shim() {
    let dir = tempfile::tempdir().unwrap();
    let shims = dir.path().join("shims");
    fs::create_dir(&shims).unwrap();
    let me = Process::find(std::process::id()).unwrap();
    let pid = me.pid.to_string();
    let runtime_dir = AbsPath::new(dir.path()).unwrap();
    let another_boot = line(&Holder { boot: "another".into(), started: me.started }).unwrap();
    let another_start = line(&Holder { boot: proc::boot(), started: me.started.wrapping_sub(1) }).unwrap();
    for content in [another_boot, another_start, Vec::new(), b"{".to_vec(), vec![b'x'; 100_000]] {
        fs::write(shims.join(&pid), content).unwrap();
        let done = end_leftovers(&runtime_dir).await;
        assert_eq!(done, Leftovers { stale: vec![me.pid], ..Leftovers::default() });
        assert!(!shims.join(&pid).exists());
    }
}

#[tokio::test]
async fn other_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let shims = dir.path().join("shims");
    fs::create_dir(&shims).unwrap();
    fs::write(shims.join("notes"), "mine").unwrap();
    assert_eq!(end_leftovers(&AbsPath::new(dir.path()).unwrap()).await, Leftovers::default());
    assert!(shims.join("notes").exists());
}
