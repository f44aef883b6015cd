//! What every conversation shares: models, tools, clock, ids. Values and handles only, no state of a session.

use std::sync::Arc;

use agentd_core::tools::ToolSpec;
use agentd_types::config::Settings;
use agentd_types::{AbsPath, Timestamp};

use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::models::Models;
use crate::settings::Folders;
use crate::tools::registry::ToolRegistry;
use crate::tools::survey::Survey;

/// The engine's equipment.
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
}

/// The day of `now` in the machine's time zone, `2026-12-01`.
#[must_use]
pub fn day(now: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned_datetime(jiff::tz::TimeZone::system()).date().to_string()
}
