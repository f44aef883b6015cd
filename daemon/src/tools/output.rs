//! A command's output, bounded: head and tail in memory, all of it (up to a cap) in a file once it is long.

mod decode;

use std::collections::VecDeque;

use agentd_types::AbsPath;
use rustix::fs::OFlags;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;

use self::decode::Decoder;
use super::bash::verdict::Counts;

/// Bytes that come back inline.
const INLINE: usize = 30_000;
/// The same for a failure.
const INLINE_FAILED: usize = 10_000;
/// Bytes of the file.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Bytes of one piece of progress: the newest.
const PROGRESS: usize = 4 * 1024;

/// What is kept.
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    file: Spill,
    /// Text that was not told yet.
    news: String,
    decoder: Decoder,
}

/// The file of a long output.
struct Spill {
    folder: AbsPath,
    path: AbsPath,
    state: SpillState,
}

enum SpillState {
    NotNeeded,
    Open {
        file: File,
        written: u64,
    },
    /// No folder, no room: it costs the file, not the call. Why, for the model.
    Failed {
        why: String,
    },
}

impl Kept {
    /// The file, if one is needed, is named after `call`.
    #[must_use]
    pub fn new(folder: AbsPath, call: &str) -> Kept {
        let name: String = call.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).take(80).collect();
        let path = folder.join(format!("{name}.txt"));
        let file = Spill { folder, path, state: SpillState::NotNeeded };
        Kept { head: Vec::new(), tail: VecDeque::new(), total: 0, file, news: String::new(), decoder: Decoder::default() }
    }

    /// Takes a piece.
    pub async fn take(&mut self, bytes: &[u8]) {
        let opened = matches!(self.file.state, SpillState::Open { .. });
        if opened || self.total + bytes.len() as u64 > INLINE as u64 {
            self.spill().await;
            self.file.write(bytes).await;
        }
        self.total += bytes.len() as u64;
        let room = (INLINE / 2).saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        self.tail.extend(&rest[rest.len().saturating_sub(INLINE / 2)..]);
        let over = self.tail.len().saturating_sub(INLINE / 2);
        self.tail.drain(..over);
        self.news.push_str(&self.decoder.decode(bytes));
        if self.news.len() > PROGRESS {
            let cut = self.news.ceil_char_boundary(self.news.len() - PROGRESS);
            self.news.drain(..cut);
        }
    }

    /// Whether there is text that was not told yet.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// The newest of the text that was not told yet, at most 4 KiB.
    pub fn news(&mut self) -> String {
        std::mem::take(&mut self.news)
    }

    /// Keeps everything in the file from now on, whatever its size; the file.
    pub async fn keep_all(&mut self) -> AbsPath {
        self.spill().await;
        self.file.path.clone()
    }

    /// What was taken can be read in the file.
    pub async fn flush(&mut self) {
        if let SpillState::Open { file, .. } = &mut self.file.state
            && let Err(error) = file.flush().await
        {
            self.file.state = SpillState::Failed { why: error.to_string() };
        }
    }

    /// Opens the file, once, with what memory still has whole.
    async fn spill(&mut self) {
        if let SpillState::NotNeeded = self.file.state {
            self.file.open().await;
            let before: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            self.file.write(&before).await;
        }
    }

    /// What the model gets.
    pub async fn finish(mut self, counts: Counts) -> String {
        let most = match counts {
            Counts::AsSuccess => INLINE,
            Counts::AsFailure => INLINE_FAILED,
        };
        if self.total <= most as u64 {
            let all: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            return shown(&all).trim_end().to_owned();
        }
        // A failure's output may have been short enough for memory, but not for the model.
        self.spill().await;
        let whole = self.file.close(self.total).await;
        let kept: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        let head = decode::whole_end(&kept[..most / 2]);
        let tail = decode::whole_start(&kept[kept.len() - most / 2..]);
        let left_out = self.total - (head.len() + tail.len()) as u64;
        format!("{}\n[… {left_out} bytes left out{whole} …]\n{}", shown(head), shown(tail).trim_end())
    }
}

impl Spill {
    async fn open(&mut self) {
        let opened = async {
            tokio::fs::create_dir_all(self.folder.as_path()).await?;
            // A link of that name would lead the output elsewhere.
            let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
            OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).custom_flags(nofollow).open(self.path.as_path()).await
        };
        self.state = match opened.await {
            Ok(file) => SpillState::Open { file, written: 0 },
            Err(error) => SpillState::Failed { why: error.to_string() },
        };
    }

    async fn write(&mut self, bytes: &[u8]) {
        let SpillState::Open { file, written } = &mut self.state else { return };
        let room = usize::try_from(MAX_FILE.saturating_sub(*written)).unwrap_or(usize::MAX).min(bytes.len());
        if room == 0 {
            return;
        }
        match file.write_all(&bytes[..room]).await {
            Ok(()) => *written += room as u64,
            Err(error) => self.state = SpillState::Failed { why: error.to_string() },
        }
    }

    /// Where the rest is, in words.
    async fn close(&mut self, total: u64) -> String {
        if let SpillState::Open { file, .. } = &mut self.state
            && let Err(error) = file.flush().await
        {
            self.state = SpillState::Failed { why: error.to_string() };
        }
        match &self.state {
            SpillState::NotNeeded => String::new(),
            SpillState::Failed { why } => format!("; {} could not keep them: {why}", self.path),
            SpillState::Open { written, .. } if *written < total => format!("; the first {written} bytes of it are in {}", self.path),
            SpillState::Open { .. } => format!("; all of it is in {}", self.path),
        }
    }
}

/// As text: bytes that are none, zero bytes too, are shown as U+FFFD.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests;
