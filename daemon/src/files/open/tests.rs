use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use agentd_types::AbsPath;

use super::{Content, FileError, Place, Target, resolve};
use crate::files::SeenFile;

fn read(path: &AbsPath) -> Result<Content, FileError> {
    super::read(&Place::of(path.clone()))
}

fn replace(path: &AbsPath, bytes: &[u8], known: Target) -> Result<SeenFile, FileError> {
    super::replace(&Place::of(path.clone()), bytes, known)
}

fn folder() -> (tempfile::TempDir, AbsPath) {
    let folder = tempfile::tempdir().unwrap();
    let path = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
    (folder, path)
}

#[test]
fn only_regular_files_are_read_and_a_pipe_does_not_hang() {
    let (_keep, folder) = folder();
    let pipe = folder.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, pipe.as_path(), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(read(&pipe), Err(FileError::Special(_))));
    assert!(matches!(read(&folder), Err(FileError::Folder(_))));
    assert!(matches!(read(&AbsPath::new("/dev/null").unwrap()), Err(FileError::Special(_))));
}

#[test]
fn a_missing_file_names_near_ones() {
    let (_keep, folder) = folder();
    fs::write(folder.join("Notes.md"), "x").unwrap();
    let error = read(&folder.join("notes.txt")).unwrap_err().to_string();
    assert!(error.ends_with("does not exist; did you mean Notes.md?"), "{error}");
}

#[test]
fn replacing_keeps_mode_and_link_and_leaves_nothing_behind() {
    let (_keep, folder) = folder();
    let (file, link) = (folder.join("file"), folder.join("link"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("file", &link).unwrap();
    let before = read(&link).unwrap();
    let seen = replace(&link, b"new", Target::Existing(before.standing)).unwrap();
    assert_eq!(seen, read(&link).unwrap().seen);
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o751);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_file_that_became_another_or_is_read_only_is_left_alone() {
    let (_keep, folder) = folder();
    let file = folder.join("file");
    fs::write(&file, "old").unwrap();
    let before = read(&file).unwrap();
    fs::write(&file, "somebody else's").unwrap();
    assert!(matches!(replace(&file, b"new", Target::Existing(before.standing)), Err(FileError::Changed(_))));
    assert_eq!(fs::read(&file).unwrap(), b"somebody else's");
    let before = read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(replace(&file, b"new", Target::Existing(before.standing)).is_err());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    // Nothing is read-only to root.
    if !rustix::process::geteuid().is_root() {
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let before = read(&file).unwrap();
        assert!(matches!(replace(&file, b"new", Target::Existing(before.standing)), Err(FileError::ReadOnly(_))));
    }
}

#[test]
fn a_new_file_does_not_replace_one_that_came_meanwhile() {
    let (_keep, folder) = folder();
    let file = folder.join("a/b/file");
    replace(&file, b"one", Target::New).unwrap();
    assert!(replace(&file, b"two", Target::New).is_err());
    assert_eq!(fs::read(&file).unwrap(), b"one");
}

#[test]
fn links_are_resolved_even_where_nothing_is_yet() {
    let (_keep, folder) = folder();
    fs::create_dir(folder.join("real")).unwrap();
    symlink("real", folder.join("there")).unwrap();
    symlink("real/new", folder.join("dangling")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    assert_eq!(resolve(&folder.join("there/x/y")), folder.join("real/x/y"));
    assert_eq!(resolve(&folder.join("dangling")), folder.join("real/new"));
    assert_eq!(resolve(&folder.join("loop")), folder.join("loop"));
    replace(&folder.join("dangling"), b"x", Target::New).unwrap();
    assert_eq!(fs::read(folder.join("real/new")).unwrap(), b"x");
}

#[test]
fn a_link_put_in_the_way_after_the_look_leads_nowhere() {
    let (_keep, folder) = folder();
    let (inside, outside) = (folder.join("inside"), folder.join("outside"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(inside.join("file"), "mine").unwrap();
    fs::write(outside.join("file"), "yours").unwrap();
    let (there, new) = (Place::of(inside.join("file")), Place::of(inside.join("a/b")));
    let before = super::read(&there).unwrap();
    fs::rename(&inside, folder.join("moved")).unwrap();
    symlink("outside", &inside).unwrap();
    assert!(matches!(super::read(&there), Err(FileError::Moved(_))));
    assert!(matches!(super::replace(&there, b"x", Target::Existing(before.standing)), Err(FileError::Moved(_))));
    assert!(matches!(super::replace(&new, b"x", Target::New), Err(FileError::Moved(_))));
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"yours");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    // The file itself.
    let there = Place::of(outside.join("file"));
    fs::rename(outside.join("file"), outside.join("old")).unwrap();
    symlink("old", outside.join("file")).unwrap();
    assert!(matches!(super::read(&there), Err(FileError::Moved(_))));
    assert!(super::replace(&there, b"x", Target::Existing(before.standing)).is_err());
    assert_eq!(fs::read(outside.join("old")).unwrap(), b"yours");
}

#[test]
fn a_socket_is_named_and_proc_is_read() {
    let (_keep, folder) = folder();
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    assert!(matches!(read(&folder.join("socket")), Err(FileError::Special(_))));
    let status = read(&AbsPath::new("/proc/self/status").unwrap()).unwrap();
    assert!(status.seen.len > 0 && status.bytes.starts_with(b"Name:"));
}
