//! Where socket, store and settings live, from a given environment; it never looks at the disk.

use std::path::PathBuf;

use crate::AbsPath;

/// The environment as a value, so that tests and the shim can hand in their own.
pub trait Vars {
    /// The variable's value; absent and empty are the same.
    fn var(&self, name: &str) -> Option<String>;
}

/// What overrides the environment: the command line.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub socket: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    pub config_file: Option<PathBuf>,
}

/// The daemon's places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub socket: AbsPath,
    pub data_dir: AbsPath,
    /// The user's settings file.
    pub settings: AbsPath,
}

/// Why no layout could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error("neither HOME nor {0} is set: set {0}")]
    NoHome(&'static str),
    #[error("{0} must be an absolute path, not `{1}`")]
    Relative(&'static str, String),
}

/// The lock file of the daemon that serves `socket`: `<socket>.lock`.
#[must_use]
pub fn lock_of(socket: &AbsPath) -> PathBuf {
    let mut name = socket.as_path().as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

impl Layout {
    /// Command line over `AGENT_*` over the XDG folders over fixed places below the home (the runtime folder: `/tmp/agentd-UID`).
    ///
    /// # Errors
    /// When no home is known, or a given path is relative.
    pub fn find(overrides: &Overrides, vars: &impl Vars, uid: u32) -> Result<Layout, LayoutError> {
        let home = vars.var("HOME");
        let below_home = |tail: &str, instead: &'static str| {
            home.as_ref().map(|home| PathBuf::from(home).join(tail)).ok_or(LayoutError::NoHome(instead))
        };
        let socket = match (&overrides.socket, vars.var("AGENT_SOCKET"), vars.var("XDG_RUNTIME_DIR")) {
            (Some(given), _, _) => given.clone(),
            (None, Some(given), _) => PathBuf::from(given),
            (None, None, Some(runtime)) => PathBuf::from(runtime).join("agentd/agentd.sock"),
            (None, None, None) => PathBuf::from(format!("/tmp/agentd-{uid}/agentd.sock")),
        };
        let data_dir = match (&overrides.data_dir, vars.var("AGENT_DATA_DIR"), vars.var("XDG_DATA_HOME")) {
            (Some(given), _, _) => given.clone(),
            (None, Some(given), _) => PathBuf::from(given),
            (None, None, Some(data)) => PathBuf::from(data).join("agentd"),
            (None, None, None) => below_home(".local/share/agentd", "AGENT_DATA_DIR")?,
        };
        let settings = match (&overrides.config_file, vars.var("AGENT_CONFIG_DIR"), vars.var("XDG_CONFIG_HOME")) {
            (Some(given), _, _) => given.clone(),
            (None, Some(given), _) => PathBuf::from(given).join("settings.json"),
            (None, None, Some(config)) => PathBuf::from(config).join("agent/settings.json"),
            (None, None, None) => below_home(".config/agent/settings.json", "AGENT_CONFIG_DIR")?,
        };
        let absolute = |what, path: PathBuf| AbsPath::new(path).map_err(|error| LayoutError::Relative(what, error.0.display().to_string()));
        Ok(Layout {
            socket: absolute("the socket", socket)?,
            data_dir: absolute("the data folder", data_dir)?,
            settings: absolute("the settings file", settings)?,
        })
    }
}
