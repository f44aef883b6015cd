//! stub
use crate::processes::Shims; use super::tool::*; use agentd_core::tools::*; use agentd_types::Json; use agentd_core::permission::Subject;
pub struct Bash(Shims); impl Bash { pub fn new(s: Shims) -> Self { Self(s) } }
impl Tool for Bash { fn spec(&self) -> &ToolSpec { let _ = &self.0; unreachable!() } fn traits(&self, _: &Json) -> CallTraits { unreachable!() }
 fn check<'a>(&'a self, _: &'a Json, _: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> { unreachable!() }
 fn call<'a>(&'a self, _: &'a Json, _: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> { unreachable!() } }
