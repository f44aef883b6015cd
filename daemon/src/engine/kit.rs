//! What every conversation shares: models, tools, clock, ids. Values and handles only, no state of a session.

use std::sync::Arc;

use agentd_core::tools::ToolSpec;
use agentd_types::config::Settings;
use agentd_types::{AbsPath, SessionId, Timestamp};

use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::models::Models;
use crate::settings::Folders;
use crate::tools::bash::survivors::Survivors;
use crate::tools::registry::ToolRegistry;
use crate::tools::survey::Survey;

/// The engine's equipment.
#[derive(Clone)]
pub struct Kit {
    pub models: Arc<Models>,
    pub tools: ToolRegistry,
    pub specs: Arc<[ToolSpec]>,
    pub settings: Settings,
    pub survey: Survey,
    /// The user's own rules of single folders.
    pub folders: Folders,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Where sessions keep files of their own.
    pub data_dir: AbsPath,
    /// The user's home, for path rules and the dangerous class.
    pub home: Option<AbsPath>,
    /// The daemon's own folders: never touched by a tool without a question.
    pub protected: Vec<AbsPath>,
    /// What commands left running, by session.
    pub survivors: Survivors,
}

impl Kit {
    /// The same with other tools.
    #[must_use]
    pub fn with_tools(&self, tools: ToolRegistry) -> Kit {
        Kit { specs: tools.specs(), tools, ..self.clone() }
    }

    /// Where a session keeps files of its own.
    #[must_use]
    pub fn folder_of(&self, session: SessionId) -> AbsPath {
        self.data_dir.join("sessions").join(session.to_string())
    }

    /// Ends what a deleted session left running, and removes its files.
    pub async fn forget(&self, session: SessionId) {
        self.survivors.end(session).await;
        let folder = self.folder_of(session);
        if std::fs::symlink_metadata(folder.as_path()).is_err() {
            return;
        }
        let removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(folder.as_path())).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%session, %error, "the files of a deleted session could not be removed");
        }
    }
}

/// The day of `now` in the machine's time zone, `2026-12-01`.
#[must_use]
pub fn day(now: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned_datetime(jiff::tz::TimeZone::system()).date().to_string()
}
