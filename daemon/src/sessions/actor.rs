//! A session's actor: picks the next event, applies it, performs the effects. It owns the session alone; the machine
//! in core decides. `next_event` changes nothing, `apply` never waits for a client or a model.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentd_core::queue::Waits;
use agentd_core::session::{DrainStage, Event, Fresh, Machine, TaskEnd};
use agentd_types::session::SessionInfo;
use agentd_types::task::{Task, TaskEnd as Over};
use agentd_types::{AgentId, MessageId, RequestId, Seq, SessionId, SubmissionId, TaskId, ToolUseId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinHandle};

use super::codec::Codec;
use super::feed::Publisher;
use super::handle::Call;
use super::history::History;
use super::inbox::{FromSubmission, INBOX};
use super::live::InProgress;
use super::load::{self, LoadError};
use super::spawner::Roles;
use super::waiting::Waiting;
use crate::background::Tasks;
use crate::engine::{Cancel, Kit, QueryEngine};
use crate::permissions::rules::RuleWriter;
use crate::store::{Commit, Store};

/// A loaded session that nobody watches and that does nothing is unloaded after this.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// What all sessions share.
pub struct Shared {
    pub kit: Arc<Kit>,
    pub store: Store,
    pub codec: Arc<dyn Codec>,
    /// What subagents are equipped with.
    pub roles: Roles,
    /// Keeps what is allowed "always".
    pub rules: Arc<dyn RuleWriter>,
}

/// What the keeper tells an actor.
pub(super) enum Control {
    Drain { stage: DrainStage, quiet: oneshot::Sender<()> },
}

/// What an actor tells the keeper.
pub(super) enum Note {
    /// Nothing to do, nobody watching: it may be unloaded, if no call came since it had answered this many.
    Idle(SessionId, u64),
    /// It was deleted: forget it.
    Deleted(SessionId),
    /// It could not be loaded, or panicked.
    Lost(SessionId),
}

/// An encoded event that is not on disk yet, and the message in progress that it ends.
pub(super) struct Unpublished {
    pub seq: Seq,
    pub bytes: bytes::Bytes,
    pub ends: Option<MessageId>,
}

/// The submission that runs.
pub(super) struct Running {
    pub submission: SubmissionId,
    pub cancel: Cancel,
    pub task: JoinHandle<(QueryEngine, TaskEnd)>,
}

/// What a subagent is told without asking.
pub(super) struct LaneNews {
    pub task: TaskId,
    pub agent: AgentId,
    pub waits: watch::Sender<Waits>,
}

/// Everything that can wake the actor.
enum Wake {
    Call(Option<Call>),
    Submission(SubmissionId, FromSubmission),
    Commit(Seq, Seq, Commit),
    Left(u64),
    /// A task of the session is over.
    TaskOver(TaskId, Over),
    /// The submission's own.
    TaskEnded(Box<Result<(QueryEngine, TaskEnd), JoinError>>),
    Control(Control),
    Quiet,
}

/// One session.
pub(super) struct Actor {
    pub(super) id: SessionId,
    pub(super) shared: Arc<Shared>,
    pub(super) machine: Machine,
    pub(super) waiting: Waiting,
    pub(super) publisher: Publisher,
    pub(super) in_progress: InProgress,
    /// The conversation, while no submission has it.
    pub(super) engine: Option<QueryEngine>,
    pub(super) running: Option<Running>,
    pub(super) inbox: mpsc::Sender<(SubmissionId, FromSubmission)>,
    pub(super) commits: mpsc::UnboundedSender<(Seq, Seq, Commit)>,
    /// Numbered and not yet on disk.
    pub(super) unpublished: VecDeque<Unpublished>,
    pub(super) info: watch::Sender<SessionInfo>,
    pub(super) tasks: Tasks,
    /// What loops are told without asking; see `inbox::News`.
    pub(super) wishes: watch::Sender<Vec<ToolUseId>>,
    pub(super) known_tasks: watch::Sender<Arc<[Task]>>,
    pub(super) waits: watch::Sender<Waits>,
    /// The same for each subagent that works, by its task.
    pub(super) lanes: Vec<LaneNews>,
    /// What the session spent, all its loops together: nano-dollars.
    pub(super) spent: Arc<AtomicU64>,
    /// Rules that answers put in force; the running submission looks at it before each round.
    pub(super) allowed: watch::Sender<Vec<String>>,
    pub(super) drained: Vec<oneshot::Sender<()>>,
    pub(super) closed: bool,
    /// Calls taken so far; the keeper reads it.
    calls: Arc<AtomicU64>,
}

/// The receiving ends, apart from the state they change.
struct Ears {
    calls: mpsc::Receiver<Call>,
    inbox: mpsc::Receiver<(SubmissionId, FromSubmission)>,
    commits: mpsc::UnboundedReceiver<(Seq, Seq, Commit)>,
    left: mpsc::UnboundedReceiver<u64>,
    control: mpsc::Receiver<Control>,
}

/// Loads the session and serves it until it is unloaded or deleted.
pub(super) async fn run(
    id: SessionId,
    shared: Arc<Shared>,
    calls: mpsc::Receiver<Call>,
    control: mpsc::Receiver<Control>,
    info: watch::Sender<SessionInfo>,
    taken: Arc<AtomicU64>,
    keeper: mpsc::UnboundedSender<Note>,
) {
    match Actor::load(id, Arc::clone(&shared), info, taken).await {
        Ok((mut actor, inbox, commits, left)) => {
            let mut ears = Ears { calls, inbox, commits, left, control };
            actor.serve(&mut ears, &keeper).await;
        }
        Err(error) => {
            tracing::error!(session = %id, %error, "the session cannot be loaded");
            let _ = keeper.send(Note::Lost(id));
        }
    }
}

type Loaded =
    (Actor, mpsc::Receiver<(SubmissionId, FromSubmission)>, mpsc::UnboundedReceiver<(Seq, Seq, Commit)>, mpsc::UnboundedReceiver<u64>);

impl Actor {
    async fn load(
        id: SessionId,
        shared: Arc<Shared>,
        info: watch::Sender<SessionInfo>,
        taken: Arc<AtomicU64>,
    ) -> Result<Loaded, LoadError> {
        let (store, codec) = (shared.store.clone(), Arc::clone(&shared.codec));
        let projection = tokio::task::spawn_blocking(move || load::projection(&store, codec.as_ref(), id))
            .await
            .map_err(|error| LoadError::Read(error.to_string()))??;
        let (publisher, left) = Publisher::new(projection.last_seq);
        let (inbox, from_submission) = mpsc::channel(INBOX);
        // At most one message a record in flight, and the commit thread's queue bounds those.
        let (commits, committed) = mpsc::unbounded_channel();
        let allowed = watch::Sender::new(projection.allowed.clone());
        let spent = Arc::new(AtomicU64::new(projection.cost.0));
        let known_tasks = watch::Sender::new(projection.tasks.clone().into());
        let resume = shared.kit.settings.resume.interrupted;
        let actor = Actor {
            id,
            shared,
            machine: Machine::new(projection, resume),
            waiting: Waiting::default(),
            publisher,
            in_progress: InProgress::default(),
            engine: None,
            running: None,
            inbox,
            commits,
            unpublished: VecDeque::new(),
            tasks: Tasks::default(),
            wishes: watch::Sender::default(),
            known_tasks,
            waits: watch::Sender::default(),
            lanes: Vec::new(),
            spent,
            info,
            allowed,
            drained: Vec::new(),
            closed: false,
            calls: taken,
        };
        Ok((actor, from_submission, committed, left))
    }

    async fn serve(&mut self, ears: &mut Ears, keeper: &mpsc::UnboundedSender<Note>) {
        self.step(Event::Loaded).await;
        while !self.closed {
            let wake = self.next_event(ears).await;
            match wake {
                // The keeper let go of it.
                Wake::Call(None) => return,
                Wake::Call(Some(call)) => {
                    // Before the answer: who has one can be sure that the keeper knows.
                    self.calls.fetch_add(1, Ordering::AcqRel);
                    self.call(call).await;
                }
                Wake::Submission(from, message) => self.submission_said(from, message).await,
                Wake::Commit(first, last, commit) => self.commit(first, last, commit).await,
                Wake::Left(id) => self.publisher.left(id),
                Wake::TaskOver(task, end) => {
                    self.lanes.retain(|lane| lane.task != task);
                    self.step(Event::TaskOver { task, end }).await;
                }
                Wake::TaskEnded(ended) => self.task_ended(*ended).await,
                Wake::Control(Control::Drain { stage, quiet }) => {
                    self.drained.push(quiet);
                    self.step(Event::Drain(stage)).await;
                }
                Wake::Quiet => {
                    if self.publisher.is_empty() && self.machine.is_quiet() {
                        // The keeper decides: only it knows whether somebody holds a handle.
                        let _ = keeper.send(Note::Idle(self.id, self.calls.load(Ordering::Acquire)));
                    }
                }
            }
            self.tell_drained();
        }
        let _ = keeper.send(Note::Deleted(self.id));
    }

    /// Waits for whatever comes first. Every source is cancel-safe.
    async fn next_event(&mut self, ears: &mut Ears) -> Wake {
        let quiet = self.running.is_none() && self.machine.is_quiet();
        let ended = async {
            match &mut self.running {
                Some(running) => (&mut running.task).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some((first, last, commit)) = ears.commits.recv() => Wake::Commit(first, last, commit),
            Some((from, message)) = ears.inbox.recv() => Wake::Submission(from, message),
            call = ears.calls.recv() => Wake::Call(call),
            Some(id) = ears.left.recv() => Wake::Left(id),
            Some(control) = ears.control.recv() => Wake::Control(control),
            (task, end) = self.tasks.next() => Wake::TaskOver(task, end),
            ended = ended => Wake::TaskEnded(Box::new(ended)),
            () = tokio::time::sleep(IDLE), if quiet => Wake::Quiet,
        }
    }

    /// Applies one event and performs what comes of it, in order.
    pub(super) async fn step(&mut self, event: Event) {
        let entropy = &self.shared.kit.entropy;
        let fresh = Fresh {
            submission: SubmissionId::from_u128(entropy.id()),
            message: MessageId::from_u128(entropy.id()),
            results: MessageId::from_u128(entropy.id()),
            marker: MessageId::from_u128(entropy.id()),
            leftover: MessageId::from_u128(entropy.id()),
            question: RequestId::from_u128(entropy.id()),
        };
        let effects = self.machine.apply(event, self.shared.kit.clock.now(), fresh);
        for effect in effects {
            self.perform(effect).await;
        }
    }

    async fn commit(&mut self, first: Seq, last: Seq, commit: Commit) {
        let event = match commit {
            Commit::Written => Event::Written { upto: last },
            Commit::Synced => Event::Synced { upto: last },
            Commit::Failed(reason) => {
                tracing::error!(session = %self.id, %first, %reason, "the store did not take an entry");
                Event::AppendFailed { from: first, failure: agentd_core::query::StoreFailure { reason } }
            }
        };
        self.step(event).await;
    }

    async fn task_ended(&mut self, ended: Result<(QueryEngine, TaskEnd), JoinError>) {
        let Some(running) = self.running.take() else { return };
        self.in_progress.clear();
        let how = match ended {
            Ok((engine, how)) => {
                self.engine = Some(engine);
                how
            }
            Err(error) => {
                tracing::error!(session = %self.id, %error, "the submission's task panicked");
                TaskEnd::Panicked(error.to_string())
            }
        };
        if let TaskEnd::Failed(_) = how {
            // What it folded may not be on disk.
            self.engine = None;
        }
        self.step(Event::Ended { from: running.submission, how }).await;
    }

    fn tell_drained(&mut self) {
        if self.drained.is_empty() || self.running.is_some() || !self.machine.is_quiet() {
            return;
        }
        for quiet in self.drained.drain(..) {
            // Nobody may wait any more.
            let _ = quiet.send(());
        }
        self.publisher.draining();
    }

    pub(super) fn history(&self) -> History {
        History::new(self.shared.store.clone())
    }
}
