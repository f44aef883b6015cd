//! What daemon and shim tell each other: one JSON line a message. It never carries output.

use serde::{Deserialize, Serialize};

/// What a shim is told at its start; afterwards any byte, or the end of the pipe, means: end the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub program: String,
    pub args: Vec<String>,
    pub cwd: String,
    pub environment: Vec<(String, String)>,
    /// The folder of the shims' lock files.
    pub locks: String,
}

/// What a shim reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The direct child runs.
    Started { pid: u32 },
    /// It could not be started.
    Failed { why: String },
    /// The direct child has ended; who of its tree still runs.
    Exited { status: Status, survivors: Vec<u32> },
    /// Nobody of the tree is left.
    Gone,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Code(i32),
    Signal(i32),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Report, Status};

    #[test]
    fn reports_survive_the_pipe() {
        let report = Report::Exited { status: Status::Signal(9), survivors: vec![1, 2] };
        let line = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), report);
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in "\\PC{0,80}") {
            let _ = serde_json::from_str::<Report>(&line);
        }
    }
}
