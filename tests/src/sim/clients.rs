//! What clients of a simulation do: each act is a task of its own that remembers what was acknowledged to it.

use agentd::sessions::Registry;
use agentd::sessions::feed::FeedItem;
use agentd::sessions::request::{AnswerQuestion, CreateSession, Respond, Submit};
use agentd_types::live::ClientInfo;
use agentd_types::permission::{AllowScope, Decision, PermissionMode};
use agentd_types::queue::{Batching, CommandMode, OnAsk, Priority, RunOptions};
use agentd_types::session::{Limits, NotesMode, SessionMeta};
use agentd_types::{AbsPath, Block, Origin, Seq, SessionId};

use super::facts::Facts;
use super::rng::Rng;

/// Sessions of one world at most.
const SESSIONS: usize = 3;

fn person() -> Origin {
    Origin::Person { client: "sim".to_owned() }
}

/// One client does one thing.
pub fn act(rng: &mut Rng, registry: &Registry, facts: &Facts) {
    let sessions: Vec<SessionId> = {
        let seen = facts.seen();
        seen.created.iter().filter(|id| !seen.deletion_asked.contains(id)).copied().collect()
    };
    let (registry, facts) = (registry.clone(), facts.clone());
    if sessions.is_empty() || (sessions.len() < SESSIONS && rng.chance(10)) {
        tokio::spawn(create(registry, facts));
        return;
    }
    let session = sessions[rng.below(sessions.len())];
    match rng.below(20) {
        0..9 => {
            let priority = [Priority::Next, Priority::Next, Priority::Later, Priority::Now][rng.below(4)];
            let on_ask = [OnAsk::Wait, OnAsk::Park, OnAsk::Deny][rng.below(3)];
            let key = rng.chance(20).then(|| format!("key{}", rng.below(3)));
            tokio::spawn(submit(registry, facts, session, priority, on_ask, key));
        }
        9..11 => {
            tokio::spawn(async move {
                if let Ok(handle) = registry.open(session).await {
                    let _ = handle.interrupt(None, person()).await;
                }
            });
        }
        11..17 => {
            let allow = rng.chance(70);
            tokio::spawn(respond(registry, facts, session, allow));
        }
        17..19 => {
            tokio::spawn(watch(registry, facts, session));
        }
        _ if rng.chance(20) => {
            facts.seen().deletion_asked.insert(session);
            tokio::spawn(async move {
                if let Ok(handle) = registry.open(session).await
                    && handle.delete(person()).await.is_ok()
                {
                    facts.seen().deleted.insert(session);
                }
            });
        }
        _ => {}
    }
}

async fn create(registry: Registry, facts: Facts) {
    let cwd = AbsPath::new("/sim").unwrap_or_else(|_| unreachable!("it is absolute"));
    let meta = SessionMeta {
        name: None,
        cwd,
        model: String::new(),
        permission_mode: PermissionMode::Default,
        limits: Limits::default(),
        notes: NotesMode::Start,
        environment: Vec::new(),
        append_system_prompt: None,
        allow: "Do".parse().into_iter().collect(),
        deny: Vec::new(),
    };
    if let Ok(info) = registry.create(CreateSession { meta, idempotency_key: None, by: person() }).await {
        facts.seen().created.insert(info.id);
    }
}

async fn submit(registry: Registry, facts: Facts, session: SessionId, priority: Priority, on_ask: OnAsk, key: Option<String>) {
    let submit = Submit {
        content: vec![Block::text("do it")],
        priority,
        mode: CommandMode::Prompt,
        origin: person(),
        idempotency_key: key,
        batching: Batching::Fold,
        options: RunOptions { on_ask, ..RunOptions::default() },
    };
    if let Ok(handle) = registry.open(session).await
        && let Ok(receipt) = handle.submit(submit).await
    {
        let before = facts.seen().accepted.insert(receipt.command, (session, receipt.seq));
        if before.is_some_and(|before| before != (session, receipt.seq)) {
            facts.wrong(format!("command {} has two receipts", receipt.command));
        }
    }
}

/// Answers the oldest open question, else the oldest open request, if there is one.
pub async fn respond(registry: Registry, facts: Facts, session: SessionId, allow: bool) {
    let Ok(handle) = registry.open(session).await else { return };
    if let Some(row) = handle.questions(false).await.ok().and_then(|rows| rows.into_iter().next()) {
        let (question, choices) = (row.question.id, vec![if allow { "1" } else { "2" }.to_owned()]);
        if handle.answer(AnswerQuestion { question, choices, by: person() }).await.is_ok() {
            facts.seen().answered.insert((session, question));
        }
        return;
    }
    let Some(row) = handle.permissions(false).await.ok().and_then(|rows| rows.into_iter().next()) else { return };
    let decision = match allow {
        true => Decision::Allow { scope: AllowScope::Once, updated_input: None },
        false => Decision::Deny { message: None },
    };
    let request = row.request.id;
    if handle.respond(Respond { request, decision, by: person() }).await.is_ok() {
        facts.seen().answered.insert((session, request));
    }
}

/// Follows a session from its start: every event once, in order, without a gap.
async fn watch(registry: Registry, facts: Facts, session: SessionId) {
    let Ok(handle) = registry.open(session).await else { return };
    let client = ClientInfo { name: "sim".to_owned(), pid: None, since: agentd_types::Timestamp(0) };
    let Ok(mut subscription) = handle.subscribe(Some(Seq::ZERO), true, client).await else { return };
    drop(handle);
    let mut last = Seq::ZERO;
    while let Some(item) = subscription.next().await {
        if let FeedItem::Event(seq, bytes) = item {
            if seq != last.next() {
                facts.wrong(format!("a subscriber of {session} saw {seq} after {last}"));
            }
            last = seq;
            if let Some(other) = facts.seen().shown.insert((session, seq), bytes.clone())
                && other != bytes
            {
                facts.wrong(format!("event {seq} of {session} was shown as two different ones"));
            }
        }
    }
}
