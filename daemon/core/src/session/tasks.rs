//! Tasks of a session: started, moved, stopped, over. A task's end and its note are one record; nothing here runs one.

use std::collections::BTreeSet;

use agentd_types::task::{Placement, Task, TaskChange, TaskEnd, TaskKind, TaskOutcome, TaskStart};
use agentd_types::{AgentId, Body, CommandId, Entry, Origin, SubmissionId, TaskId, ToolUseId};

use super::effect::{Effect, NotStarted, Outcome, Refusal};
use super::event::{DrainStage, Durability, TaskScope, Ticket};
use super::machine::{Machine, Then};
use super::phase::Phase;
use crate::queue;

/// Commands of one session in the background at a time.
pub const MAX_COMMANDS: usize = 64;
/// Subagents of one session at a time.
pub const MAX_AGENTS: usize = 20;
/// Subagents of subagents: levels below the main loop.
pub const MAX_DEPTH: usize = 3;
/// Calls that can go on in the background.
const MOVABLE: [&str; 2] = ["Bash", "Agent"];

/// What becomes of tasks that is not in the log yet, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct TaskDesk {
    /// Loops of subagents, by the submission they run as.
    pub lanes: Vec<Lane>,
    /// Who wished a task's end first.
    wishes: Vec<(TaskId, Origin)>,
    /// Who waits until these have ended.
    waiting: Vec<(Ticket, BTreeSet<TaskId>)>,
    /// Who waits for a call to become a task.
    moving: Vec<(ToolUseId, Ticket)>,
    /// Ends that are not on disk yet: a failed append must not lose one.
    ends: Vec<(TaskId, TaskEnd)>,
}

/// A subagent's loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lane {
    pub submission: SubmissionId,
    pub agent: AgentId,
    pub task: TaskId,
    /// Commands taken by its gate A and not yet delivered.
    pub leased: Vec<CommandId>,
}

impl Machine {
    /// The loop that `from` is: the main one's agent is absent. `None` = it has ended.
    #[must_use]
    pub fn lane(&self, from: SubmissionId) -> Option<Option<AgentId>> {
        match &self.phase {
            Phase::Running { submission, .. } if *submission == from => Some(None),
            Phase::Idle
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Parked { .. }
            | Phase::Deleting
            | Phase::Failed
            | Phase::Closed => self.desk.lanes.iter().find(|lane| lane.submission == from).map(|lane| Some(lane.agent)),
        }
    }

    /// What gate A of that loop has taken.
    pub(super) fn leases_of(&mut self, from: SubmissionId) -> &mut Vec<CommandId> {
        match self.desk.lanes.iter_mut().find(|lane| lane.submission == from) {
            Some(lane) => &mut lane.leased,
            None => &mut self.leased,
        }
    }

    /// Whether somebody wishes the end of that agent's task.
    pub(super) fn is_ending(&self, agent: AgentId) -> bool {
        let lane = self.desk.lanes.iter().find(|lane| lane.agent == agent);
        lane.is_some_and(|lane| self.desk.wishes.iter().any(|(task, _)| *task == lane.task))
    }

    /// A call starts work with a life of its own. It is on disk before the work is taken over.
    pub(super) fn task_starts(&mut self, from: SubmissionId, ticket: Ticket, start: TaskStart, lane: Option<SubmissionId>) {
        let refuse = |why| Effect::TaskStart { ticket, result: Err(why) };
        if self.lane(from).is_none() || self.drain.is_some() || !self.deleting.is_empty() {
            return self.effects.push(refuse(NotStarted::Ended));
        }
        if let Some(bound) = self.task_bound(&start) {
            return self.effects.push(refuse(bound));
        }
        if let (Some(submission), Some(agent)) = (lane, start.agent) {
            self.desk.lanes.push(Lane { submission, agent, task: start.id, leased: Vec::new() });
        }
        let (id, tool_use) = (start.id, start.tool_use.clone());
        let entry = Entry { agent: start.owner, ..Entry::of(from, Body::Task(TaskChange::Started(start))) };
        self.append(vec![entry], Durability::Synced);
        self.hold(Durability::Synced, Then::TaskStart(ticket, id));
        self.moved_by(&tool_use, id);
    }

    fn task_bound(&self, start: &TaskStart) -> Option<NotStarted> {
        let running = self.head.running_tasks().filter(|task| task.start.kind == start.kind).count();
        let most = match start.kind {
            TaskKind::Bash => MAX_COMMANDS,
            TaskKind::Agent => MAX_AGENTS,
        };
        if running >= most {
            return Some(NotStarted::TooMany { most });
        }
        (start.kind == TaskKind::Agent && self.depth(start.owner) >= MAX_DEPTH).then_some(NotStarted::TooDeep { most: MAX_DEPTH })
    }

    /// Levels between a loop and the main one.
    fn depth(&self, agent: Option<AgentId>) -> usize {
        let mut depth = 0;
        let mut above = agent;
        while let Some(agent) = above {
            depth += 1;
            above = self.head.task_of(agent).filter(|_| depth <= MAX_DEPTH).and_then(|task| task.start.owner);
        }
        depth
    }

    /// Its call no longer waits for it.
    pub(super) fn task_moved(&mut self, from: SubmissionId, task: TaskId) {
        let foreground = |task: &&Task| task.is_running() && task.start.placement == Placement::Foreground;
        let Some(task) = self.head.task(task).filter(foreground).cloned() else { return };
        let entry = Entry { agent: task.start.owner, ..Entry::of(from, Body::Task(TaskChange::Moved { id: task.id() })) };
        self.append(vec![entry], Durability::Synced);
        self.moved_by(&task.start.tool_use, task.id());
    }

    /// Nothing of it runs any more: its end, and its note if nobody else tells its owner, are one record.
    pub(super) fn task_over(&mut self, id: TaskId, mut end: TaskEnd) {
        let Some(task) = self.head.task(id).filter(|task| task.is_running()).cloned() else { return };
        if let (Some((_, by)), TaskOutcome::Killed) = (self.desk.wishes.iter().find(|(task, _)| *task == id), end.outcome) {
            end.by = Some(by.clone());
        }
        self.desk.wishes.retain(|(task, _)| *task != id);
        if let Some(agent) = task.start.agent {
            // A late entry of its loop never enters.
            self.desk.lanes.retain(|lane| lane.task != id);
            self.withdraw_open_of(Some(agent), &Origin::Task { id: id.to_string() });
        }
        self.desk.ends.push((id, end.clone()));
        self.append_end(&task, end);
        self.settle_stops();
    }

    fn append_end(&mut self, task: &Task, end: TaskEnd) {
        let owner = self.head.addressee(task.start.owner);
        // A foreground one ends with its call, whose result says so; who stopped it himself knows.
        let told = task.start.placement == Placement::Foreground || end.by == Some(Origin::Session { id: self.head.id });
        let note = (!told).then(|| queue::note(&task.start, &end, owner, self.now));
        let finished = Body::Task(TaskChange::Finished { id: task.id(), end });
        let mut entries = vec![Entry { agent: task.start.owner, ..Entry::outside(finished) }];
        entries.extend(note.map(|command| {
            let origin = command.origin.clone();
            let enqueued = agentd_types::queue::QueueChange::Enqueued { command };
            Entry { agent: owner, ..Entry::outside(Body::Queue(enqueued)).by(origin) }
        }));
        self.append(entries, Durability::Synced);
    }

    /// Ends tasks; whoever asked is told when nothing of them runs.
    pub(super) fn stop_tasks(&mut self, ticket: Ticket, scope: TaskScope, by: Origin) {
        let ids: Vec<TaskId> = match scope {
            TaskScope::One(id) => match self.head.task(id) {
                None => return self.answer(ticket, Err(Refusal::NoSuchTask { id: id.to_string() })),
                Some(_) => vec![id],
            },
            TaskScope::All => self.head.running_tasks().map(Task::id).collect(),
        };
        for id in &ids {
            self.wish_end(*id, by.clone());
        }
        self.desk.waiting.push((ticket, ids.into_iter().collect()));
        self.settle_stops();
    }

    pub(super) fn wish_end(&mut self, id: TaskId, by: Origin) {
        let runs = self.head.task(id).is_some_and(Task::is_running);
        if runs && !self.desk.wishes.iter().any(|(task, _)| *task == id) {
            self.desk.wishes.push((id, by));
            self.effects.push(Effect::StopTask { task: id });
        }
    }

    fn settle_stops(&mut self) {
        let head = &self.head;
        let over = |ids: &BTreeSet<TaskId>| ids.iter().all(|id| head.task(*id).is_none_or(|task| !task.is_running()));
        let (done, rest): (Vec<_>, Vec<_>) = self.desk.waiting.drain(..).partition(|(_, ids)| over(ids));
        self.desk.waiting = rest;
        for (ticket, ids) in done {
            let tasks = ids.iter().filter_map(|id| self.head.task(*id).cloned()).collect();
            self.hold(Durability::Synced, Then::Answer(ticket, Outcome::Tasks(tasks)));
        }
    }

    /// A client wants a running call to go on in the background.
    pub(super) fn move_call(&mut self, ticket: Ticket, tool_use: ToolUseId) {
        let known = self.head.tasks.iter().find(|task| task.is_running() && task.start.tool_use == tool_use);
        if let Some(task) = known.filter(|task| task.start.placement == Placement::Background).cloned() {
            return self.answer(ticket, Ok(Outcome::Tasks(vec![task])));
        }
        let runs = known.is_some() || self.runs_movable(&tool_use);
        if !runs {
            return self.answer(ticket, Err(Refusal::NotRunning { call: tool_use.to_string() }));
        }
        self.desk.moving.push((tool_use.clone(), ticket));
        self.effects.push(Effect::MoveCall { tool_use });
    }

    fn runs_movable(&self, tool_use: &ToolUseId) -> bool {
        let calls = self.head.run.iter().flat_map(|run| &run.calls);
        calls.into_iter().any(|call| call.id == *tool_use && call.started.is_some() && MOVABLE.contains(&call.name.as_str()))
    }

    fn moved_by(&mut self, tool_use: &ToolUseId, task: TaskId) {
        let (done, rest): (Vec<_>, Vec<_>) = self.desk.moving.drain(..).partition(|(call, _)| call == tool_use);
        self.desk.moving = rest;
        for (_, ticket) in done {
            let task = self.head.task(task).cloned();
            self.hold(Durability::Synced, Then::Answer(ticket, Outcome::Tasks(task.into_iter().collect())));
        }
    }

    /// After every event: a call that ended before it could be moved is told of; a shutdown ends what nobody waits for.
    pub(super) fn mind_tasks(&mut self) {
        let moving = std::mem::take(&mut self.desk.moving);
        for (tool_use, ticket) in moving {
            let foreground = self.head.running_tasks().any(|task| task.start.tool_use == tool_use);
            if foreground || self.runs_movable(&tool_use) {
                self.desk.moving.push((tool_use, ticket));
            } else {
                self.answer(ticket, Err(Refusal::NotRunning { call: tool_use.to_string() }));
            }
        }
        let busy = matches!(self.phase, Phase::Starting { .. } | Phase::Running { .. });
        let reason = match (self.drain, self.deleting.is_empty()) {
            (_, false) => Some("the session's deletion"),
            (Some(DrainStage::Cut), true) => Some("the daemon's end"),
            (Some(DrainStage::Stop), true) if !busy => Some("the daemon's end"),
            (Some(DrainStage::Stop) | None, true) => None,
        };
        if let Some(reason) = reason {
            let running: Vec<TaskId> = self.head.running_tasks().map(Task::id).collect();
            running.into_iter().for_each(|id| self.wish_end(id, Origin::Hook { event: reason.to_owned() }));
        }
    }

    /// A loop is over: what it waited for, and did not end itself, is ended.
    pub(super) fn end_foreground_of(&mut self, owner: Option<AgentId>) {
        let foreground = |task: &&Task| task.start.owner == owner && task.start.placement == Placement::Foreground;
        let left: Vec<TaskId> = self.head.running_tasks().filter(foreground).map(Task::id).collect();
        left.into_iter().for_each(|id| self.wish_end(id, Origin::Hook { event: "the end of its caller".to_owned() }));
    }

    /// The session was read back: no task of the old daemon runs. Their owners are told, once.
    pub(super) fn tasks_lost(&mut self) {
        let lost: Vec<Task> = self.head.running_tasks().cloned().collect();
        let agents: BTreeSet<AgentId> =
            self.head.open.iter().filter_map(|open| open.agent).chain(self.head.questions.iter().filter_map(|it| it.agent)).collect();
        for agent in agents {
            self.withdraw_open_of(Some(agent), &Origin::Hook { event: "the daemon's death".to_owned() });
        }
        for task in lost {
            let summary = "the daemon was killed while it ran; what came of it is unknown, and nothing of it runs any more".to_owned();
            let end = TaskEnd { summary, ..TaskEnd::of(TaskOutcome::Lost) };
            self.desk.ends.push((task.id(), end.clone()));
            self.append_end(&task, end);
        }
    }

    /// After a store failure: ends that were not taken are handed in again.
    pub(super) fn ends_again(&mut self) {
        let head = &self.head;
        // The others are on their way.
        let (again, rest): (Vec<_>, Vec<_>) = self.desk.ends.drain(..).partition(|(id, _)| head.task(*id).is_some_and(Task::is_running));
        self.desk.ends = rest;
        again.into_iter().for_each(|(id, end)| self.task_over(id, end));
    }

    /// What is on disk needs no second try.
    pub(super) fn forget_ends(&mut self) {
        let committed = &self.committed;
        self.desk.ends.retain(|(id, _)| committed.task(*id).is_none_or(Task::is_running));
    }
}
