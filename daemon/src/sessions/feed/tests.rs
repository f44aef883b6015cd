use agentd_types::live::{ClientInfo, Snapshot};
use agentd_types::permission::PermissionMode;
use agentd_types::session::{SessionInfo, SessionState};
use agentd_types::{AbsPath, Money, Seq, SessionId, Timestamp};
use bytes::Bytes;

use super::{FeedItem, Partials, Publisher, QUEUE, Subscription};
use crate::sessions::history::History;
use crate::store::{Batch, BootId, Commit, Level, Limits, MemoryFiles, Store};

const SESSION: SessionId = SessionId::from_u128(7);

fn snapshot(seq: u64) -> Snapshot {
    let info = SessionInfo {
        id: SESSION,
        name: None,
        state: SessionState::Idle,
        cwd: AbsPath::new("/w").unwrap(),
        model: String::new(),
        permission_mode: PermissionMode::Default,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        cost: Money::ZERO,
        queued: 0,
        tasks_running: 0,
        permissions_open: 0,
        last_text: String::new(),
        last_seq: Seq(seq),
    };
    Snapshot {
        seq: Seq(seq),
        info,
        submission: None,
        permissions: Vec::new(),
        questions: Vec::new(),
        queue: Vec::new(),
        running_tools: Vec::new(),
        tasks: Vec::new(),
        clients: Vec::new(),
        in_progress: None,
    }
}

fn client() -> ClientInfo {
    ClientInfo { name: "test".into(), pid: None, since: Timestamp(0) }
}

fn event(seq: u64) -> Bytes {
    Bytes::from(format!("event {seq}"))
}

/// Brings events to disk, then publishes them, as the actor does.
async fn publish(store: &Store, publisher: &Publisher, seqs: std::ops::RangeInclusive<u64>) {
    let (told, when) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    let waiter = Box::new(move |commit| {
        assert_eq!(commit, Commit::Synced);
        let _ = told.take().unwrap().send(());
    });
    let events = seqs.clone().map(event).collect();
    store.append(Batch { session: SESSION, first: Seq(*seqs.start()), events, level: Level::Synced }, waiter).await;
    when.await.unwrap();
    for seq in seqs.clone() {
        publisher.event(Seq(seq), &event(seq));
    }
    publisher.committed(Seq(*seqs.end()));
}

async fn read_events(subscription: &mut Subscription, upto: u64) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.last() != Some(&upto) {
        match subscription.next().await.expect("the session is there") {
            FeedItem::Event(seq, bytes) => {
                assert_eq!(bytes, event(seq.0));
                seen.push(seq.0);
            }
            FeedItem::Snapshot(_) | FeedItem::Delta(_) | FeedItem::Lagged { .. } | FeedItem::Draining => {}
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn history_then_live_then_what_a_stalled_one_missed_without_gap_or_double() {
    let (store, _) = Store::open(MemoryFiles::new().setup(BootId::unknown(), Limits::default())).unwrap();
    let (mut publisher, _left) = Publisher::new(Seq::ZERO);
    publish(&store, &publisher, 1..=10).await;
    let history = History::new(store.clone());
    let mut early = publisher.join(snapshot(10), Some(Seq::ZERO), Partials::Wanted, client(), history.clone(), SESSION).ok().unwrap();
    let mut tail = publisher.join(snapshot(10), None, Partials::Unwanted, client(), history, SESSION).ok().unwrap();
    // Far more than a queue holds, before either reads a thing: the publisher never waits.
    let last = 10 + 4 * QUEUE as u64;
    publish(&store, &publisher, 11..=last).await;
    publisher.delta(&Bytes::from_static(b"delta"));
    assert!(matches!(early.next().await, Some(FeedItem::Snapshot(first)) if first.seq == Seq(10)));
    assert_eq!(read_events(&mut early, last).await, (1..=last).collect::<Vec<_>>());
    assert_eq!(read_events(&mut tail, last).await, (11..=last).collect::<Vec<_>>());
    // Live again.
    publish(&store, &publisher, last + 1..=last + 3).await;
    assert_eq!(read_events(&mut early, last + 3).await, [last + 1, last + 2, last + 3]);
    store.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_deltas_are_told_and_one_who_leaves_is_told_of() {
    let (store, _) = Store::open(MemoryFiles::new().setup(BootId::unknown(), Limits::default())).unwrap();
    let (mut publisher, mut left) = Publisher::new(Seq::ZERO);
    publish(&store, &publisher, 1..=1).await;
    let mut slow = publisher.join(snapshot(1), None, Partials::Wanted, client(), History::new(store.clone()), SESSION).ok().unwrap();
    for _ in 0..QUEUE + 5 {
        publisher.delta(&Bytes::from_static(b"x"));
    }
    slow.next().await;
    assert!(matches!(slow.next().await, Some(FeedItem::Lagged { dropped: 5 })));
    drop(slow);
    let id = left.recv().await.unwrap();
    publisher.left(id);
    assert!(publisher.is_empty());
    store.shutdown().await.unwrap();
}
