use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agentd_types::{AbsPath, SessionId};

use super::{Moved, environment, moved};
use crate::files::ReadCache;
use crate::tools::tool::ToolContext;

fn context(cwd: &Path, allowed: &[&Path], environment: &[(&str, &str)]) -> ToolContext {
    let abs = |path: &Path| AbsPath::new(path).unwrap();
    ToolContext {
        session: SessionId::from_u128(1),
        cwd: abs(cwd),
        allowed: allowed.iter().map(|path| abs(path)).collect(),
        environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        outputs: abs(Path::new("/nowhere")),
        read_cache: ReadCache::default(),
    }
}

#[test]
fn folders_are_told_apart_behind_links_and_keep_the_sessions_names() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir_all(base.join("real/sub")).unwrap();
    fs::create_dir(base.join("other")).unwrap();
    symlink(base.join("real"), base.join("link")).unwrap();
    let link = base.join("link");
    let context = context(&link, &[&link], &[]);
    assert_eq!(moved(&base.join("real"), &context), Moved::No);
    assert_eq!(moved(&base.join("real/sub"), &context), Moved::To(AbsPath::new(link.join("sub")).unwrap()));
    assert_eq!(moved(&base.join("other"), &context), Moved::Outside);
    assert_eq!(moved(&base.join("real2"), &context), Moved::Outside);
    // Said by a tool, but not there.
    assert_eq!(moved(&base.join("real/gone"), &context), Moved::Outside);
    assert_eq!(moved(Path::new("real/sub"), &context), Moved::Outside);
}

#[test]
fn going_back_to_an_allowed_folder_names_it_as_the_session_does() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(base.join("sub")).unwrap();
    assert_eq!(moved(&base, &context(&base.join("sub"), &[&base], &[])), Moved::To(AbsPath::new(&base).unwrap()));
}

#[test]
fn the_shells_folder_is_the_sessions_not_the_clients() {
    let environment = environment(&context(Path::new("/work"), &[], &[("PATH", "/bin"), ("PWD", "/elsewhere"), ("OLDPWD", "/old")]));
    let pairs: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(pairs, [("PATH", "/bin"), ("PWD", "/work")]);
}
