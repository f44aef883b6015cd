//! The user's own rules of single folders: `folders.json` beside the settings. One task writes it; everyone else sees what it holds.
//! It never writes into a folder it speaks of.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentd_types::AbsPath;
use agentd_types::config::Settings;
use agentd_types::rule::Rule;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use super::files::{self, SettingsError};

/// Rules on their way into the file.
const WAITING: usize = 64;
/// Rules of one folder at most.
const MAX_RULES: usize = 10_000;

/// What the file holds.
type Book = BTreeMap<String, Vec<Rule>>;

/// A handle: cheap to clone.
#[derive(Clone)]
pub struct Folders {
    path: Arc<Path>,
    known: watch::Receiver<Arc<Book>>,
    writer: mpsc::Sender<Addition>,
}

struct Addition {
    folder: AbsPath,
    rule: Rule,
    done: oneshot::Sender<Result<(), String>>,
}

impl Folders {
    /// Reads `folders.json` beside `settings` and starts the task that writes it. Blocks; needs a runtime.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or holds a mistake.
    pub fn open(settings: &Path) -> Result<Folders, SettingsError> {
        let path: Arc<Path> = settings.with_file_name("folders.json").into();
        let (told, known) = watch::channel(Arc::new(book(&path)?));
        let (writer, additions) = mpsc::channel(WAITING);
        tokio::spawn(write(Arc::clone(&path), additions, told));
        Ok(Folders { path, known, writer })
    }

    /// Allow rules of sessions in `folder`: of it alone, not of those above.
    #[must_use]
    pub fn allowed(&self, folder: &AbsPath) -> Vec<Rule> {
        self.known.borrow().get(&folder.to_string()).cloned().unwrap_or_default()
    }

    /// Adds an allow rule. Returns when it is on disk and in force.
    ///
    /// # Errors
    /// Why it could not be kept, naming the file.
    pub async fn allow(&self, folder: AbsPath, rule: Rule) -> Result<(), String> {
        let (done, result) = oneshot::channel();
        let gone = || format!("{}: nobody writes it any more", self.path.display());
        self.writer.send(Addition { folder, rule, done }).await.map_err(|_| gone())?;
        result.await.unwrap_or_else(|_| Err(gone()))
    }
}

async fn write(path: Arc<Path>, mut additions: mpsc::Receiver<Addition>, told: watch::Sender<Arc<Book>>) {
    while let Some(Addition { folder, rule, done }) = additions.recv().await {
        let at = Arc::clone(&path);
        let added = tokio::task::spawn_blocking(move || add(&at, &folder, &rule)).await;
        let result = match added {
            Ok(Ok(book)) => {
                told.send_replace(Arc::new(book));
                Ok(())
            }
            Ok(Err(why)) => Err(why),
            Err(error) => Err(format!("{}: {error}", path.display())),
        };
        // The one who asked may have gone.
        let _ = done.send(result);
    }
}

/// The file as it is now, with the rule: what was written by hand meanwhile stays.
fn add(path: &Path, folder: &AbsPath, rule: &Rule) -> Result<Book, String> {
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    // What cannot be read is not written over.
    let book = book(path).map_err(|error| error.to_string())?;
    let rules = book.get(&folder.to_string());
    if rules.is_some_and(|rules| rules.contains(rule)) {
        return Ok(book);
    }
    if rules.map_or(0, Vec::len) >= MAX_RULES {
        return Err(named(&format!("the folder {folder} has {MAX_RULES} rules already")));
    }
    let mut all = match files::text(path).map_err(|error| error.to_string())? {
        Some(text) => serde_json::from_str::<Value>(&text).map_err(|error| named(&error))?,
        None => json!({}),
    };
    let allow = &mut all[folder.to_string()]["permissions"]["allow"];
    match allow {
        Value::Array(rules) => rules.push(json!(rule.to_string())),
        other => *other = json!([rule.to_string()]),
    }
    let text = serde_json::to_string_pretty(&all).map_err(|error| named(&error))? + "\n";
    replace(path, &text).map_err(|error| named(&error))?;
    self::book(path).map_err(|error| error.to_string())
}

/// Whole or not at all, and only for its owner.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let beside: PathBuf = path.with_extension("json.new");
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    std::fs::File::open(folder)?.sync_all()
}

/// Each folder's allow rules.
fn book(path: &Path) -> Result<Book, SettingsError> {
    let Some(text) = files::text(path)? else { return Ok(Book::new()) };
    let folders: BTreeMap<String, Settings> = files::typed(path, &text)?;
    Ok(folders.into_iter().map(|(folder, settings)| (folder, settings.permissions.allow)).collect())
}

#[cfg(test)]
mod tests;
