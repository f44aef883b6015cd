//! What nothing can be faster than on this machine, measured in the same run.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use crate::row::Samples;

/// One append of 500 bytes and fdatasync, in ms, beside the daemon's own data.
pub fn synced_append(dir: &Path) -> anyhow::Result<f64> {
    let mut file = File::create(dir.join("floor"))?;
    // Preallocated, as the journal's segments are.
    file.write_all(&vec![0; 1 << 20])?;
    file.sync_all()?;
    std::io::Seek::rewind(&mut file)?;
    let mut samples = Vec::new();
    for _ in 0..300 {
        let since = Instant::now();
        file.write_all(&[7; 500])?;
        file.sync_data()?;
        samples.push(ms(since));
    }
    Ok(Samples::new(samples).median())
}

/// `count` messages of `bytes` bytes over a bare socket pair, in ms.
pub fn raw_stream(count: usize, bytes: usize) -> anyhow::Result<f64> {
    let (mut from, mut to) = UnixStream::pair()?;
    let since = Instant::now();
    let writer = std::thread::spawn(move || -> std::io::Result<()> {
        let message = vec![7; bytes];
        (0..count).try_for_each(|_| from.write_all(&message))
    });
    let mut left = count * bytes;
    let mut buffer = vec![0; 64 * 1024];
    while left > 0 {
        left -= to.read(&mut buffer)?;
    }
    writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    Ok(ms(since))
}

/// A process that does nothing, in ms.
pub fn empty_process() -> anyhow::Result<f64> {
    let mut samples = Vec::new();
    for _ in 0..50 {
        let since = Instant::now();
        std::process::Command::new("/bin/true").status()?;
        samples.push(ms(since));
    }
    Ok(Samples::new(samples).median())
}

pub fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}
