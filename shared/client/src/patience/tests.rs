//! Waits grow and come to an end.

use super::*;

#[tokio::test(start_paused = true)]
async fn waits_grow_and_end() {
    let mut patience = Patience::new();
    let mut waits = Vec::new();
    loop {
        let before = Instant::now();
        if patience.wait().await == Again::GiveUp {
            break;
        }
        waits.push(before.elapsed());
    }
    assert_eq!(waits[..4], [20, 40, 80, 160].map(Duration::from_millis));
    assert!(waits.iter().all(|wait| *wait <= LONGEST_PAUSE), "{waits:?}");
    let all: Duration = waits.iter().sum();
    assert!(all > GIVE_UP && all <= GIVE_UP + LONGEST_PAUSE, "{all:?}");
}
