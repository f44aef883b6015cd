//! What must hold whatever happens: each property looks at what outlived a crash, and at the end. None changes anything.

use std::collections::{BTreeMap, BTreeSet};

use agentd_core::session::Projection;
use agentd_types::queue::QueueChange;
use agentd_types::system::System;
use agentd_types::{Block, Body, Event, SessionId, ToolUseId};
use bytes::Bytes;

use super::facts::Seen;

/// Something that must never be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub property: &'static str,
    pub what: String,
}

/// What a life finds on its disk, decoded.
pub struct Found {
    pub logs: BTreeMap<SessionId, Vec<(Event, Bytes)>>,
}

/// How the last life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// kill -9: what was written is there.
    Kill,
    /// The power went: what was not synced may be gone.
    PowerLoss,
}

/// One property. A method that says nothing finds nothing.
pub trait Property {
    fn name(&self) -> &'static str;

    /// After a crash, before anything runs.
    fn on_start(&self, _found: &Found, _seen: &Seen, _death: Death) -> Result<(), String> {
        Ok(())
    }

    /// When nothing is left to do.
    fn finish(&self, _found: &Found, _seen: &Seen) -> Result<(), String> {
        Ok(())
    }
}

/// All of them.
pub fn all() -> Vec<Box<dyn Property>> {
    vec![Box::new(Dense), Box::new(Acknowledged), Box::new(Shown), Box::new(OneStep), Box::new(Recorded), Box::new(Told), Box::new(Settled)]
}

/// Numbers without a gap; every log folds.
struct Dense;

impl Property for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn on_start(&self, found: &Found, _seen: &Seen, _death: Death) -> Result<(), String> {
        for (session, log) in &found.logs {
            for (at, (event, _)) in log.iter().enumerate() {
                if event.seq.0 != at as u64 + 1 {
                    return Err(format!("{session}: event {} stands at {}", event.seq, at + 1));
                }
            }
        }
        Ok(())
    }
}

/// What was acknowledged is there.
struct Acknowledged;

impl Property for Acknowledged {
    fn name(&self) -> &'static str {
        "acknowledged"
    }

    fn on_start(&self, found: &Found, seen: &Seen, _death: Death) -> Result<(), String> {
        let gone = |session: &SessionId| seen.deleted.contains(session) || seen.deletion_asked.contains(session);
        if let Some(lost) = seen.created.iter().find(|session| !found.logs.contains_key(session) && !gone(session)) {
            return Err(format!("session {lost} is lost"));
        }
        if let Some(back) = seen.deleted.iter().find(|session| is_there(found, session)) {
            return Err(format!("session {back} is back though its deletion was acknowledged"));
        }
        for (command, (session, seq)) in seen.accepted.iter().filter(|(_, (session, _))| !gone(session)) {
            let event = found.logs.get(session).and_then(|log| log.get(seq.0 as usize - 1));
            match event.map(|(event, _)| &event.body) {
                Some(Body::Queue(QueueChange::Enqueued { command: kept })) if kept.id == *command => {}
                other => return Err(format!("command {command} of {session} was accepted as event {seq}, which is {other:?}")),
            }
        }
        for (session, request) in seen.answered.iter().filter(|(session, _)| !gone(session)) {
            let log = found.logs.get(session).map(Vec::as_slice).unwrap_or_default();
            let answers = |body: &Body| match body {
                Body::PermissionResolved(resolved) => resolved.id == *request,
                Body::Answer(answered) => answered.id == *request,
                _ => false,
            };
            if !log.iter().any(|(event, _)| answers(&event.body)) {
                return Err(format!("the answer to {request} of {session} is lost"));
            }
        }
        Ok(())
    }
}

/// Whether it is there and not marked as deleted.
fn is_there(found: &Found, session: &SessionId) -> bool {
    found.logs.get(session).is_some_and(|log| !log.iter().any(|(event, _)| matches!(event.body, Body::System(System::Deleted))))
}

/// What a subscriber was shown stays, byte for byte.
struct Shown;

impl Property for Shown {
    fn name(&self) -> &'static str {
        "shown"
    }

    fn on_start(&self, found: &Found, seen: &Seen, _death: Death) -> Result<(), String> {
        for ((session, seq), bytes) in &seen.shown {
            if seen.deletion_asked.contains(session) {
                continue;
            }
            let kept = found.logs.get(session).and_then(|log| log.get(seq.0 as usize - 1)).map(|(_, kept)| kept);
            if kept != Some(bytes) {
                return Err(format!("event {seq} of {session} was shown and is not there, or is another"));
            }
        }
        Ok(())
    }
}

/// A command is taken once at most, with its message.
struct OneStep;

impl Property for OneStep {
    fn name(&self) -> &'static str {
        "one step"
    }

    fn on_start(&self, found: &Found, _seen: &Seen, _death: Death) -> Result<(), String> {
        for (session, log) in &found.logs {
            let (mut taken, mut said) = (BTreeSet::new(), BTreeSet::new());
            for (event, _) in log {
                match &event.body {
                    Body::Queue(QueueChange::Delivered { id }) if !taken.insert(*id) => {
                        return Err(format!("{session}: {id} was taken twice"));
                    }
                    Body::User(user) => said.extend(user.commands.iter().copied()),
                    Body::Attachment(attachment) => said.extend(attachment.command),
                    _ => {}
                }
            }
            if taken != said {
                return Err(format!("{session}: taken {taken:?}, said {said:?}"));
            }
        }
        Ok(())
    }
}

/// A call with effects ran only after its message was on disk.
struct Recorded;

impl Property for Recorded {
    fn name(&self) -> &'static str {
        "recorded"
    }

    fn on_start(&self, found: &Found, seen: &Seen, _death: Death) -> Result<(), String> {
        let mut known: BTreeSet<&ToolUseId> = BTreeSet::new();
        for (event, _) in found.logs.values().flatten() {
            if let Body::Assistant(message) = &event.body {
                known.extend(message.content.iter().filter_map(|block| match block {
                    Block::ToolUse { id, .. } => Some(id),
                    _ => None,
                }));
            }
        }
        let all_there = seen.deletion_asked.is_empty();
        match seen.ran.iter().find(|id| all_there && !known.contains(id)) {
            Some(id) => Err(format!("the call {id} ran and its message is lost")),
            None => Ok(()),
        }
    }
}

/// A call gets one result at most.
struct Told;

impl Property for Told {
    fn name(&self) -> &'static str {
        "told once"
    }

    fn on_start(&self, found: &Found, _seen: &Seen, _death: Death) -> Result<(), String> {
        for (session, log) in &found.logs {
            let mut results = BTreeSet::new();
            for (event, _) in log {
                let Body::User(user) = &event.body else { continue };
                for block in &user.content {
                    if let Block::ToolResult { tool_use_id, .. } = block
                        && !results.insert(tool_use_id.clone())
                    {
                        return Err(format!("{session}: the call {tool_use_id} has two results"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// In the end everything that was accepted is delivered and every submission has its result.
struct Settled;

impl Property for Settled {
    fn name(&self) -> &'static str {
        "settled"
    }

    fn finish(&self, found: &Found, _seen: &Seen) -> Result<(), String> {
        for (session, log) in found.logs.iter().filter(|(session, _)| is_there(found, session)) {
            let Some((first, _)) = log.first() else { continue };
            let mut projection = Projection::open(first).map_err(|error| error.to_string())?;
            log[1..].iter().for_each(|(event, _)| projection.fold(event));
            if !projection.queue.commands().is_empty() || projection.run.is_some() {
                let waiting = projection.queue.commands().len();
                return Err(format!(
                    "{session}: {waiting} commands wait, the submission {:?} has no result",
                    projection.run.map(|run| run.id)
                ));
            }
        }
        Ok(())
    }
}
