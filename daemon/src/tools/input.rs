//! Reading a call's input into its type, and the schema the model is shown: both from one Rust type.

use agentd_core::permission::Subject;
use agentd_core::tools::ToolSpec;
use agentd_types::Json;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tool::{Boxed, CallContext, ToolContext, ToolFailure};
use crate::files::open::Place;

/// The input as `T`; a wrong one is told with field and reason.
pub fn read<T: DeserializeOwned + JsonSchema>(tool: &str, input: &Json) -> Result<T, ToolFailure> {
    input.read().map_err(|error| {
        let field = wrong_field::<T>(input).map_or_else(String::new, |name| format!("`{name}`: "));
        ToolFailure::TellModel(format!("The input of {tool} is not as its schema says: {field}{error}"))
    })
}

/// The first field whose value is not of the type the schema gives; serde names missing and unknown ones itself.
fn wrong_field<T: JsonSchema>(input: &Json) -> Option<String> {
    let given: serde_json::Map<String, Value> = input.read().ok()?;
    let schema = schemars::schema_for!(T).to_value();
    let wrong = |name: &str, value: &Value| {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_u64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        match schema.pointer(&format!("/properties/{name}/type")) {
            Some(Value::String(one)) => one != kind,
            Some(Value::Array(several)) => !several.iter().any(|it| it == kind),
            Some(_) | None => false,
        }
    };
    given.iter().find(|(name, value)| wrong(name, value)).map(|(name, _)| name.clone())
}

/// Characters of one line that is shown.
const LINE_CHARS: usize = 2_000;

/// A line as the model is shown it: number, tab, text; a long one is cut, and says so.
pub fn numbered(number: u64, line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{number:>6}\t{}… [line cut at {LINE_CHARS} characters]\n", &line[..at]),
        None => format!("{number:>6}\t{line}\n"),
    }
}

/// A tool's spec with the schema of `T`.
pub fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    let input_schema = Json::of(&schema).unwrap_or_else(|_| Json::empty_object());
    ToolSpec { name: name.to_owned(), description: description.trim().to_owned(), input_schema }
}

/// Blocking work off the runtime's threads; its failure is the call's.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolFailure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ToolFailure::TellModel(format!("the file could not be worked on: {error}")))
}

/// Blocking work that changes nothing: a cancel does not wait for it.
pub async fn until_cancelled<T: Send + 'static>(
    call: &CallContext<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolFailure> {
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(ToolFailure::TellModel("it was cancelled".to_owned())),
        done = blocking(work) => done,
    }
}

/// What editing `file_path` is about, links resolved.
pub fn editing<'a>(context: &'a ToolContext, file_path: String) -> Boxed<'a, Result<Subject, ToolFailure>> {
    Box::pin(async move {
        let path = context.cwd.join(&file_path);
        let Place { path, real } = blocking(move || Place::of(path)).await?;
        Ok(Subject::Edit { path, real })
    })
}

/// The file that was allowed, as it was allowed.
pub fn allowed(call: &CallContext<'_>) -> Result<Place, ToolFailure> {
    match call.subject {
        Subject::Read { path, real } | Subject::Edit { path, real } => Ok(Place { path: path.clone(), real: real.clone() }),
        Subject::Command { .. } | Subject::Agent { .. } | Subject::Other => {
            Err(ToolFailure::TellModel("no file was allowed to this call".to_owned()))
        }
    }
}
