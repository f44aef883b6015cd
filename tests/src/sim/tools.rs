//! Tools that only say that they ran: one that looks, one that does, one that asks first. Each ends when it is let.

use std::sync::Arc;

use agentd::tools::tool::{Boxed, CallContext, Tool, ToolContext, ToolFailure, ToolOutput};
use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;

use super::facts::Facts;
use super::gates::Gates;

/// What a tool is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Changes nothing, runs beside others.
    Look,
    /// Has effects.
    Do,
}

struct SimTool {
    spec: ToolSpec,
    kind: Kind,
    facts: Facts,
    gates: Gates,
}

/// The tools of one life. `Ask` has no rule that allows it.
pub fn all(facts: &Facts, gates: &Gates) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &str, kind: Kind| -> Arc<dyn Tool> {
        let spec = ToolSpec { name: name.to_owned(), description: name.to_owned(), input_schema: Json::empty_object() };
        Arc::new(SimTool { spec, kind, facts: facts.clone(), gates: gates.clone() })
    };
    vec![tool("Look", Kind::Look), tool("Do", Kind::Do), tool("Ask", Kind::Do)]
}

impl Tool for SimTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        let (effects, concurrency) = match self.kind {
            Kind::Look => (Effects::ReadOnly, Concurrency::Safe),
            Kind::Do => (Effects::SideEffects, Concurrency::Alone),
        };
        CallTraits { effects, concurrency, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, _input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        let subject = match self.kind {
            Kind::Look => Subject::Read { path: context.cwd.clone(), real: context.cwd.clone() },
            Kind::Do => Subject::Other,
        };
        Box::pin(std::future::ready(Ok(subject)))
    }

    fn call<'a>(&'a self, _input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            if self.kind == Kind::Do && !self.facts.seen().ran.insert(call.id.clone()) {
                self.facts.wrong(format!("the call {} ran twice", call.id));
            }
            tokio::select! {
                () = self.gates.pass() => Ok(ToolOutput::text(format!("result of {}", call.id))),
                () = call.cancel.cancelled() => Err(ToolFailure::TellModel("cancelled".to_owned())),
            }
        })
    }
}
