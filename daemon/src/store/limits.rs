//! Every bound of the store in one place. It never reads settings: the numbers are handed in or are the defaults here.

use std::time::Duration;

/// The store's bounds. Tests and the simulation use small ones; the daemon uses the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A segment's length in bytes; one batch that does not fit gets a segment of its own size.
    pub segment: u32,
    /// A segment grows by this many zero bytes at a time.
    pub chunk: u32,
    /// The largest batch, in bytes on disk.
    pub batch: u32,
    /// An event of more bytes goes into a file of its own.
    pub blob: usize,
    /// At most this many batches share one write.
    pub group_batches: usize,
    /// Gathering stops once a group holds this many bytes; the batch that crosses the line still belongs to it.
    pub group_bytes: usize,
    /// Room of the input queue, in units of [`QUEUE_UNIT`] bytes; every batch takes at least one.
    pub queue_units: u32,
    /// Bytes of recently committed events kept in memory, over all sessions.
    pub cache: usize,
    /// A written batch is synced at the latest this long after its write.
    pub written: Duration,
    /// After this long without anything new, an idle mark is written.
    pub idle: Duration,
    /// Full segments that start a checkpoint.
    pub full_segments: usize,
    /// Segments there are at most; with more to write, appends wait for a checkpoint.
    pub segments: usize,
    /// After this long without anything new, a checkpoint brings everything behind the journal.
    pub settle: Duration,
    /// How long applier and checkpoint wait after a failure before they try again.
    pub retry: Duration,
    /// The applier lets records gather for so long, unless somebody waits for them or a batch is full.
    pub gather: Duration,
    /// At most this many records share one batch of the database.
    pub apply_records: usize,
    /// A batch of the database is closed once it holds this many bytes.
    pub apply_bytes: usize,
}

/// Bytes one unit of queue room stands for.
pub const QUEUE_UNIT: usize = 16 * 1024;

/// How long an append waits for a checkpoint to make room.
pub const ROOM_PATIENCE: Duration = Duration::from_secs(30);

/// How long a list waits for what was acknowledged to be in the index.
pub const INDEX_PATIENCE: Duration = Duration::from_secs(10);

/// How long a read waits for its session, or the database, to be restored.
pub const RESTORE_PATIENCE: Duration = Duration::from_secs(60);

/// How long the last checkpoint of a clean stop may copy; the next start goes on with the rest.
pub const LAST_CHECKPOINT: Duration = Duration::from_secs(5);

/// How long readers may hold a database that is to be exchanged.
pub const EXCHANGE_PATIENCE: Duration = Duration::from_secs(10);

/// A session written anew goes into the database in batches of about this many bytes.
pub const REWRITE_BYTES: usize = 1024 * 1024;

/// Keys removed with one batch.
pub const REMOVE_KEYS: usize = 4096;

/// Deleted sessions of this run whose ids are remembered, so that late entries are told why they are refused.
pub const REMEMBERED_DELETIONS: usize = 1024;

/// Ends of sessions the commit thread remembers; beyond, it asks.
pub const REMEMBERED_ENDS: usize = 4096;

/// Things that happened which a status tells; older ones are in the log.
pub const TOLD: usize = 64;

/// At most this many records make one page of a read.
pub const PAGE_RECORDS: usize = 4096;

/// Neighbouring records are fetched with one read up to this many bytes.
pub const READ_SPAN: u32 = 256 * 1024;

/// Foreign records of at most this many bytes between two wanted ones are read along.
pub const READ_GAP: u32 = 4 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            segment: 8 * 1024 * 1024,
            chunk: 256 * 1024,
            batch: 64 * 1024 * 1024,
            blob: 64 * 1024,
            group_batches: 1024,
            group_bytes: 4 * 1024 * 1024,
            queue_units: 4096,
            cache: 4 * 1024 * 1024,
            written: Duration::from_secs(1),
            idle: Duration::from_secs(1),
            full_segments: 1,
            segments: 8,
            settle: Duration::from_secs(5),
            retry: Duration::from_secs(1),
            gather: Duration::from_millis(20),
            apply_records: 256,
            apply_bytes: 1024 * 1024,
        }
    }
}
