//! Following commands from their submission to their results: prints as it goes, asks the person where there is one.

mod person;

use std::pin::Pin;

use agentd_client::{Attach, ClientError, Connection, InterruptOutcome, Kind, LinkState, Submission, Update};
use agentd_types::permission::PermissionRequest;
use agentd_types::question::Question;
use agentd_types::queue::{Batching, Priority, QueueChange, RunOptions};
use agentd_types::system::System;
use agentd_types::{Block, Body, CommandId, Event, SessionId, SubmissionId, Usage};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use self::person::{Answer, Pending, Person};
use crate::exit::{Exit, Failure};
use crate::input::{self, Said};
use crate::output::Out;
use crate::output::printer::Printer;
use crate::output::result::Waiting;

/// Commands of ours that wait in the queue at most; more input is read when one of them starts.
const AHEAD: usize = 16;

/// Who answers when a call asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// The person at this terminal.
    Person,
    /// Somebody else, or nobody.
    Others,
    /// Nobody here: what asks parks, and we leave.
    Parks,
}

/// Where commands come from.
pub enum Source {
    /// It was submitted already.
    One(CommandId),
    /// Each line is a command, until the input ends.
    Lines { lines: mpsc::Receiver<Result<String, String>>, options: RunOptions },
    /// The input has ended.
    Ended,
}

type Interrupting<'a> = Pin<Box<dyn Future<Output = Result<InterruptOutcome, ClientError>> + 'a>>;

/// A run that is followed.
pub struct Follow<'a> {
    connection: &'a Connection,
    session: SessionId,
    id: String,
    printer: Printer,
    asking: Asking,
    person: Option<Person>,
    source: Source,
    /// Commands of ours that no submission has taken.
    waiting: Vec<CommandId>,
    /// The submission that took one of ours.
    running: Option<SubmissionId>,
    open: Vec<PermissionRequest>,
    questions: Vec<Question>,
    rounds: u32,
    usage: Usage,
    interrupt: Interrupt<'a>,
    /// The first end that was no success.
    failed: Option<Exit>,
}

/// How far Ctrl+C got.
enum Interrupt<'a> {
    NotAsked,
    /// Nothing of ours runs yet.
    WhenItStarts,
    Asked(Interrupting<'a>),
    Done,
}

enum Happened {
    Update(Update),
    CtrlC,
    Answer(Answer),
    Line(Option<Result<String, String>>),
    Interrupted(Result<InterruptOutcome, ClientError>),
}

impl<'a> Follow<'a> {
    pub fn new(connection: &'a Connection, session: SessionId, printer: Printer, asking: Asking, source: Source) -> Follow<'a> {
        let waiting = match &source {
            Source::One(command) => vec![*command],
            Source::Lines { .. } | Source::Ended => Vec::new(),
        };
        Follow {
            connection,
            session,
            id: session.to_string(),
            printer,
            asking,
            person: (asking == Asking::Person).then(Person::new),
            source,
            waiting,
            running: None,
            open: Vec::new(),
            questions: Vec::new(),
            rounds: 0,
            usage: Usage::default(),
            interrupt: Interrupt::NotAsked,
            failed: None,
        }
    }

    /// Until everything of ours has ended, or parked.
    ///
    /// # Errors
    /// When the daemon goes away, or nobody reads.
    pub async fn run(mut self, mut attach: Attach) -> Result<Exit, Failure> {
        let mut ctrl_c = signal(SignalKind::interrupt())?;
        loop {
            if self.is_over() {
                return Ok(self.failed.unwrap_or(Exit::Done));
            }
            let left = match self.next(&mut attach, &mut ctrl_c).await? {
                Happened::Update(update) => self.update(update).await?,
                Happened::CtrlC => self.ctrl_c()?,
                Happened::Answer(answer) => self.answered(answer).await?,
                Happened::Line(line) => self.line(line).await?,
                Happened::Interrupted(outcome) => {
                    self.interrupt = Interrupt::Done;
                    outcome?;
                    None
                }
            };
            if let Some(exit) = left {
                return Ok(exit);
            }
        }
    }

    fn is_over(&self) -> bool {
        let more = match &self.source {
            Source::Lines { .. } => true,
            Source::One(_) | Source::Ended => false,
        };
        let stopped = matches!(self.interrupt, Interrupt::Done) && self.running.is_none();
        stopped || (!more && self.running.is_none() && self.waiting.is_empty())
    }

    async fn next(&mut self, attach: &mut Attach, ctrl_c: &mut Signal) -> Result<Happened, Failure> {
        let may_read = self.waiting.len() < AHEAD;
        Ok(tokio::select! {
            update = attach.next() => Happened::Update(update?),
            _ = ctrl_c.recv() => Happened::CtrlC,
            answer = asked(&mut self.person) => Happened::Answer(answer),
            line = read(&mut self.source), if may_read => Happened::Line(line),
            outcome = ended(&mut self.interrupt) => Happened::Interrupted(outcome),
        })
    }

    async fn update(&mut self, update: Update) -> Result<Option<Exit>, Failure> {
        match update {
            Update::Event(event) => return self.event(&event).await,
            // Before ours runs, pieces are of somebody else's.
            Update::Delta(delta) if self.running.is_some() => self.printer.delta(&delta)?,
            Update::Snapshot(snapshot) => {
                if let (Some(message), true) = (&snapshot.in_progress, self.running.is_some() && snapshot.submission == self.running) {
                    self.printer.snapshot(message)?;
                }
            }
            Update::Link(LinkState::Lost { why }) => self.printer.note(&format!("· the link is lost ({why}); dialling again"))?,
            Update::Link(LinkState::Up) => self.printer.note("· the link is back")?,
            Update::Draining => {
                return Err(Failure::Other("the daemon is shutting down; the session goes on when it is back".to_owned()));
            }
            Update::Delta(_) | Update::Progress(_) | Update::Countdown(_) | Update::Lagged { .. } => {}
        }
        Ok(None)
    }

    async fn event(&mut self, event: &Event) -> Result<Option<Exit>, Failure> {
        match &event.body {
            Body::User(user) if user.commands.iter().any(|id| self.waiting.contains(id)) => {
                self.waiting.retain(|id| !user.commands.contains(id));
                self.begin(event.submission);
            }
            Body::Queue(change) => self.queue(change)?,
            Body::System(System::Deleted) => return Err(Failure::Other("the session was deleted".to_owned())),
            Body::System(System::Failed { reason }) => return Err(Failure::Other(format!("the session failed: {reason}"))),
            Body::User(_)
            | Body::Assistant(_)
            | Body::Attachment(_)
            | Body::System(_)
            | Body::Tombstone { .. }
            | Body::PermissionRequest(_)
            | Body::PermissionResolved(_)
            | Body::Question(_)
            | Body::Answer(_)
            | Body::Task(_)
            | Body::Result(_) => {}
        }
        if self.running.is_some() && event.agent.is_some() {
            return self.subagent(event).await;
        }
        if self.running.is_none() || event.submission != self.running {
            return Ok(None);
        }
        self.printer.event(event)?;
        match &event.body {
            Body::Assistant(message) => {
                self.rounds += 1;
                self.usage += message.usage;
            }
            Body::PermissionRequest(request) => self.ask(request)?,
            Body::PermissionResolved(_) | Body::Answer(_) => self.settled(event)?,
            Body::Question(question) => self.ask_person(question)?,
            Body::System(System::Parked { .. }) => return self.parked().await.map(Some),
            Body::Result(submission) => {
                self.running = None;
                self.open.clear();
                self.questions.clear();
                let exit = Exit::of(submission.terminal);
                if exit != Exit::Done {
                    self.failed.get_or_insert(exit);
                }
            }
            Body::User(_) | Body::Attachment(_) | Body::System(_) | Body::Tombstone { .. } | Body::Queue(_) | Body::Task(_) => {}
        }
        Ok(None)
    }

    /// What a subagent does meanwhile: its requests are everybody's to answer, the rest is its own affair.
    async fn subagent(&mut self, event: &Event) -> Result<Option<Exit>, Failure> {
        match &event.body {
            Body::PermissionRequest(request) => self.ask(request)?,
            Body::Question(question) => self.ask_person(question)?,
            Body::PermissionResolved(_) | Body::Answer(_) => {
                self.settled(event)?;
                return Ok(None);
            }
            Body::Assistant(_) | Body::User(_) => {
                self.printer.subagent(event)?;
                return Ok(None);
            }
            Body::Attachment(_) | Body::System(_) | Body::Tombstone { .. } | Body::Queue(_) | Body::Task(_) | Body::Result(_) => {
                return Ok(None);
            }
        }
        match self.asking {
            Asking::Parks => self.parked().await.map(Some),
            Asking::Person | Asking::Others => Ok(None),
        }
    }

    /// A request or a question was answered, or withdrawn.
    fn settled(&mut self, event: &Event) -> Result<(), Failure> {
        let (id, words) = match &event.body {
            Body::PermissionResolved(resolved) => (resolved.id, agentd_tui::plain::answer(resolved)),
            Body::Answer(answered) => (answered.id, agentd_tui::plain::replied(answered)),
            Body::User(_)
            | Body::Assistant(_)
            | Body::Attachment(_)
            | Body::System(_)
            | Body::Tombstone { .. }
            | Body::PermissionRequest(_)
            | Body::Question(_)
            | Body::Queue(_)
            | Body::Task(_)
            | Body::Result(_) => return Ok(()),
        };
        self.open.retain(|it| it.id != id);
        self.questions.retain(|it| it.id != id);
        self.printer.note(&words)?;
        if let Some(person) = &mut self.person {
            person.settled(id);
        }
        Ok(())
    }

    fn begin(&mut self, submission: Option<SubmissionId>) {
        self.running = submission;
        (self.rounds, self.usage) = (0, Usage::default());
        if matches!(self.interrupt, Interrupt::WhenItStarts) {
            self.interrupt_running();
        }
    }

    /// A command of ours that no submission will take is no longer waited for.
    fn queue(&mut self, change: &QueueChange) -> Result<(), Failure> {
        let (id, why) = match change {
            QueueChange::Refused { id, reason } => (*id, format!("· refused: {reason}")),
            QueueChange::Removed { id } => (*id, "· somebody removed it from the queue".to_owned()),
            QueueChange::Returned { id } => (*id, "· an interrupt took it out of the queue".to_owned()),
            QueueChange::Enqueued { .. } | QueueChange::Delivered { .. } | QueueChange::Edited { .. } | QueueChange::Promoted { .. } => {
                return Ok(());
            }
        };
        if self.waiting.contains(&id) {
            self.waiting.retain(|it| *it != id);
            let exit = if matches!(change, QueueChange::Returned { .. }) { Exit::Interrupted } else { Exit::Failed };
            self.failed.get_or_insert(exit);
            self.printer.note(&why)?;
        }
        Ok(())
    }

    fn ask(&mut self, request: &PermissionRequest) -> Result<(), Failure> {
        self.open.push(request.clone());
        match &mut self.person {
            Some(person) => person.ask(Pending::Permission(request.clone())),
            None => self.printer.note(&agentd_tui::plain::question(request))?,
        }
        Ok(())
    }

    fn ask_person(&mut self, question: &Question) -> Result<(), Failure> {
        self.questions.push(question.clone());
        match &mut self.person {
            Some(person) => person.ask(Pending::Question(question.clone())),
            None => self.printer.note(&agentd_tui::plain::asked(question))?,
        }
        Ok(())
    }

    async fn answered(&mut self, answer: Answer) -> Result<Option<Exit>, Failure> {
        let answered = match answer {
            Answer::Decided { request, decision } => self.connection.respond(&self.id, request, decision).await.map(|_| ()),
            Answer::Chosen { question, choice } => match self.connection.answer(&self.id, question, vec![choice]).await {
                Err(error) if error.kind == Kind::Invalid => {
                    self.printer.note(&format!("  {error}"))?;
                    if let (Some(person), Some(open)) = (&mut self.person, self.questions.iter().find(|it| it.id == question)) {
                        person.ask(Pending::Question(open.clone()));
                    }
                    Ok(())
                }
                other => other.map(|_| ()),
            },
            Answer::Gone => {
                self.printer.note("\n· nobody answers here any more: it waits for another client (Ctrl+C interrupts it)")?;
                return Ok(None);
            }
        };
        match answered {
            Ok(()) => Ok(None),
            // Somebody else was faster: the event says who.
            Err(error) if error.kind == Kind::AlreadyAnswered => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn line(&mut self, line: Option<Result<String, String>>) -> Result<Option<Exit>, Failure> {
        let Some(line) = line else {
            self.source = Source::Ended;
            return Ok(None);
        };
        match input::parse(&line.map_err(Failure::Usage)?).map_err(Failure::Usage)? {
            Said::Message { content, priority } => self.submit(content, priority).await?,
            Said::Interrupt { request_id } => {
                self.connection.interrupt(&self.id, self.running).await?;
                Out::json(&input::interrupted(&request_id))?;
            }
            Said::Refused { answer } => Out::json(&answer)?,
            Said::Nothing => {}
        }
        Ok(None)
    }

    async fn submit(&mut self, content: Vec<Block>, priority: Priority) -> Result<(), Failure> {
        let Source::Lines { options, .. } = &self.source else { return Ok(()) };
        let options = options.clone();
        let submission = Submission { content, priority, origin: None, idempotency_key: None, batching: Batching::Alone, options };
        self.waiting.push(self.connection.submit(&self.id, submission).await?.command);
        Ok(())
    }

    async fn parked(&mut self) -> Result<Exit, Failure> {
        let cost = self.connection.session(&self.id).await?.cost;
        let Some(submission) = self.running else { return Ok(Exit::Parked) };
        let (num_turns, usage) = (self.rounds, self.usage);
        self.printer.parked(&Waiting {
            session: self.session,
            submission,
            num_turns,
            usage,
            session_cost: cost,
            open: &self.open,
            questions: &self.questions,
        })?;
        Ok(Exit::Parked)
    }

    /// The first ends what runs of ours; the second leaves it alone, and us.
    fn ctrl_c(&mut self) -> Result<Option<Exit>, Failure> {
        match (&self.interrupt, self.running) {
            (Interrupt::NotAsked, Some(_)) => {
                self.printer.note("\n· interrupting; Ctrl+C again leaves at once")?;
                self.interrupt_running();
                Ok(None)
            }
            (Interrupt::NotAsked, None) if !self.waiting.is_empty() => {
                self.printer.note("\n· it has not started: it is interrupted when it does; Ctrl+C again leaves it in the queue")?;
                self.interrupt = Interrupt::WhenItStarts;
                Ok(None)
            }
            (Interrupt::NotAsked | Interrupt::WhenItStarts | Interrupt::Asked(_) | Interrupt::Done, _) => {
                self.printer.note(&format!("\n· left; the session stays: agent attach --plain {}", self.id))?;
                Ok(Some(Exit::Interrupted))
            }
        }
    }

    fn interrupt_running(&mut self) {
        let (connection, id, submission) = (self.connection, self.id.clone(), self.running);
        self.interrupt = Interrupt::Asked(Box::pin(async move { connection.interrupt(&id, submission).await }));
    }
}

async fn asked(person: &mut Option<Person>) -> Answer {
    match person {
        Some(person) => person.answer().await,
        None => std::future::pending().await,
    }
}

async fn read(source: &mut Source) -> Option<Result<String, String>> {
    match source {
        Source::Lines { lines, .. } => lines.recv().await,
        Source::One(_) | Source::Ended => std::future::pending().await,
    }
}

async fn ended(interrupt: &mut Interrupt<'_>) -> Result<InterruptOutcome, ClientError> {
    match interrupt {
        Interrupt::Asked(asked) => asked.await,
        Interrupt::NotAsked | Interrupt::WhenItStarts | Interrupt::Done => std::future::pending().await,
    }
}
