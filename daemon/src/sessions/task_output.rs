//! A task's output for clients, by pieces. It never waits for more.

use agentd_types::task::Task;

use crate::files::pieces;

/// At most `most` bytes of what `task` printed, from `offset`; none at the end.
///
/// # Errors
/// Why it cannot be read, for people.
pub async fn piece(task: &Task, offset: u64, most: u64) -> Result<Vec<u8>, String> {
    pieces::piece(&task.start.output_file, offset, most).await
}
