//! Random batches of fake tools, discarded, stored and cancelled at random moments of a paused clock.

mod fakes;

use std::time::Duration;

use agentd_core::query::{Cut, ToolEnd};
use proptest::collection::vec;
use proptest::prelude::*;

use self::fakes::{Ends, Plan, Seen, Trial, block, plan};
use super::*;

/// What a random history is made of.
#[derive(Debug, Clone)]
struct History {
    plans: Vec<Plan>,
    /// Calls offered before the message is stored, and how long that takes.
    offered: usize,
    streams_ms: u64,
    cancelled_at_ms: Option<u64>,
}

fn history() -> impl Strategy<Value = History> {
    (vec(plan(), 0..16), 0..16usize, 0..30u64, proptest::option::of(0..120u64))
        .prop_map(|(plans, offered, streams_ms, cancelled_at_ms)| History { plans, offered, streams_ms, cancelled_at_ms })
}

/// Plays it; the trial has seen everything then.
async fn play(history: &History) -> (Trial, Observed<ToolRun>) {
    let mut trial = Trial::new(&history.plans);
    let run = trial
        .with_executor(async |executor, trial| {
            for call in trial.calls.iter().take(history.offered) {
                executor.offer(call.clone());
            }
            let streams = tokio::time::sleep(Duration::from_millis(history.streams_ms));
            tokio::pin!(streams);
            loop {
                tokio::select! {
                    biased;
                    () = &mut streams => break,
                    () = executor.work() => {}
                }
            }
            trial.note(Seen::Stored);
            let cancel = trial.cancel.clone();
            let canceller = async {
                if let Some(ms) = history.cancelled_at_ms {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    cancel.cancel();
                }
                std::future::pending::<()>().await;
            };
            let mut results = trial.sink();
            tokio::select! {
                biased;
                run = executor.finish(trial.calls.clone(), &mut results) => run,
                () = canceller => unreachable!("it goes on for ever"),
            }
        })
        .await;
    trial.settle();
    (trial, run)
}

fn check(history: &History, trial: &Trial, run: &Observed<ToolRun>) {
    let seen = &trial.seen;
    let stored = seen.iter().position(|it| *it == Seen::Stored).expect("it was stored");
    let started = |call: usize| seen.iter().position(|it| *it == Seen::Started(call));
    let ended = |call: usize| seen.iter().position(|it| *it == Seen::Ended(call));

    // Each call has exactly one result, or stays open; results are in order.
    let mut answered: Vec<usize> = trial.results.iter().map(|(call, _)| *call).collect();
    let never_open: Vec<usize> = answered.iter().copied().filter(|call| !history.plans[*call].may_stay_open(*call)).collect();
    assert!(never_open.is_sorted(), "out of order: {answered:?}");
    let open = match run {
        Ok(ToolRun { end: ToolEnd::Open(open), .. }) => open.0.iter().map(|id| trial.place(id)).collect(),
        Ok(_) | Err(_) => Vec::new(),
    };
    answered.extend(open);
    answered.sort_unstable();
    let mut missing: Vec<usize> = (0..history.plans.len()).collect();
    missing.retain(|call| !answered.contains(call));
    assert!(answered.is_sorted_by(|a, b| a < b), "twice: {answered:?}");
    assert_eq!(missing, Vec::<usize>::new());
    assert_eq!(*run == Err(Cut::Interrupted), trial.cancel.is_cancelled());

    let mut running: Vec<usize> = Vec::new();
    for (at, it) in seen.iter().enumerate() {
        match it {
            Seen::Started(call) => {
                let plan = &history.plans[*call];
                assert!(at > stored || plan.may_start_early(), "{call} started while the model streamed");
                assert!(plan.is_safe() || running.is_empty(), "{call} started beside {running:?}");
                assert!(running.iter().all(|other| history.plans[*other].is_safe()), "{call} started beside {running:?}");
                for before in (0..*call).filter(|before| !history.plans[*before].is_safe()) {
                    assert!(started(before).is_none() || ended(before).is_some_and(|end| end < at), "{call} overtook {before}");
                }
                running.push(*call);
                assert!(running.len() <= 10, "{} at once", running.len());
            }
            Seen::Ended(call) => running.retain(|other| other != call),
            Seen::Out(_) => assert!(at > stored, "a result before its message"),
            Seen::Stored | Seen::Journalled(_) => {}
        }
    }
    // What has effects is in the journal before it starts.
    for call in (0..history.plans.len()).filter(|call| history.plans[*call].has_effects()) {
        let journalled = seen.iter().position(|it| *it == Seen::Journalled(call));
        assert!(started(call).is_none_or(|start| journalled.is_some_and(|journalled| journalled < start)), "{call} ran unannounced");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_laws_hold(history in history()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let (trial, run) = runtime.block_on(play(&history));
        check(&history, &trial, &run);
    }
}

#[tokio::test(start_paused = true)]
async fn a_safe_read_starts_while_the_model_streams_and_its_result_waits() {
    let mut trial = Trial::new(&[Plan::read(5), Plan::alone(5)]);
    trial
        .with_executor(async |executor, trial| {
            executor.offer(trial.calls[0].clone());
            executor.offer(trial.calls[1].clone());
            executor.work().await;
            assert_eq!(trial.drained(), [Seen::Started(0), Seen::Ended(0)]);
            let run = executor.finish(trial.calls.clone(), &mut trial.sink()).await;
            assert_eq!(run, Ok(ToolRun::of(ToolEnd::Done)));
        })
        .await;
    trial.settle();
    assert_eq!(trial.results.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_discarded_attempt_leaves_nothing_and_its_calls_are_cancelled() {
    let mut trial = Trial::new(&[Plan::read(50), Plan::read(1)]);
    trial
        .with_executor(async |executor, trial| {
            executor.offer(trial.calls[0].clone());
            executor.offer(trial.calls[1].clone());
            executor.work().await;
            executor.discard();
            // The next attempt makes one other call.
            let call = Call { input: trial.calls[1].input.clone(), ..trial.calls[0].clone() };
            executor.offer(call.clone());
            let run = executor.finish(vec![call], &mut trial.sink()).await;
            assert_eq!(run, Ok(ToolRun::of(ToolEnd::Done)));
        })
        .await;
    trial.settle();
    assert_eq!(trial.results.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_stored_otherwise_than_offered_runs_as_stored() {
    let mut trial = Trial::new(&[Plan::read(1), Plan::read(2)]);
    trial
        .with_executor(async |executor, trial| {
            executor.offer(trial.calls[0].clone());
            executor.work().await;
            let stored = Call { input: trial.calls[1].input.clone(), ..trial.calls[0].clone() };
            executor.finish(vec![stored], &mut trial.sink()).await.expect("it ends");
        })
        .await;
    trial.settle();
    assert_eq!(trial.seen.iter().filter(|it| matches!(it, Seen::Started(_))).count(), 2);
    assert_eq!(trial.results.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_call_holds_back_what_comes_after_it() {
    let mut trial = Trial::new(&[Plan::read(1), Plan::read(1)]);
    trial
        .with_executor(async |executor, trial| {
            executor.wait_for_the_end();
            executor.offer(trial.calls[1].clone());
            assert_eq!(executor.work().now_or_never(), None);
            executor.finish(trial.calls.clone(), &mut trial.sink()).await.expect("it ends");
        })
        .await;
    trial.settle();
    assert_eq!(trial.results.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failing_shell_ends_its_siblings_and_another_failure_does_not() {
    let texts = async |plans: &[Plan]| {
        let mut trial = Trial::new(plans);
        trial
            .with_executor(async |executor, trial| {
                executor.finish(trial.calls.clone(), &mut trial.sink()).await.expect("it ends");
            })
            .await;
        trial.settle();
        trial.results.into_iter().map(|(_, result)| block(&result)).collect::<Vec<_>>()
    };
    let shell = texts(&[Plan::shell(Ends::Badly), Plan::alone(1), Plan::read(1)]).await;
    assert_eq!(shell[0], "it failed");
    let why = "The call was cancelled, because another call of the same batch failed, before it ran.";
    assert_eq!(&shell[1..], [why, why]);
    let other = texts(&[Plan { ends: Ends::Badly, ..Plan::alone(1) }, Plan::alone(1), Plan { ends: Ends::Panics, ..Plan::read(1) }]).await;
    assert_eq!(other[..2], ["it failed", "it went well"]);
    assert!(other[2].contains("failed unexpectedly"), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_is_left_after_a_cancel_and_each_says_why() {
    let mut trial = Trial::new(&[Plan { ends: Ends::Never, ..Plan::alone(1) }, Plan::alone(1)]);
    trial
        .with_executor(async |executor, trial| {
            let cancel = trial.cancel.clone();
            let mut results = trial.sink();
            let finish = executor.finish(trial.calls.clone(), &mut results);
            let run = tokio::join!(finish, async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                cancel.cancel();
            });
            assert_eq!(run.0, Err(Cut::Interrupted));
        })
        .await;
    trial.settle();
    let texts: Vec<String> = trial.results.iter().map(|(_, result)| block(result)).collect();
    assert!(texts[0].starts_with("The call was interrupted by the user while it ran.") && texts[0].contains("within 5 s"), "{texts:?}");
    assert_eq!(texts[1], "The call was interrupted by the user before it ran.");
}

#[tokio::test(start_paused = true)]
async fn a_long_result_goes_into_a_file_and_names_it() {
    let mut trial = Trial::new(&[Plan { ends: Ends::Long, ..Plan::read(1) }]);
    trial
        .with_executor(async |executor, trial| {
            executor.finish(trial.calls.clone(), &mut trial.sink()).await.expect("it ends");
        })
        .await;
    trial.settle();
    let text = block(&trial.results[0].1);
    assert!(text.len() < 40_000 && text.contains("bytes left out; all of it is in /"), "{}", text.len());
}
