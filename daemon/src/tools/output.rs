//! A command's output, bounded: head and tail in memory, all of it (up to a cap) in a file once it is long.

use std::collections::VecDeque;

use agentd_types::AbsPath;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// Bytes that come back inline.
const INLINE: usize = 30_000;
/// The same for a failure.
const INLINE_FAILED: usize = 10_000;
/// Bytes of the file.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Bytes of one progress line.
const PROGRESS: usize = 4 * 1024;

/// What is kept.
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    folder: AbsPath,
    path: AbsPath,
    file: Option<File>,
    in_file: u64,
    /// The unfinished character at the end of the last progress piece.
    broken: Vec<u8>,
}

impl Kept {
    /// The file, if one is needed, is named after `call`.
    #[must_use]
    pub fn new(folder: AbsPath, call: &str) -> Kept {
        let name: String = call.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).take(80).collect();
        let path = folder.join(format!("{name}.txt"));
        Kept { head: Vec::new(), tail: VecDeque::new(), total: 0, folder, path, file: None, in_file: 0, broken: Vec::new() }
    }

    /// Takes a piece; its text for a progress line, at most 4 KiB of it.
    pub async fn take(&mut self, bytes: &[u8]) -> String {
        let room = (INLINE / 2).saturating_sub(self.head.len()).min(bytes.len());
        let was = self.total;
        self.total += bytes.len() as u64;
        if self.total > INLINE as u64 {
            self.spill(was, bytes).await;
        }
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        self.tail.extend(&rest[rest.len().saturating_sub(INLINE / 2)..]);
        let over = self.tail.len().saturating_sub(INLINE / 2);
        self.tail.drain(..over);
        self.as_text(&bytes[..bytes.len().min(PROGRESS)])
    }

    /// The first spill writes what memory still has whole.
    async fn spill(&mut self, was: u64, bytes: &[u8]) {
        if self.file.is_none() && was <= INLINE as u64 {
            // A full disk or a read-only folder costs the file, not the call.
            if tokio::fs::create_dir_all(self.folder.as_path()).await.is_ok() {
                self.file = File::create(self.path.as_path()).await.ok();
            }
            let before: Vec<u8> = self.head.iter().copied().chain(self.tail.iter().copied()).collect();
            self.write(&before).await;
        }
        self.write(bytes).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let room = usize::try_from(MAX_FILE.saturating_sub(self.in_file)).unwrap_or(usize::MAX).min(bytes.len());
        if let Some(file) = &mut self.file
            && file.write_all(&bytes[..room]).await.is_ok()
        {
            self.in_file += room as u64;
        }
    }

    /// Whole characters of the piece; a character cut at its end waits for the next one.
    fn as_text(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.broken);
        all.extend_from_slice(bytes);
        if let Err(error) = std::str::from_utf8(&all)
            && error.error_len().is_none()
        {
            self.broken = all.split_off(error.valid_up_to());
        }
        String::from_utf8_lossy(&all).into_owned()
    }

    /// What the model gets.
    pub async fn finish(mut self, succeeded: bool) -> String {
        if let Some(file) = &mut self.file {
            // As above: the file is a convenience.
            let _ = file.flush().await;
        }
        let most = if succeeded { INLINE } else { INLINE_FAILED };
        let kept: Vec<u8> = self.head.iter().copied().chain(self.tail.iter().copied()).collect();
        if self.total <= most as u64 {
            return String::from_utf8_lossy(&kept).trim_end().to_owned();
        }
        let half = most / 2;
        let head = String::from_utf8_lossy(&kept[..half.min(kept.len())]).into_owned();
        let tail = String::from_utf8_lossy(&kept[kept.len() - half.min(kept.len())..]).into_owned();
        let left_out = self.total - 2 * half as u64;
        let whole = match (&self.file, self.in_file < self.total) {
            (None, _) => String::new(),
            (Some(_), false) => format!("; all of it is in {}", self.path),
            (Some(_), true) => format!("; the first {} bytes are in {}", self.in_file, self.path),
        };
        format!("{head}\n[… {left_out} bytes left out{whole} …]\n{}", tail.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use agentd_types::AbsPath;

    use super::Kept;

    #[tokio::test]
    async fn long_output_keeps_head_tail_and_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Kept::new(AbsPath::new(dir.path()).unwrap(), "toolu/1");
        for _ in 0..100 {
            kept.take(&[b'a'; 1000]).await;
        }
        kept.take(b"end").await;
        let text = kept.finish(true).await;
        assert!(text.starts_with("aaa") && text.ends_with("aend"), "{}", &text[text.len() - 10..]);
        assert!(text.contains("70003 bytes left out"));
        assert_eq!(std::fs::read(dir.path().join("toolu_1.txt")).unwrap().len(), 100_003);
    }

    #[tokio::test]
    async fn a_character_cut_between_two_pieces_is_whole_in_the_next() {
        let mut kept = Kept::new(AbsPath::new("/nowhere").unwrap(), "x");
        let euro = "€".as_bytes();
        assert_eq!(kept.take(&euro[..2]).await, "");
        assert_eq!(kept.take(&euro[2..]).await, "€");
        assert_eq!(kept.take(&[0xff, b'a']).await, "\u{fffd}a");
        assert_eq!(kept.finish(true).await, "€\u{fffd}a");
    }
}
