//! The budgets, measured on the real binaries: each row beside a floor of the same run. It judges nothing: machines are noisy.
//!
//! `cargo build --release && cargo bench -p agentd-tests --bench budgets`

mod floor;
mod process;
mod row;
mod session;

use agentd_tests::program::World;
use row::{Row, print};

fn main() -> anyhow::Result<()> {
    let world = World::new(None);
    process::start(&world)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut rows: Vec<Row> = Vec::new();
    rows.push(process::memory_alone(&world)?);
    rows.extend(process::one_shot(&world)?);
    rows.push(process::version(&world)?);
    rows.push(process::list(&world)?);
    rows.push(process::cold_start()?);
    runtime.block_on(async {
        rows.extend(session::submits(&world).await?);
        rows.extend(session::rounds(&world, 100).await?);
        rows.extend(session::rounds(&world, 1_000).await?);
        rows.extend(session::deltas(&world).await?);
        rows.extend(session::resume(&world).await?);
        anyhow::Ok(())
    })?;
    rows.push(process::memory_after(&world)?);
    print(&rows);
    Ok(())
}
