//! `Write`: a whole file, made or replaced. It never replaces what was not read, or changed since.

use agentd_core::permission::Subject;
use agentd_core::tools::{CallTraits, Concurrency, Effects, InterruptBehavior, ToolSpec};
use agentd_types::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input;
use super::tool::{Boxed, CallContext, ContextChange, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::files::SeenFile;
use crate::files::open::{self, FileError, Target};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, absolute or relative to the working folder.
    file_path: String,
    /// Its whole new content.
    content: String,
}

pub struct Write {
    spec: ToolSpec,
}

impl Write {
    pub fn new() -> Write {
        Write { spec: input::spec::<Input>("Write", include_str!("write.md")) }
    }
}

/// Whether a file is as it was when it was last read; what to do if not.
pub fn is_fresh(now: &SeenFile, known: Option<&SeenFile>) -> Result<(), ToolFailure> {
    match known {
        None => Err(ToolFailure::TellModel(format!("{} exists and was not read yet; read it first", now.path))),
        Some(known) if known.crc == now.crc && known.len == now.len => Ok(()),
        Some(_) => Err(ToolFailure::TellModel(format!("{} changed since it was read; read it again", now.path))),
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self, _input: &Json) -> CallTraits {
        CallTraits { effects: Effects::SideEffects, concurrency: Concurrency::Alone, interrupt: InterruptBehavior::Block }
    }

    fn check<'a>(&'a self, input: &'a Json, context: &'a ToolContext) -> Boxed<'a, Result<Subject, ToolFailure>> {
        match input::read::<Input>("Write", input) {
            Ok(wanted) => input::editing(context, wanted.file_path),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }

    fn call<'a>(&'a self, input: &'a Json, call: CallContext<'a>) -> Boxed<'a, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted: Input = input::read("Write", input)?;
            let path = call.context.cwd.join(&wanted.file_path);
            let known = call.context.read_cache.get(&path).cloned();
            let lines = wanted.content.lines().count();
            let written = input::blocking(move || {
                let target = match open::read(&path) {
                    Ok(now) => {
                        is_fresh(&now.seen, known.as_ref())?;
                        Target::Existing(now.mode)
                    }
                    Err(FileError::Missing(..)) => Target::New,
                    Err(error) => return Err(ToolFailure::TellModel(error.to_string())),
                };
                open::replace(&path, wanted.content.as_bytes(), target).map_err(|error| ToolFailure::TellModel(error.to_string()))
            });
            let seen = written.await??;
            let text = format!("{} is written ({lines} lines).", seen.path);
            Ok(ToolOutput { changes: vec![ContextChange::Seen(seen)], ..ToolOutput::text(text) })
        })
    }
}
