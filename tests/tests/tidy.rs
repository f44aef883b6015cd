//! The house rules as a test: who may import whom, first lines, names built once, nothing half done. It prints the largest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every Rust file below the packages, with its path from the root.
fn sources() -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            if path.is_dir() && !matches!(name.as_str(), "target" | ".git") {
                walk(&path, found);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for package in ["proto", "shared", "daemon", "client-cli", "client-tui", "tests"] {
        walk(&root().join(package), &mut found);
    }
    found.sort();
    let relative = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs") || path.ends_with("/world.rs")
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> =
        sources().into_iter().filter(|(path, text)| !is_test(path) && !text.starts_with("//! ")).map(|(path, _)| path).collect();
    assert_eq!(silent, Vec::<String>::new(), "the first line of each file is `//!` and what it is");
}

/// What a package's manifest may name of ours.
const PACKAGES: &[(&str, &[&str])] = &[
    ("shared/types", &[]),
    ("proto", &["agentd-types"]),
    ("daemon/core", &["agentd-types"]),
    ("shared/client", &["agentd-proto", "agentd-types"]),
    ("daemon", &["agentd-core", "agentd-proto", "agentd-types"]),
    ("client-tui", &["agentd-client", "agentd-types"]),
    ("client-cli", &["agentd-client", "agentd-tui", "agentd-types"]),
];

#[test]
fn packages_point_one_way() {
    for (package, allowed) in PACKAGES {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let ours: BTreeSet<&str> =
            manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| name.starts_with("agentd")).collect();
        assert_eq!(ours, allowed.iter().copied().collect(), "{package}");
    }
}

/// What a room of the daemon may import of its neighbours.
const ROOMS: &[(&str, &[&str])] = &[
    ("rpc", &["sessions", "settings", "processes"]),
    ("sessions", &["engine", "store", "permissions", "background", "settings", "files", "tools"]),
    ("background", &["tools"]),
    ("engine", &["models", "tools", "permissions", "files", "settings"]),
    ("tools", &["permissions", "processes", "files"]),
    ("listen", &["rpc", "sessions", "processes", "lock"]),
    ("lock", &["rpc", "sessions", "processes"]),
    ("drain", &["rpc", "sessions", "processes"]),
    ("permissions", &[]),
    ("models", &[]),
    ("files", &[]),
    ("store", &[]),
    ("processes", &[]),
    ("settings", &[]),
];

#[test]
fn rooms_import_what_the_table_says() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(inside) = path.strip_prefix("daemon/src/") else { continue };
        let room = inside.split(['/', '.']).next().unwrap();
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else { continue };
        for (number, line) in text.lines().enumerate() {
            for part in line.split("crate::").skip(1) {
                let named = part.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                let open = named == room || matches!(named, "clock" | "entropy") || allowed.contains(&named);
                if !open && !is_test(&path) && !named.is_empty() {
                    wrong.push(format!("{path}:{} imports {named}", number + 1));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_core_is_pure() {
    let banned = [
        "std::fs",
        "std::env::",
        "std::net",
        "std::process",
        "std::thread",
        "tokio",
        "SystemTime::now",
        "Instant::now",
        "async fn",
        ".await",
    ];
    let mut wrong = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| path.starts_with("daemon/core/src") && !is_test(path)) {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            wrong.extend(banned.iter().filter(|name| line.contains(**name)).map(|name| format!("{path}:{}: {name}", number + 1)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn nothing_is_half_done_and_no_test_sleeps() {
    let todo = ["todo", "!("].concat();
    let sleeps = ["thread::", "sleep"].concat();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            if line.contains(&todo) || line.contains(&["unimplemented", "!("].concat()) || (is_test(&path) && line.contains(&sleeps)) {
                wrong.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Prints the largest files and functions: a prompt to look, not a law.
#[test]
fn the_largest_files_and_functions() {
    let mut files: Vec<(usize, String)> = Vec::new();
    let mut functions: Vec<(usize, String)> = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        files.push((text.lines().count(), path.clone()));
        let mut open: Option<(usize, usize, String)> = None;
        for (number, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let bare = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(super) ").trim_start_matches("pub(crate) ");
            let bare = bare.trim_start_matches("const ").trim_start_matches("async ");
            if open.is_none() && bare.starts_with("fn ") && !line.ends_with(';') {
                let name = bare.split(['(', '<']).next().unwrap().trim_start_matches("fn ");
                open = Some((number, indent, format!("{path} {name}")));
            } else if let Some((start, at, name)) = &open
                && indent == *at
                && line.trim_start().starts_with('}')
            {
                functions.push((number - start + 1, name.clone()));
                open = None;
            }
        }
    }
    files.sort_by(|a, b| b.cmp(a));
    functions.sort_by(|a, b| b.cmp(a));
    assert!(files.len() > 100 && functions.len() > 500, "the walk found too little: {} files, {} functions", files.len(), functions.len());
    let rows =
        |rows: &[(usize, String)]| rows.iter().take(10).map(|(lines, name)| format!("{lines:>5}  {name}")).collect::<Vec<_>>().join("\n");
    let report = format!("largest files\n{}\nlargest functions\n{}\n", rows(&files), rows(&functions));
    std::io::Write::write_all(&mut std::io::stderr(), report.as_bytes()).unwrap();
}
