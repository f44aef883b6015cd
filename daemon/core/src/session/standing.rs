//! What a `loop_state` record holds beside its name: the loop's state and what the round learnt of files.

use agentd_types::{AbsPath, Json};
use serde::{Deserialize, Serialize};

use crate::query::LoopState;

/// Where a submission stands; enough to go on after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    #[serde(rename = "loop")]
    pub state: LoopState,
    /// Files read or written since the last record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFact>,
    /// Where tools are now, if that changed since the last record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<AbsPath>,
}

/// A file's state when it was last read or written here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFact {
    pub path: AbsPath,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
    pub len: u64,
    pub crc: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
}

impl Standing {
    /// As it goes into the log. A state is plain data: it always has a JSON form.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::of(self).unwrap_or_else(|_| Json::empty_object())
    }

    /// Reads a record back; one that a newer version wrote otherwise is as none.
    #[must_use]
    pub fn read(json: &Json) -> Option<Standing> {
        json.read().ok()
    }
}
