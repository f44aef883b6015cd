//! Fake tools that do as their input says, and a log of what happened in which order.

use std::sync::Mutex;
use std::time::Duration;

use agentd_core::permission::{Policy, Scope, Subject};
use agentd_core::query::{FailureKind, ModelFailure, StoreFailure};
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::permission::PermissionMode;
use agentd_types::system::ToolStarted;
use agentd_types::{AbsPath, Json, Origin, SessionId};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::super::*;
use crate::files::ReadCache;
use crate::permissions::asker::{Answer, Ask, Asked, Asker, Said};
use crate::tools::host::NoTasks;
use crate::tools::registry::ToolRegistry;
use crate::tools::run::Interruption;
use crate::tools::tool::{Boxed, CallContext, CallLog, Tool, ToolFailure, ToolOutput};

/// What a call is and how it ends: its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub kind: Kind,
    pub ms: u64,
    pub ends: Ends,
    pub call: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Read,
    /// The same, but a rule asks.
    AskedRead,
    /// Effects, beside others.
    Fork,
    Alone,
    /// The same, but a rule asks.
    AskedAlone,
    Bash,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ends {
    Well,
    Badly,
    Panics,
    Fatally,
    /// Not even when it is cancelled.
    Never,
    Long,
}

/// What the person says to a call that asks, by its number: allow, deny, nobody.
fn answer_to(call: usize) -> Answer {
    let by = Origin::Person { client: "test".to_owned() };
    match call % 3 {
        0 => Answer::Allowed { updated_input: None, by },
        1 => Answer::Denied { message: None, by },
        _ => Answer::Open,
    }
}

impl Plan {
    pub fn read(ms: u64) -> Plan {
        Plan { kind: Kind::Read, ms, ends: Ends::Well, call: 0 }
    }

    pub fn alone(ms: u64) -> Plan {
        Plan { kind: Kind::Alone, ..Plan::read(ms) }
    }

    pub fn shell(ends: Ends) -> Plan {
        Plan { kind: Kind::Bash, ends, ..Plan::read(1) }
    }

    fn tool(&self) -> &'static str {
        match self.kind {
            Kind::Read => "Look",
            Kind::AskedRead => "AskedLook",
            Kind::Fork => "Fork",
            Kind::Alone => "Do",
            Kind::AskedAlone => "AskedDo",
            Kind::Bash => "Bash",
            Kind::Unknown => "Nothing",
        }
    }

    pub fn is_safe(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::AskedRead | Kind::Fork | Kind::Unknown)
    }

    pub fn may_start_early(&self) -> bool {
        self.kind == Kind::Read
    }

    pub fn may_stay_open(&self, call: usize) -> bool {
        matches!(self.kind, Kind::AskedRead | Kind::AskedAlone) && answer_to(call) == Answer::Open
    }

    pub fn has_effects(&self) -> bool {
        matches!(self.kind, Kind::Fork | Kind::Alone | Kind::AskedAlone | Kind::Bash)
    }
}

pub fn plan() -> impl Strategy<Value = Plan> {
    use Kind::{Alone, AskedAlone, AskedRead, Bash, Fork, Read, Unknown};
    let kinds = select(vec![Read, Read, Read, AskedRead, Fork, Alone, AskedAlone, Bash, Unknown]);
    let ends = select(vec![Ends::Well, Ends::Well, Ends::Well, Ends::Well, Ends::Badly, Ends::Panics, Ends::Fatally]);
    (kinds, 0..60u64, ends).prop_map(|(kind, ms, ends)| Plan { kind, ms, ends, call: 0 })
}

/// What happened, with the call's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Journalled(usize),
    Started(usize),
    Ended(usize),
    Stored,
    Out(usize),
}

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    results: Mutex<Vec<(usize, Block)>>,
}

impl Log {
    fn note(&self, seen: Seen) {
        self.seen.lock().expect("no panic while it is held").push(seen);
    }
}

struct Fake {
    spec: ToolSpec,
    traits: CallTraits,
    log: Arc<Log>,
}

impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        self.traits
    }

    fn check<'a>(&'a self, _input: &'a Json, _context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        Box::pin(std::future::ready(Ok(Subject::Other)))
    }

    fn max_result_bytes(&self) -> usize {
        50_000
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let plan: Plan = input.read().expect("a plan");
            let ended = Ended { log: &self.log, call: plan.call };
            self.log.note(Seen::Started(plan.call));
            let cancelled = async {
                match plan.ends {
                    Ends::Never => std::future::pending().await,
                    Ends::Well | Ends::Badly | Ends::Panics | Ends::Fatally | Ends::Long => call.cancel.cancelled().await,
                }
            };
            tokio::select! {
                biased;
                () = cancelled => return Err(ToolFailure::TellModel("it was ended".to_owned())),
                () = tokio::time::sleep(Duration::from_millis(plan.ms)), if plan.ends != Ends::Never => {}
            }
            drop(ended);
            match plan.ends {
                Ends::Well | Ends::Never => Ok(ToolOutput::text("it went well")),
                Ends::Badly => Err(ToolFailure::TellModel("it failed".to_owned())),
                Ends::Panics => std::panic::resume_unwind(Box::new("on purpose")),
                Ends::Fatally => {
                    let kind = FailureKind::Api("tool_fatal".to_owned());
                    Err(ToolFailure::EndSubmission(ModelFailure { kind, status: None, message: "it is over".to_owned() }))
                }
                Ends::Long => Ok(ToolOutput::text("0123456789".repeat(10_000))),
            }
        })
    }
}

/// Noted however the call ends, dropped ones too.
struct Ended<'a> {
    log: &'a Log,
    call: usize,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.log.note(Seen::Ended(self.call));
    }
}

struct Journal(Arc<Log>);

impl CallLog for Journal {
    fn started(&self, started: ToolStarted) -> Boxed<'_, Result<(), StoreFailure>> {
        Box::pin(async move {
            self.0.note(Seen::Journalled(number(&started.tool_use)));
            Ok(())
        })
    }

    fn progress(&self, _id: &ToolUseId, _text: String) {}
}

/// Takes results, one record at a time.
pub struct Sink(Arc<Log>);

impl Results for Sink {
    fn finished(&mut self, results: Vec<Block>) -> Boxed<'_, Result<(), StoreFailure>> {
        Box::pin(async move {
            for result in results {
                let Block::ToolResult { tool_use_id, .. } = &result else { panic!("{result:?}") };
                let call = number(tool_use_id);
                self.0.note(Seen::Out(call));
                self.0.results.lock().expect("no panic while it is held").push((call, result));
            }
            Ok(())
        })
    }

    fn denied(&mut self, _call: &Call) {}
}

struct Person {
    cancel: CancellationToken,
}

impl Asker for Person {
    fn ask_person(&self, _tool_use: ToolUseId, _questions: Vec<Asked>) -> Pin<Box<dyn Future<Output = Said> + Send + '_>> {
        Box::pin(std::future::ready(Said::Open))
    }

    fn ask(&self, ask: Ask) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Answer::Withdrawn,
                () = tokio::time::sleep(Duration::from_millis(7)) => answer_to(number(&ask.tool_use)),
            }
        })
    }
}

fn number(id: &ToolUseId) -> usize {
    id.as_str().parse().expect("a number")
}

/// Calls, what they are run with, and what was seen of them.
pub struct Trial {
    pub calls: Vec<Call>,
    pub cancel: CancellationToken,
    pub seen: Vec<Seen>,
    pub results: Vec<(usize, Block)>,
    log: Arc<Log>,
    folder: tempfile::TempDir,
}

impl Trial {
    pub fn new(plans: &[Plan]) -> Trial {
        let call = |(number, plan): (usize, &Plan)| Call {
            id: ToolUseId::new(number.to_string()),
            name: plan.tool().to_owned(),
            input: Json::of(&Plan { call: number, ..*plan }).expect("json"),
        };
        Trial {
            calls: plans.iter().enumerate().map(call).collect(),
            cancel: CancellationToken::new(),
            seen: Vec::new(),
            results: Vec::new(),
            log: Arc::default(),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub fn note(&self, seen: Seen) {
        self.log.note(seen);
    }

    pub fn sink(&self) -> Sink {
        Sink(Arc::clone(&self.log))
    }

    /// What was seen since the last look.
    pub fn drained(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.log.seen.lock().expect("no panic while it is held"))
    }

    /// Everything seen is for a look from outside.
    pub fn settle(&mut self) {
        self.seen = self.drained();
        self.results = std::mem::take(&mut *self.log.results.lock().expect("no panic while it is held"));
    }

    pub fn place(&self, id: &ToolUseId) -> usize {
        number(id)
    }

    pub async fn with_executor<T>(&mut self, with: impl AsyncFnOnce(&mut Executor<'_>, &Trial) -> T) -> T {
        let fake = |name: &str, effects, concurrency| {
            let spec = ToolSpec { name: name.to_owned(), description: String::new(), input_schema: Json::empty_object() };
            let traits = CallTraits { effects, concurrency, interrupt: InterruptBehavior::Block };
            Arc::new(Fake { spec, traits, log: Arc::clone(&self.log) }) as Arc<dyn Tool>
        };
        let tools = ToolRegistry::new(vec![
            fake("Look", Effects::ReadOnly, Concurrency::Safe),
            fake("AskedLook", Effects::ReadOnly, Concurrency::Safe),
            fake("Fork", Effects::SideEffects, Concurrency::Safe),
            fake("Do", Effects::SideEffects, Concurrency::Alone),
            fake("AskedDo", Effects::SideEffects, Concurrency::Alone),
            fake("Bash", Effects::SideEffects, Concurrency::Alone),
        ]);
        let cwd = AbsPath::new(self.folder.path()).expect("an absolute path");
        let context = ToolContext {
            session: SessionId::from_u128(1),
            cwd: cwd.clone(),
            allowed: [cwd.clone()].into(),
            environment: [].into(),
            outputs: cwd.join("outputs"),
            read_cache: ReadCache::default(),
        };
        let asker = Person { cancel: self.cancel.clone() };
        let tasks = NoTasks::default();
        let means = Means {
            tools: &tools,
            asker: &asker,
            tasks: &tasks,
            give_way: Box::new(|| {}),
            policy: Box::new(|context| Policy {
                mode: PermissionMode::BypassPermissions,
                allow: Vec::new(),
                deny: Vec::new(),
                ask: ["AskedLook", "AskedDo"].iter().map(|rule| rule.parse().expect("a rule")).collect(),
                scope: Scope { cwd: context.cwd.clone(), allowed: context.allowed.to_vec(), home: None, protected: Vec::new() },
            }),
            log: Box::new(Journal(Arc::clone(&self.log))),
            cancel: self.cancel.clone(),
            why: Box::new(|| Interruption::User),
        };
        let mut executor = Executor::new(means, context);
        with(&mut executor, self).await
    }
}

/// A result's text.
pub fn block(result: &Block) -> String {
    let Block::ToolResult { content, .. } = result else { panic!("{result:?}") };
    let texts = content.iter().map(|part| match part {
        ResultPart::Text { text } => text.as_str(),
        ResultPart::Image { .. } => "[image]",
    });
    texts.collect::<Vec<_>>().join("\n")
}
