//! Random batches, stored at a random moment: what may run beside what, and what overtakes nothing.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// What happens next in a random history.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Start,
    /// The running call at this place among the running ones ends.
    End(usize),
    /// The same, but it would ask.
    WouldAsk(usize),
    Store,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        6 => Just(Turn::Start),
        4 => (0..PARALLEL).prop_map(Turn::End),
        1 => (0..PARALLEL).prop_map(Turn::WouldAsk),
        1 => Just(Turn::Store),
    ];
    vec(turn, 0..80)
}

fn manners() -> impl Strategy<Value = Vec<Manner>> {
    vec(select(vec![Manner::Early, Manner::Early, Manner::Beside, Manner::Alone]), 0..30)
}

fn running(batch: &Batch) -> Vec<usize> {
    (0..batch.calls.len()).filter(|at| batch.calls[*at].1 == Progress::Running).collect()
}

fn is_lawful(batch: &Batch, at: usize) {
    let (manner, _) = batch.calls[at];
    assert!(batch.running() < PARALLEL);
    assert!(batch.stage == Stage::Stored || manner == Manner::Early, "{manner:?} started while the model streams");
    for (other, (beside, progress)) in batch.calls.iter().enumerate() {
        match (*beside, *progress) {
            (Manner::Alone, Progress::Running) => panic!("{at} started beside {other}, which runs alone"),
            (Manner::Alone, Progress::Waiting | Progress::Held) => assert!(other >= at, "{at} overtook {other}"),
            (_, Progress::Waiting | Progress::Held | Progress::Running) => {
                assert!(manner != Manner::Alone || other == at || (other > at && *progress != Progress::Running), "{at} overtook {other}");
            }
            (_, Progress::Over) => {}
        }
    }
}

proptest! {
    #[test]
    fn nothing_overtakes_and_every_call_has_its_turn(manners in manners(), turns in turns()) {
        let mut batch = Batch::new(Stage::Streaming);
        manners.iter().for_each(|manner| batch.push(*manner));
        for turn in turns {
            match turn {
                Turn::Start => {
                    if let Some(at) = batch.next() {
                        is_lawful(&batch, at);
                        batch.started(at);
                    }
                }
                Turn::End(nth) => {
                    if let Some(at) = running(&batch).get(nth) {
                        batch.over(*at);
                    }
                }
                Turn::WouldAsk(nth) if batch.stage == Stage::Streaming => {
                    if let Some(at) = running(&batch).get(nth) {
                        batch.held(*at);
                    }
                }
                Turn::WouldAsk(_) => {}
                Turn::Store => batch.stage = Stage::Stored,
            }
        }
        // Whatever happened: stored, it comes to its end.
        batch.stage = Stage::Stored;
        while !batch.is_over() {
            while let Some(at) = batch.next() {
                is_lawful(&batch, at);
                batch.started(at);
            }
            let ended = running(&batch);
            prop_assert!(!ended.is_empty(), "stuck: {:?}", batch);
            ended.into_iter().for_each(|at| batch.over(at));
        }
    }
}

#[test]
fn an_early_one_starts_behind_one_that_must_wait_beside_others_only() {
    let mut batch = Batch::new(Stage::Streaming);
    [Manner::Beside, Manner::Early, Manner::Alone, Manner::Early].into_iter().for_each(|manner| batch.push(manner));
    assert_eq!(batch.next(), Some(1));
    batch.started(1);
    assert_eq!(batch.next(), None);
}
